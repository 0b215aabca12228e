// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The shipped tunings keep the kernel's rules for every layer.

#include <gdr/dispatch/policy.hpp>

#include <gtest/gtest.h>

namespace {

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

}  // namespace
