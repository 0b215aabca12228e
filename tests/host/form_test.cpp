// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Which form serves a problem, how sequences are cut, and how much workspace that takes.

#include <gdr/dispatch/form.hpp>

#include <gdr/thread/chunk_range.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace {

using gdr::Algorithm;
using gdr::DataType;
using gdr::detail::choose_form;
using gdr::detail::chunked_blocks;
using gdr::detail::Cut;
using gdr::detail::cut_sequences;
using gdr::detail::form_problem;
using gdr::detail::FormProblem;
using gdr::detail::least_part;
using gdr::detail::least_piece;
using gdr::detail::part_step;
using gdr::detail::piece_step;
using gdr::detail::size_limit;
using gdr::detail::split_blocks;
using gdr::detail::split_workspace;
using gdr::detail::states_bytes;

constexpr int64_t largest = std::numeric_limits<int64_t>::max();
constexpr int64_t smallest = std::numeric_limits<int64_t>::min();

// Sequences of equal length, K = V = 128, a value gate.
FormProblem dense(int64_t sequences, int64_t length, int64_t heads) {
  FormProblem p;
  p.sequences = sequences;
  p.tokens = sequences * length;
  p.heads = heads;
  p.key_dim = p.value_dim = p.gate_channels = 128;
  return p;
}

// One that is split if nothing speaks against it: 2 blocks, 8192 tokens, a workspace.
FormProblem split() {
  FormProblem p = dense(1, 8192, 1);
  p.has_workspace = true;
  return p;
}

// --- What Algorithm::automatic takes. ---

TEST(ChooseForm, ANamedFormIsTaken) {
  for (const Algorithm named :
       {Algorithm::recurrent, Algorithm::chunked, Algorithm::chunked_split}) {
    for (FormProblem p : {FormProblem{}, split(), dense(4, 10, 2)}) {
      p.algorithm = named;
      EXPECT_EQ(choose_form(p), named);
      p.batch_invariant = true;
      EXPECT_EQ(choose_form(p), named);
      p.delta_rule = true;  // refused by the checks, not replaced
      EXPECT_EQ(choose_form(p), named);
    }
  }
}

TEST(ChooseForm, NeverAutomatic) {
  EXPECT_NE(choose_form(FormProblem{}), Algorithm::automatic);
  EXPECT_NE(choose_form(split()), Algorithm::automatic);
}

TEST(ChooseForm, TheDeltaRuleIsRecurrent) {
  FormProblem p = split();
  p.delta_rule = true;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
  p.batch_invariant = true;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
}

TEST(ChooseForm, FewKeyChannelsAreRecurrent) {
  for (const int key_dim : {1, 16}) {
    for (FormProblem p : {split(), dense(8, 8192, 16)}) {
      p.key_dim = key_dim;
      EXPECT_EQ(choose_form(p), Algorithm::recurrent) << key_dim;
    }
  }
}

TEST(ChooseForm, NarrowHeadsGoInChunksWhereSequencesAreLongAndMany) {
  const struct {
    int key_dim;
    DataType type;
    int64_t length;
  } cases[] = {{17, DataType::bfloat16, 240},
               {24, DataType::float32, 170},
               {24, DataType::float16, 512},
               {32, DataType::bfloat16, 128}};
  for (const auto& c : cases) {
    FormProblem p = dense(33, c.length, 1);  // 66 blocks
    p.key_dim = c.key_dim;
    p.element_type = c.type;
    EXPECT_EQ(choose_form(p), Algorithm::chunked);
    p.tokens -= 1;
    EXPECT_EQ(choose_form(p), Algorithm::recurrent);
    p.sequences = 32;
    p.tokens = 32 * 8192;
    EXPECT_EQ(choose_form(p), Algorithm::recurrent);
    p.sequences = 1;
    p.tokens = 8192;
    EXPECT_EQ(choose_form(p), Algorithm::recurrent);
    p.has_workspace = true;
    EXPECT_EQ(choose_form(p), Algorithm::chunked_split);
  }
  FormProblem p = dense(1, 32, 1);
  p.key_dim = 33;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
}

