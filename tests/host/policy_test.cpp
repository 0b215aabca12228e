// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The shipped tunings keep the kernels' rules for every layer.

#include <gdr/dispatch/policy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace {

using gdr::ChunkedTuning;
using gdr::RecurrentTraits;
using gdr::RecurrentTuning;

template <class Use>
void for_each_layer(Use use) {
  for (int key_dim = 1; key_dim <= 256; ++key_dim) {
    for (int value_dim : {1, 8, 24, 32, 33, 64, 100, 128, 192, 256}) {
      for (int bits = 0; bits < 32; ++bits) {
        use(RecurrentTraits{key_dim, value_dim, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                            (bits & 8) != 0, (bits & 16) != 0});
      }
    }
  }
}

TEST(Policy, ShippedTuningsKeepTheRules) {
  for_each_layer([](const RecurrentTraits& layer) {
    const gdr::RecurrentTunings tunings = gdr::select_recurrent_tunings(layer);
    for (const RecurrentTuning& t : {tunings.standard, tunings.small_grid, tunings.compact}) {
      ASSERT_TRUE(gdr::has_same_sums(t, tunings.standard)) << layer.key_dim;
      ASSERT_GE(t.padded_key_dim(), layer.key_dim);
      ASSERT_LT(t.padded_key_dim() - layer.key_dim, 4 * t.lanes) << layer.key_dim;
      ASSERT_EQ(t.columns_per_block() % 4, 0);
      ASSERT_EQ(t.stage_warps % 2, 0);
      ASSERT_EQ(t.tokens_per_tile % t.tokens_in_flight, 0);
      ASSERT_LE(t.tokens_per_tile, 16 * t.stage_warps);  // a thread of half of them a token's beta
      ASSERT_LE(t.threads(), 1024);
    }
  });
}

TEST(Policy, ADefaultPolicyIsItsLayersChoice) {
  using Layer = gdr::Recurrence<gdr::HeadDim<128>, float, gdr::KeyGate<gdr::Log>, gdr::DeltaRule<>>;
  using Policy = gdr::DefaultPolicy<Layer>;
  EXPECT_TRUE(Policy::traits.key_gate);
  EXPECT_TRUE(Policy::traits.compensated);
  EXPECT_TRUE(Policy::traits.delta_rule);
  EXPECT_TRUE(Policy::traits.wide_elements);
  EXPECT_FALSE(Policy::traits.own_function);
  EXPECT_TRUE(Policy::recurrent == gdr::select_recurrent_tunings(Policy::traits).standard);
}

// --- The chunked form. ---

struct ChunkedChoice {
  int key_dim;
  int value_dim;
  gdr::GateAxis axis;
  gdr::DataType type;
  gdr::ChunkedTraits traits;
  ChunkedTuning standard;
  ChunkedTuning compact;
};

template <class Layer>
ChunkedChoice choice_for() {
  using Policy = gdr::DefaultPolicy<Layer>;
  return {Layer::key_dim,         Layer::value_dim,           Layer::Gate::axis,
          Layer::element_type,    gdr::chunked_traits<Layer>, Policy::chunked,
          Policy::chunked_compact};
}

template <class T, int K, int V>
void add_choices(std::vector<ChunkedChoice>& choices) {
  using Dims = gdr::HeadDims<K, V>;
  choices.push_back(choice_for<gdr::Recurrence<Dims, T>>());
  choices.push_back(choice_for<gdr::Recurrence<Dims, T, gdr::KeyGate<>>>());
  choices.push_back(choice_for<gdr::Recurrence<Dims, T, gdr::HeadGate<>>>());
  choices.push_back(choice_for<gdr::Recurrence<Dims, T, gdr::NoGate>>());
  choices.push_back(choice_for<gdr::Recurrence<Dims, T, gdr::KeyGate<gdr::Log, float>>>());
}

// Every number of 16-channel operands along K and along V.
template <class T, int... n>
void add_choices(std::vector<ChunkedChoice>& choices, std::integer_sequence<int, n...>) {
  (add_choices<T, 16 * n + 3, 64>(choices), ...);
  (add_choices<T, 16 * (n + 1), 64>(choices), ...);
  (add_choices<T, 64, 16 * n + 1>(choices), ...);
  (add_choices<T, 64, 16 * (n + 1)>(choices), ...);
}

