// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Lengths: every tail, splits, empty problems, sequences of different lengths, and what a NaN
// may reach.

#include "support/isolation_cases.cuh"
#include "support/length_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::Log;

template <class Element, class Gate, class Rule = gdr::OuterProduct>
using Layer = gdr::Recurrence<gdr::HeadDim<64>, Element, Gate, Rule>;

using ValueFloat = Layer<float, gdr::ValueGate<>>;
using ValueBfloat = Layer<__nv_bfloat16, gdr::ValueGate<Log>>;
using KeyBfloatDelta = Layer<__nv_bfloat16, gdr::KeyGate<Log, float>, gdr::DeltaRule<>>;
using HeadFloatDelta = Layer<float, gdr::HeadGate<Log>, gdr::DeltaRule<>>;
using KeyHalf = Layer<__half, gdr::KeyGate<>>;
using Every = LayerList<ValueFloat, ValueBfloat, KeyBfloatDelta, HeadFloatDelta, KeyHalf>;

class ForwardLengths : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardLengths, every_form(), form_name);

TEST_P(ForwardLengths, L1EveryLength) { length_cases::every_length(Every{}, GetParam()); }

TEST_P(ForwardLengths, L2SplitAtEveryToken) {
  length_cases::split_at_every_token(Every{}, GetParam(), 67);
}

TEST_P(ForwardLengths, L2LengthsAroundAChunk) {
  length_cases::lengths_around_a_chunk(Every{}, GetParam());
}

TEST_P(ForwardLengths, L3NoTokensKeepTheState) {
  length_cases::no_tokens_keep_the_state(Every{}, GetParam());
}

TEST_P(ForwardLengths, L3NothingToDo) { length_cases::nothing_to_do(Every{}, GetParam()); }

TEST_P(ForwardLengths, L3NullPointersOfEmptyTensors) {
  length_cases::null_pointers_of_empty_tensors<ValueFloat>(GetParam());
}

TEST_P(ForwardLengths, L4SequencesOfDifferentLengths) {
  length_cases::sequences_of_different_lengths(Every{}, GetParam());
}

TEST_P(ForwardLengths, L4ManySequences) { length_cases::many_sequences(Every{}, GetParam()); }
TEST_P(ForwardLengths, L4SequencesThatShareBlocks) {
  length_cases::sequences_that_share_blocks(Every{}, GetParam());
}

TEST_P(ForwardLengths, L5EachSequenceItsOwnState) {
  length_cases::each_sequence_its_own_state(Every{}, GetParam());
}

TEST_P(ForwardLengths, L6NaNStaysInItsSequence) {
  length_cases::nan_stays_in_its_sequence(Every{}, GetParam());
}

TEST_P(ForwardLengths, L7NonFiniteInputsReachNothingElse) {
  isolation_cases::non_finite_inputs_reach_nothing_else(Every{}, GetParam(), 40, {0, 1, 17, 39});
}

TEST_P(ForwardLengths, L8TheInitialStateIsUsed) {
  length_cases::the_initial_state_is_used(Every{}, GetParam());
}

TEST_P(ForwardLengths, L9TokensBeyondTheLastSequence) {
  length_cases::tokens_beyond_the_last_sequence(Every{}, GetParam());
}

}  // namespace