TEST(ChooseForm, ShortSequencesAreRecurrent) {
  EXPECT_EQ(choose_form(dense(8, 63, 16)), Algorithm::recurrent);
  EXPECT_EQ(choose_form(dense(8, 64, 16)), Algorithm::chunked);
  FormProblem p = dense(3, 64, 16);
  p.has_offsets = true;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p.tokens -= 1;  // 63 and two thirds on average
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
  p.key_dim = 65;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
  p.key_dim = 64;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p.tokens = 3 * 32;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p.tokens -= 1;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
}

TEST(ChooseForm, ManySequencesByOffsetsAreTakenByLength) {
  FormProblem p = dense(33, 2048, 16);  // 8 * 132 blocks
  p.has_offsets = true;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p = dense(34, 2048, 16);
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p.has_offsets = true;
  EXPECT_EQ(choose_form(p), Algorithm::by_length);
  p.batch_invariant = true;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p = dense(1, 2048, 1024);  // alone it has no other lengths beside it
  p.has_offsets = true;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
}

TEST(ChooseForm, ALongSequenceAmongManyShortOnesIsFound) {
  FormProblem p = dense(256, 1, 16);
  p.has_offsets = true;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
  p.tokens = 255 + 1023;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
  p.tokens = 255 + 1024;
  EXPECT_EQ(choose_form(p), Algorithm::by_length);
  p.delta_rule = true;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
}

TEST(ChooseForm, ByLengthOfEqualLengthsIsOneForm) {
  FormProblem p = dense(8, 63, 16);
  p.algorithm = Algorithm::by_length;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
  p.key_dim = 64;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p = dense(8, 64, 16);
  p.algorithm = Algorithm::by_length;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p.has_offsets = true;
  EXPECT_EQ(choose_form(p), Algorithm::by_length);
}

TEST(ChooseForm, TheTypeCountsOnlyWithBatchInvariance) {
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    for (const int64_t heads : {8, 67}) {
      FormProblem p = dense(1, 64, heads);
      p.element_type = type;
      EXPECT_EQ(choose_form(p), Algorithm::chunked);
      p.tokens -= 1;
      EXPECT_EQ(choose_form(p), Algorithm::recurrent);
      p.batch_invariant = true;
      EXPECT_EQ(choose_form(p),
                type == DataType::bfloat16 ? Algorithm::chunked : Algorithm::recurrent);
    }
  }
}

TEST(ChooseForm, FewBlocksWithLongSequencesAndAWorkspaceAreSplit) {
  EXPECT_EQ(choose_form(split()), Algorithm::chunked_split);
}

TEST(ChooseForm, ABlockIsASequenceAHeadAnd64ValueChannels) {
  FormProblem p = dense(3, 2048, 5);
  const struct {
    int value_dim;
    int64_t blocks;
  } cases[] = {{1, 15}, {64, 15}, {65, 30}, {128, 30}, {256, 60}};
  for (const auto& c : cases) {
    p.value_dim = c.value_dim;
    EXPECT_EQ(chunked_blocks(p), c.blocks) << c.value_dim;
  }
}

// A part of 128 tokens and a piece of 256 are the longest way. One block: 352 + 7 tokens to be saved.
TEST(ChooseForm, ASplitSavesMoreThanItsLaunchesCost) {
  FormProblem p = split();
  p.value_dim = 64;
  p.tokens = 128 + 256 + 359;
  EXPECT_EQ(choose_form(p), Algorithm::chunked_split);
  p.tokens -= 1;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
}

TEST(ChooseForm, ASplitSavesMoreThanTheStatesOfItsBlocksCost) {
  FormProblem p = split();
  p.value_dim = 64;
  p.states_per_sm = 2;
  p.heads = 33;
  p.tokens = 128 + 256 + 352 + 7 * 33;
  EXPECT_EQ(choose_form(p), Algorithm::chunked_split);
  p.tokens -= 1;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
}