std::vector<ChunkedChoice> chunked_choices() {
  std::vector<ChunkedChoice> choices;
  constexpr auto operands = std::make_integer_sequence<int, 16>{};
  add_choices<float>(choices, operands);
  add_choices<gdr::float16>(choices, operands);
  add_choices<gdr::bfloat16>(choices, operands);
  return choices;
}

// What block/chunk_storage.cuh, block/chunk_preparer.cuh and kernel/chunked.cuh ask of a tuning.
TEST(Policy, ShippedChunkedTuningsKeepTheRules) {
  for (const ChunkedChoice& layer : chunked_choices()) {
    SCOPED_TRACE(testing::Message()
                 << "K " << layer.key_dim << " V " << layer.value_dim << " axis "
                 << static_cast<int>(layer.axis) << " type " << static_cast<int>(layer.type));
    const int key_width = (layer.key_dim + 15) / 16 * 16;
    for (const ChunkedTuning& t : {layer.standard, layer.compact}) {
      EXPECT_TRUE(t.tokens == 16 || t.tokens == 32 || t.tokens == 48 || t.tokens == 64);
      EXPECT_GE(32 * t.prepare_warps, t.tokens);  // a thread has a token's head gate,
      if (layer.axis == gdr::GateAxis::key) {     // or two channels' key gates of 16 tokens
        EXPECT_GE(32 * t.prepare_warps, key_width / 2 * (t.tokens / 16));
      }
      EXPECT_EQ(t.prepare_warps % 4, 0);  // whole warpgroups
      EXPECT_GE(t.state_warps, 1);
      EXPECT_LE(t.columns_per_block(layer.value_dim),
                std::min(64, (layer.value_dim + 15) / 16 * 16));
      EXPECT_EQ(t.threads(), 32 * (t.state_warps + t.prepare_warps + ChunkedTuning::load_warps));
      EXPECT_LE(t.threads(), 1024);
    }
    EXPECT_NE(layer.compact.tokens, 48);
    EXPECT_LE(layer.compact.tokens, layer.standard.tokens);
    EXPECT_LE(layer.compact.state_warps, layer.standard.state_warps);
  }
}

// With the fewest stages: three of q and k, two of v and gate.
TEST(Policy, ShippedChunkedTuningsFitSharedMemory) {
  constexpr int kib = 1024;
  for (const ChunkedChoice& layer : chunked_choices()) {
    SCOPED_TRACE(testing::Message()
                 << "K " << layer.key_dim << " V " << layer.value_dim << " axis "
                 << static_cast<int>(layer.axis) << " type " << static_cast<int>(layer.type));
    EXPECT_LE(gdr::chunked_shared_bytes(layer.traits, layer.standard, 3, 2), 227 * kib);
    // What no tuning makes fit is recurrent under Algorithm::automatic: wide heads alone.
    const bool fits = gdr::chunked_shared_bytes(layer.traits, layer.compact, 3, 2) <= 99 * kib;
    EXPECT_TRUE(fits || (layer.compact.tokens == 16 && layer.key_dim > 128));
  }
}

// Blocks for states alone: value gates with operands of 16 bits, two blocks to a multiprocessor.
TEST(Policy, StatesTuningsKeepTheRules) {
  for (const ChunkedChoice& layer : chunked_choices()) {
    SCOPED_TRACE(testing::Message() << "K " << layer.key_dim << " V " << layer.value_dim << " axis "
                                    << static_cast<int>(layer.axis));
    const ChunkedTuning t = gdr::select_states_tuning(layer.traits);
    const bool has_form = layer.axis == gdr::GateAxis::value &&
                          layer.type == gdr::DataType::bfloat16 && layer.key_dim <= 128;
    ASSERT_EQ(t.tokens > 0, has_form);
    if (!has_form) continue;
    EXPECT_TRUE(t.only_states());
    EXPECT_EQ(t.state_warps % 4, 0);  // a warpgroup
    EXPECT_GE(t.tokens, 32);
    EXPECT_GE(32 * t.state_warps, t.tokens);
    EXPECT_LE(t.blocks_per_sm * gdr::chunked_shared_bytes(layer.traits, t, 3, 2), 226 * 1024);
  }
}

}  // namespace
