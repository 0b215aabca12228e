// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Lengths on the chunked forms: tails of a chunk, cuts inside one and between two, empty problems,
// sequences of different lengths, and what a NaN may reach.

#include <algorithm>

#include "support/isolation_cases.cuh"
#include "support/length_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::Log;

template <class Element, class Gate>
using Layer = gdr::Recurrence<gdr::HeadDim<64>, Element, Gate>;

using ValueFloat = Layer<float, gdr::ValueGate<>>;
using ValueBfloat = Layer<__nv_bfloat16, gdr::ValueGate<Log>>;
using KeyBfloat = Layer<__nv_bfloat16, gdr::KeyGate<Log, float>>;
using HeadHalf = Layer<__half, gdr::HeadGate<>>;
using Every = LayerList<ValueFloat, ValueBfloat, KeyBfloat, HeadHalf>;

class ChunkedLengths : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedLengths, every_chunked_form(), form_name);

TEST_P(ChunkedLengths, L1EveryLength) { length_cases::every_length(Every{}, GetParam()); }

TEST_P(ChunkedLengths, L2SplitAtEveryToken) {
  length_cases::split_at_every_token(Every{}, GetParam(), 131);
}

TEST_P(ChunkedLengths, L2LengthsAroundAChunk) {
  length_cases::lengths_around_a_chunk(Every{}, GetParam());
}

// Every chunk a call of its own.
TEST_P(ChunkedLengths, L2AChainOfChunks) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    constexpr std::int64_t tokens = 450;
    constexpr std::int64_t step = length_cases::whole_chunks;
    Spec spec = length_cases::length_spec(GetParam(), tokens);
    spec.shape.batch = 1;
    const auto whole = length_cases::run_whole<L>(spec);
    Result joined;
    for (std::int64_t begin = 0; begin < tokens; begin += step) {
      Problem<L> part = whole.problem.time_slice(begin, std::min(begin + step, tokens));
      if (begin > 0) part.set_initial_state(joined.final_state);
      const Result result = run_on_device(part);
      joined.o.insert(joined.o.end(), result.o.begin(), result.o.end());
      joined.final_state = result.final_state;
    }
    expect_matches(whole.problem, whole.expected, joined);
    if (length_cases::cut_keeps_bits(GetParam(), step)) {
      expect_same_bits(whole.result, joined, "a chain of chunks");
    }
  });
}

TEST_P(ChunkedLengths, L3NoTokensKeepTheState) {
  length_cases::no_tokens_keep_the_state(Every{}, GetParam());
}

TEST_P(ChunkedLengths, L3NothingToDo) { length_cases::nothing_to_do(Every{}, GetParam()); }

TEST_P(ChunkedLengths, L3NullPointersOfEmptyTensors) {
  length_cases::null_pointers_of_empty_tensors<ValueFloat>(GetParam());
}

TEST_P(ChunkedLengths, L4SequencesOfDifferentLengths) {
  length_cases::sequences_of_different_lengths(Every{}, GetParam());
}

TEST_P(ChunkedLengths, L4ManySequences) { length_cases::many_sequences(Every{}, GetParam()); }

TEST_P(ChunkedLengths, L5EachSequenceItsOwnState) {
  length_cases::each_sequence_its_own_state(Every{}, GetParam());
}

TEST_P(ChunkedLengths, L6NaNStaysInItsSequence) {
  length_cases::nan_stays_in_its_sequence(Every{}, GetParam());
}

TEST_P(ChunkedLengths, L7NonFiniteInputsReachNothingElse) {
  isolation_cases::non_finite_inputs_reach_nothing_else(Every{}, GetParam(), 135,
                                                        {0, 15, 17, 63, 64, 134});
}

TEST_P(ChunkedLengths, L8TheInitialStateIsUsed) {
  length_cases::the_initial_state_is_used(Every{}, GetParam());
}

TEST_P(ChunkedLengths, L9TokensBeyondTheLastSequence) {
  length_cases::tokens_beyond_the_last_sequence(Every{}, GetParam());
}

}  // namespace