TEST(ChooseForm, MoreBlocksThanTwoPiecesHaveRoomForAreNotSplit) {
  FormProblem p = split();
  p.tokens = 1 << 20;
  p.value_dim = 64;
  p.heads = split_blocks / 2;
  EXPECT_EQ(choose_form(p), Algorithm::chunked_split);
  p.heads += 1;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
}

// Pieces of 1536 tokens: parts of 384 where two blocks share a multiprocessor, else of 768.
TEST(ChooseForm, ShorterPartsSaveMore) {
  FormProblem p = split();
  p.tokens = 3072;
  p.heads = 33;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  p.states_per_sm = 2;
  EXPECT_EQ(choose_form(p), Algorithm::chunked_split);
}

// 320 tokens saved, 814 of bfloat16 needed.
TEST(ChooseForm, TokensOfTwoNumbersSaveThreeTimesAsMuch) {
  FormProblem p = split();
  p.tokens = 1280;
  p.heads = 33;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
  for (const DataType type : {DataType::float32, DataType::float16}) {
    p.element_type = type;
    p.tokens = 1280;
    EXPECT_EQ(choose_form(p), Algorithm::chunked_split);
    p.tokens = 1232;  // 272 saved, three times which is 816
    EXPECT_EQ(choose_form(p), Algorithm::chunked_split);
    p.tokens = 1231;
    EXPECT_EQ(choose_form(p), Algorithm::chunked);
  }
}

TEST(ChooseForm, SequencesByOffsetsAreSplitByTheirAverage) {
  FormProblem p = dense(2, 128 + 256 + 366, 1);
  p.value_dim = 64;
  p.has_workspace = p.has_offsets = true;
  EXPECT_EQ(choose_form(p), Algorithm::chunked_split);
  p.tokens -= 1;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
}

// Where whole and cut sequences were measured on both sides of the crossing, K = V = 128.
TEST(ChooseForm, TheFasterOfTheMeasuredFormsIsTaken) {
  const struct {
    int states_per_sm;  // 2 of the value gate, 1 of the key gate
    int64_t heads;
    int64_t whole_at;
    int64_t split_at;
  } cases[] = {{2, 1, 512, 1024},   {2, 8, 512, 1024},   {2, 16, 512, 1024},  {2, 17, 1024, 1536},
               {2, 22, 1024, 1536}, {2, 33, 2048, 3072}, {1, 22, 1024, 3072}, {1, 33, 3072, 4096}};
  for (const auto& c : cases) {
    FormProblem p = split();
    p.states_per_sm = c.states_per_sm;
    p.heads = c.heads;
    p.tokens = c.whole_at;
    EXPECT_EQ(choose_form(p), Algorithm::chunked) << c.heads;
    p.tokens = c.split_at;
    EXPECT_EQ(choose_form(p), Algorithm::chunked_split) << c.heads;
  }
}

TEST(ChooseForm, WithoutAWorkspaceNothingIsSplit) {
  FormProblem p = split();
  p.has_workspace = false;
  EXPECT_EQ(choose_form(p), Algorithm::chunked);
}

TEST(ChooseForm, BatchInvarianceLooksAtKAlone) {
  const std::vector<FormProblem> problems = {dense(1, 1, 1), dense(4096, 16, 16), split(),
                                             dense(1, 1 << 20, 1), dense(1000, 4096, 64)};
  for (FormProblem p : problems) {
    p.batch_invariant = true;
    for (const bool has_offsets : {false, true}) {
      p.has_offsets = has_offsets;
      p.key_dim = 32;
      EXPECT_EQ(choose_form(p), Algorithm::recurrent);
      p.key_dim = 33;
      EXPECT_EQ(choose_form(p), Algorithm::chunked);
    }
  }
}

