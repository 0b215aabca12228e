// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Algorithm::by_length: each sequence in the form of its length, whatever lies beside it.

#include "support/isolation_cases.cuh"
#include "support/length_cases.cuh"
#include "support/stream_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::Log;

// Long from 32 tokens on, and from 64.
using Narrow = gdr::Recurrence<gdr::HeadDim<48>, float, gdr::KeyGate<>>;
using Wide = gdr::Recurrence<gdr::HeadDims<80, 64>, __nv_bfloat16, gdr::ValueGate<Log>>;
using Every = LayerList<Narrow, Wide>;

constexpr Algorithm by_length = Algorithm::by_length;

class ByLength : public DeviceTest {};

std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

/// The result of several sequences by cu_seqlens is, sequence for sequence, that of the form of its
/// length.
template <class L>
void expect_forms(const Problem<L>& problem, const Result& result,
                  const std::vector<std::int64_t>& lengths, std::int64_t long_sequence) {
  const auto in_form = [&](Algorithm form) {
    Problem<L> same = problem;
    same.spec.algorithm = form;
    return run_on_device(same);
  };
  const Result recurrent = in_form(Algorithm::recurrent), chunked = in_form(Algorithm::chunked);
  const std::vector<std::int64_t> offsets = offsets_of(lengths);
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const bool is_long = lengths[n] >= long_sequence;
    const auto part = [&](const Result& whole) {
      return stream_cases::part_of(problem, whole, 0, offsets[n], offsets[n + 1],
                                   static_cast<std::int64_t>(n));
    };
    expect_same_bits(part(is_long ? chunked : recurrent), part(result),
                     "sequence " + std::to_string(n) + " of " + std::to_string(lengths[n]));
  }
}
template <class L>
void check_forms(const std::vector<std::int64_t>& lengths, std::int64_t long_sequence) {
  const Problem<L> problem =
      make_problem<L>(length_cases::packed_spec(by_length, offsets_of(lengths)));
  expect_forms(problem, run_and_check(problem), lengths, long_sequence);
}

TEST_F(ByLength, EachSequenceHasTheFormOfItsLength) {
  const std::vector<std::int64_t> few = {200, 31, 32, 0, 33, 63, 64, 65, 130, 1};
  std::vector<std::int64_t> many(60, 1);
  many[0] = 70;
  many[7] = 64;
  many[8] = 0;
  many[9] = 63;
  many[30] = 32;
  many[59] = 129;
  std::vector<std::int64_t> far(300, 1);  // beyond what a warp looks at together
  far[127] = 64;
  far[128] = 65;
  far[299] = 130;
  const std::vector<std::int64_t> none(100, 2);
  for (const auto& lengths : {few, many, far, none}) {
    check_forms<Narrow>(lengths, 32);
    check_forms<Wide>(lengths, 64);
  }
}

TEST_F(ByLength, AnyOrder) {
  std::vector<std::int64_t> lengths = {0, 0, 1, 1, 5, 31, 63, 64, 100, 128, 300, 700};
  Random random(11);
  for (int order = 0; order < 3; ++order) {
    check_forms<Narrow>(lengths, 32);
    check_forms<Wide>(lengths, 64);
    for (std::size_t n = lengths.size() - 1; n > 0; --n) {
      std::swap(lengths[n],
                lengths[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(n)))]);
    }
  }
}

// Of so many heads that the grid has a few blocks for each: a block goes from one long sequence to
// another, over whatever lies between.
TEST_F(ByLength, ABlockTakesSeveralSequences) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const std::vector<std::int64_t> lengths = {1,  64, 0,  64,  65, 31, 130, 1,  64, 0, 0,
                                               63, 64, 96, 128, 2,  64, 70,  64, 64, 5, 0};
    Spec spec = length_cases::packed_spec(by_length, offsets_of(lengths));
    spec.shape.heads = 176;
    spec.in_place = true;
    const Problem<L> problem = make_problem<L>(spec);
    expect_forms(problem, run_on_device(problem), lengths, std::is_same_v<L, Narrow> ? 32 : 64);
  });
}

// cu_seqlens may begin after the first tokens, and end before the last.
TEST_F(ByLength, TokensOfNobody) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    std::vector<std::int64_t> offsets = {70, 71, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149};
    Spec spec = length_cases::packed_spec(by_length, offsets);
    spec.shape.seq_len = 300;
    run_and_check<L>(spec);
  });
}

TEST_F(ByLength, L1EveryLength) { length_cases::every_length(Every{}, by_length); }
TEST_F(ByLength, L3NoTokensKeepTheState) {
  length_cases::no_tokens_keep_the_state(Every{}, by_length);
}
TEST_F(ByLength, L3NothingToDo) { length_cases::nothing_to_do(Every{}, by_length); }
TEST_F(ByLength, L4SequencesOfDifferentLengths) {
  length_cases::sequences_of_different_lengths(Every{}, by_length);
}
TEST_F(ByLength, L4ManySequences) { length_cases::many_sequences(Every{}, by_length); }
TEST_F(ByLength, L4SequencesThatShareBlocks) {
  length_cases::sequences_that_share_blocks(Every{}, by_length);
}
TEST_F(ByLength, L5EachSequenceItsOwnState) {
  length_cases::each_sequence_its_own_state(Every{}, by_length);
}
TEST_F(ByLength, L6NaNStaysInItsSequence) {
  length_cases::nan_stays_in_its_sequence(Every{}, by_length);
}
TEST_F(ByLength, L9TokensBeyondTheLastSequence) {
  length_cases::tokens_beyond_the_last_sequence(Every{}, by_length);
}
TEST_F(ByLength, R9BatchInvariance) {
  stream_cases::batch_invariance(Every{}, by_length, {0, 1, 31, 32, 63, 64, 100});
  stream_cases::batch_invariance_of_dense_batches(Every{}, by_length, {1, 33, 70});
}

// What automatic takes for sequences by cu_seqlens.
TEST_F(ByLength, AutomaticTakesIt) {
  std::vector<std::int64_t> lengths(40, 1);
  lengths[20] = 1100;
  const Spec spec = length_cases::packed_spec(Algorithm::automatic, offsets_of(lengths));
  const Problem<Wide> problem = make_problem<Wide>(spec);
  const Result automatic = run_and_check(problem);
  Problem<Wide> named = problem;
  named.spec.algorithm = by_length;
  expect_same_bits(run_on_device(named), automatic, "automatic");
  named.spec.algorithm = Algorithm::recurrent;
  EXPECT_FALSE(same_bits(run_on_device(named).o, automatic.o).ok);
}

}  // namespace
