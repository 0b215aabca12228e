// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The pairwise list covers what it says.

#include "list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gdr::test;
using Layer = std::array<std::string, 7>;

template <int... n>
std::vector<Layer> every_layer(std::integer_sequence<int, n...>) {
  return {choices_of<PairwiseLayer<n, gdr::float16, gdr::bfloat16>>()...};
}

std::vector<Layer> every_layer() {
  return every_layer(std::make_integer_sequence<int, pairwise_size>{});
}

constexpr std::size_t rule = 4, key_dim = 5, value_dim = 6;

const std::vector<std::string> choices[] = {
    {"float32", "float16", "bfloat16"},
    {"GateFloat32", "GateOwn"},
    {"ValueGate", "KeyGate", "HeadGate", "NoGate"},
    {"Linear", "Log", "Sigmoid", "LogSigmoid", "SoftplusDecay", "OneMinus"},
    {"OuterProduct", "DeltaRule", "DeltaRuleSigmoid"},
    {"K1", "K16", "K24", "K32", "K40", "K64", "K96", "K100", "K128", "K160", "K192", "K256"},
    {"V1", "V16", "V24", "V32", "V40", "V64", "V96", "V100", "V128", "V160", "V192", "V256"}};

/// float32's own gate is a float32 gate; without a gate there is neither its type nor its function.
bool exists(std::size_t i, const std::string& a, std::size_t j, const std::string& b) {
  if (a == "float32" && b == "GateOwn") return false;
  return !(i == 1 && b == "NoGate") && !(a == "NoGate" && j == 3);
}

void expect_every_pair(const std::vector<Layer>& layers, std::size_t i, std::size_t j) {
  for (const std::string& a : choices[i]) {
    for (const std::string& b : choices[j]) {
      const bool is_met = std::any_of(layers.begin(), layers.end(), [&](const Layer& layer) {
        return layer[i] == a && layer[j] == b;
      });
      EXPECT_EQ(is_met, exists(i, a, j, b)) << a << ' ' << b;
    }
  }
}

TEST(PairwiseList, EveryTwoChoicesMeet) {
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = i + 1; j < 7; ++j) expect_every_pair(every_layer(), i, j);
  }
}

// The chunked forms serve outer products alone: among these too, but for pairs of extents.
TEST(PairwiseList, EveryTwoChoicesMeetInAnOuterProduct) {
  std::vector<Layer> layers = every_layer();
  layers.erase(std::remove_if(layers.begin(), layers.end(),
                              [](const Layer& layer) { return layer[rule] != "OuterProduct"; }),
               layers.end());
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = i + 1; j < 7; ++j) {
      const bool are_extents = i == key_dim && j == value_dim;
      if (i != rule && j != rule && !are_extents) expect_every_pair(layers, i, j);
    }
  }
}

}  // namespace