TEST(ChooseForm, WithoutSizesItIsRecurrent) {
  EXPECT_EQ(choose_form(FormProblem{}), Algorithm::recurrent);
  for (const int64_t none : {int64_t{0}, int64_t{-1}, smallest}) {
    FormProblem p = split();
    p.sequences = none;
    EXPECT_EQ(choose_form(p), Algorithm::recurrent);
    p = split();
    p.heads = none;
    EXPECT_EQ(choose_form(p), Algorithm::recurrent);
  }
  FormProblem p = split();
  p.tokens = -1;
  EXPECT_EQ(choose_form(p), Algorithm::recurrent);
}

// --- Pieces. ---

TEST(CutSequences, PiecesFillTheBlocks) {
  const FormProblem p = dense(1, 32768, 8);  // 16 blocks: 8 pieces of each sequence
  const Cut cut = cut_sequences(p);
  EXPECT_EQ(cut.tokens, 32768 / 8);
  EXPECT_EQ(cut.per_sequence, 8);
  EXPECT_EQ(cut.slots, 8);
}

// The last piece is not among them: 7 of 8 pieces of 16 blocks.
TEST(CutSequences, PartsFillTheFirstPass) {
  FormProblem p = dense(1, 32768, 8);
  EXPECT_EQ(cut_sequences(p).parts, 1);
  p.states_per_sm = 2;
  Cut cut = cut_sequences(p);
  EXPECT_EQ(cut.parts, 2);
  EXPECT_EQ(cut.part_tokens, 32768 / 16);
  EXPECT_EQ(cut.part_slots, 16);
  cut = cut_sequences(dense(1, 8192, 32));  // 1 of 2 pieces of 64 blocks
  EXPECT_EQ(cut.parts, 2);
  EXPECT_EQ(cut.part_slots, 4);
}

TEST(CutSequences, APieceIsWholeParts) {
  for (int64_t length = 1; length < 40000; length += 997) {
    for (const int64_t heads : {1, 4, 20, 33, 66}) {
      FormProblem p = dense(1, length, heads);
      p.states_per_sm = 2;
      const Cut cut = cut_sequences(p);
      EXPECT_EQ(cut.part_tokens % part_step, 0) << length;
      EXPECT_GE(cut.part_tokens, least_part) << length;
      EXPECT_EQ(cut.part_tokens * cut.parts, cut.tokens) << length;
      EXPECT_LT(cut.tokens * (cut.per_sequence - 1), length);
    }
  }
}

TEST(CutSequences, APieceIsWholeChunks) {
  for (int64_t length = 1; length < 40000; length += 997) {
    const Cut cut = cut_sequences(dense(1, length, 4));
    EXPECT_EQ(cut.tokens % piece_step, 0) << length;
    EXPECT_GE(cut.tokens, least_piece) << length;
    EXPECT_GE(cut.tokens * cut.per_sequence, length);
    EXPECT_LT(cut.tokens * (cut.per_sequence - 1), length);
  }
}

TEST(CutSequences, APieceHasAtLeast256Tokens) {
  EXPECT_EQ(cut_sequences(dense(1, 2048, 1)).tokens, 256);
  EXPECT_EQ(cut_sequences(dense(1, 10, 1)).tokens, 256);
}

TEST(CutSequences, ManyBlocksAreNotCut) {
  const Cut cut = cut_sequences(dense(16, 4096, 64));
  EXPECT_EQ(cut.tokens, 4096);
  EXPECT_EQ(cut.per_sequence, 1);
  EXPECT_EQ(cut.slots, 16);
}

TEST(CutSequences, AnEmptySequenceHasAPiece) {
  const Cut cut = cut_sequences(dense(3, 0, 2));
  EXPECT_EQ(cut.tokens, least_piece);
  EXPECT_EQ(cut.per_sequence, 1);
  EXPECT_EQ(cut.slots, 3);
}

TEST(CutSequences, BatchInvariancePiecesAreAlwaysTheSame) {
  for (FormProblem p : {dense(1, 1, 1), dense(1, 100000, 1), dense(64, 300, 32), dense(7, 0, 3)}) {
    p.batch_invariant = true;
    for (const bool has_offsets : {false, true}) {
      p.has_offsets = has_offsets;
      EXPECT_EQ(cut_sequences(p).tokens, 2048);
    }
  }
}

TEST(CutSequences, WithoutSizesThereIsNothingToCut) {
  const Cut cut = cut_sequences(FormProblem{});
  EXPECT_EQ(cut.tokens, 0);
  EXPECT_EQ(cut.slots, 0);
}

// Slots of sequences by cu_seqlens as block/pieces.cuh gives them out: sequence n from
// offset / tokens + n on.
TEST(CutSequences, SlotsAreEnoughForAnyLengths) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    FormProblem p = dense(1, 0, 1 + static_cast<int64_t>(random() % 8));
    p.has_offsets = true;
    p.batch_invariant = random() % 4 == 0;
    std::vector<int64_t> offsets = {0};
    const int64_t sequences = 1 + static_cast<int64_t>(random() % 20);
    for (int64_t n = 0; n < sequences; ++n) {
      const int64_t length = random() % 3 == 0 ? 0 : static_cast<int64_t>(random() % 9000);
      offsets.push_back(offsets.back() + length);
    }
    p.sequences = sequences;
    p.tokens = offsets.back() + static_cast<int64_t>(random() % 3 * 100);  // some in no sequence
    const Cut cut = cut_sequences(p);
    const auto expect_room = [&](int64_t slots, int64_t tokens) {
      int64_t end = 0;  // of the slots given out
      for (size_t n = 0; n + 1 < offsets.size(); ++n) {
        const int64_t first = offsets[n] / tokens + static_cast<int64_t>(n);
        ASSERT_GE(first, end);
        const int64_t length = offsets[n + 1] - offsets[n];
        end = first + std::max<int64_t>(1, (length + tokens - 1) / tokens);
      }
      ASSERT_LE(end, slots);
    };
    expect_room(cut.slots, cut.tokens);
    expect_room(cut.part_slots, cut.part_tokens);
  }
}

// --- Workspace. ---

TEST(SplitWorkspace, HoldsStatesOfPartsAndPiecesAndGateProducts) {
  for (const int states_per_sm : {1, 2}) {
    FormProblem p = dense(2, 8192, 3);
    p.states_per_sm = states_per_sm;
    const Cut cut = cut_sequences(p);
    EXPECT_GT(cut.slots, 2);
    EXPECT_EQ(cut.part_slots, cut.slots * cut.parts);
    const int64_t states = (cut.part_slots + cut.slots) * 3 * (4 * 128 * 128);
    EXPECT_EQ(split_workspace(p), states + cut.part_slots * 3 * (8 * 128));
    p.gate_channels = 1;
    EXPECT_EQ(split_workspace(p), states + cut.part_slots * 3 * 8);
    p.gate_channels = 0;
    EXPECT_EQ(split_workspace(p), states);
  }
}

TEST(SplitWorkspace, RowsOfStatesAreMultiplesOf16Bytes) {
  FormProblem p = dense(1, 4096, 1);
  p.key_dim = 5;
  p.value_dim = 7;
  p.gate_channels = 7;
  const Cut cut = cut_sequences(p);
  EXPECT_EQ(states_bytes(p, cut.slots), cut.slots * 4 * 8 * 7);
  EXPECT_EQ(split_workspace(p), (cut.slots + cut.part_slots) * 4 * 8 * 7 + cut.part_slots * 8 * 7);
}

TEST(SplitWorkspace, AProductTakes8Bytes) { EXPECT_EQ(sizeof(gdr::ScaledProduct), 8u); }

TEST(SplitWorkspace, NothingNeedsNone) { EXPECT_EQ(split_workspace(FormProblem{}), 0); }

// --- Sizes that nothing has checked. To be run with -fsanitize=signed-integer-overflow too. ---

TEST(FormProblem, AnySizesAreTaken) {
  const int64_t sizes[] = {smallest,   -size_limit,    -1,          0,      1, 3, 1 << 20,
                           size_limit, 2 * size_limit, largest - 1, largest};
  const int extents[] = {std::numeric_limits<int>::min(), -1, 0, 1, 256,
                         std::numeric_limits<int>::max()};
  for (const int64_t sequences : sizes) {
    for (const int64_t tokens : sizes) {
      for (const int64_t heads : sizes) {
        for (const int extent : extents) {
          for (int bits = 0; bits < 8; ++bits) {
            FormProblem p;
            p.sequences = sequences;
            p.tokens = tokens;
            p.heads = heads;
            p.key_dim = p.value_dim = extent;
            p.gate_channels = 256;
            p.has_offsets = (bits & 1) != 0;
            p.batch_invariant = (bits & 2) != 0;
            p.element_type = (bits & 4) != 0 ? DataType::float32 : DataType::bfloat16;
            p.has_workspace = true;
            ASSERT_NE(choose_form(p), Algorithm::automatic);
            const Cut cut = cut_sequences(p);
            ASSERT_GE(cut.tokens, 0);
            ASSERT_GE(cut.slots, 0);
            ASSERT_GE(split_workspace(p), 0);
          }
        }
      }
    }
  }
}

using Layer = gdr::Recurrence<gdr::HeadDims<48, 96>, float>;

TEST(FormProblem, IsOfTheArguments) {
  gdr::ForwardArgs<Layer> args;
  args.shape.batch = 3;
  args.shape.seq_len = 100;
  args.shape.heads = 5;
  FormProblem p = form_problem(args);
  EXPECT_EQ(p.sequences, 3);
  EXPECT_EQ(p.tokens, 300);
  EXPECT_EQ(p.heads, 5);
  EXPECT_EQ(p.key_dim, 48);
  EXPECT_EQ(p.value_dim, 96);
  EXPECT_EQ(p.gate_channels, 96);
  EXPECT_EQ(p.states_per_sm, 1);
  EXPECT_EQ(form_problem(gdr::ForwardArgs<gdr::Recurrence<gdr::HeadDim<64>, gdr::bfloat16>>{})
                .states_per_sm,
            2);
  EXPECT_FALSE(p.has_offsets || p.batch_invariant || p.has_workspace || p.delta_rule);

  const int32_t offsets[] = {0, 60, 100};
  args.shape.batch = 1;
  args.shape.key_dim = 40;
  args.shape.value_dim = 72;
  args.cu_seqlens = {offsets, 2};
  args.batch_invariant = true;
  args.workspace = &p;
  args.algorithm = Algorithm::chunked;
  p = form_problem(args);
  EXPECT_EQ(p.sequences, 2);
  EXPECT_EQ(p.tokens, 100);
  EXPECT_EQ(p.key_dim, 40);
  EXPECT_EQ(p.value_dim, 72);
  EXPECT_EQ(p.gate_channels, 96);  // the type's
  EXPECT_TRUE(p.has_offsets && p.batch_invariant && p.has_workspace);
  EXPECT_EQ(p.algorithm, Algorithm::chunked);

  using Delta = gdr::Recurrence<gdr::HeadDim<64>, float, gdr::HeadGate<>, gdr::DeltaRule<>>;
  EXPECT_TRUE(form_problem(gdr::ForwardArgs<Delta>{}).delta_rule);
}

TEST(FormProblem, AnyArgumentsAreTaken) {
  for (const int64_t batch : {smallest, int64_t{-5}, int64_t{0}, int64_t{4}, largest}) {
    for (const int64_t length : {smallest, int64_t{-3}, int64_t{0}, int64_t{7}, largest}) {
      gdr::ForwardArgs<Layer> args;
      args.shape.batch = batch;
      args.shape.seq_len = length;
      args.shape.heads = largest;
      const FormProblem p = form_problem(args);
      EXPECT_NE(choose_form(p), Algorithm::automatic);
      EXPECT_GE(split_workspace(p), 0);
      if (batch <= 0 || length < 0) {
        EXPECT_EQ(split_workspace(p), 0) << batch << ' ' << length;
      }
    }
  }
}

}  // namespace
