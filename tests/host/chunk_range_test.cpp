// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The range rules of the chunked form, number by number.

#include <gdr/thread/chunk_range.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using gdr::DivisionRange;
using gdr::gate_weight;
using gdr::LogDivisionRange;
using gdr::max_span_weight;
using gdr::ScaledProduct;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float denormal = std::numeric_limits<float>::denorm_min();
constexpr float largest = std::numeric_limits<float>::max();

// --- Division. ---

bool holds(const std::vector<float>& products) {
  DivisionRange range;
  for (const float x : products) range.add(x);
  return range.holds();
}

TEST(DivisionRange, HoldsForNothing) { EXPECT_TRUE(holds({})); }

TEST(DivisionRange, LimitsAreWithin) {
  EXPECT_TRUE(holds({0x1p-64f, 0x1p64f}));
  EXPECT_TRUE(holds({-0x1p-64f, -0x1p64f, 1.0f, -0.3f}));
}

TEST(DivisionRange, PastTheLimitsIsOutside) {
  for (const float x : {std::nextafter(0x1p-64f, 0.0f), std::nextafter(0x1p64f, inf)}) {
    EXPECT_FALSE(holds({x})) << x;
    EXPECT_FALSE(holds({-x})) << x;
    EXPECT_FALSE(holds({1.0f, x, 1.0f})) << x;
  }
}

TEST(DivisionRange, ZerosAndDenormalsAreOutside) {
  for (const float x : {0.0f, -0.0f, denormal, 1e-40f}) EXPECT_FALSE(holds({1.0f, x})) << x;
}

TEST(DivisionRange, InfinityIsOutside) {
  EXPECT_FALSE(holds({inf}));
  EXPECT_FALSE(holds({1.0f, -inf, 1.0f}));
}

// A NaN product passes through fminf and fmaxf, and is seen by what it scales.
TEST(DivisionRange, NanIsLeftToWhatItScales) {
  EXPECT_TRUE(holds({nan}));
  EXPECT_TRUE(holds({1.0f, nan, 1.0f}));
}

// Products that are factors alone may go as far as normal numbers do.
TEST(DivisionRange, FactorsAreNormal) {
  const auto are_normal = [](float x) {
    DivisionRange range;
    range.add(x);
    return range.are_normal();
  };
  for (const float x : {0x1p-126f, 0x1p126f, -0x1p-126f, 1.0f}) EXPECT_TRUE(are_normal(x)) << x;
  for (const float x : {0.0f, denormal, std::nextafter(0x1p-126f, 0.0f), 0x1p127f, inf}) {
    EXPECT_FALSE(are_normal(x)) << x;
    EXPECT_FALSE(are_normal(-x)) << x;
  }
  LogDivisionRange range;
  range.add(-126.0f);
  EXPECT_TRUE(range.are_normal());
  range.add(std::nextafter(126.0f, inf));
  EXPECT_FALSE(range.are_normal());
}

// A chunk of 64 tokens, its products formed outward from its centre.
bool chunk_holds(float gate) {
  DivisionRange range;
  float before = 1, after = 1;
  for (int t = 0; t < 32; ++t) {
    range.add(before *= gate);
    range.add(after *= gate);
  }
  return range.holds();
}

TEST(DivisionRange, AQuarterIsTheFastestEqualGate) {
  EXPECT_TRUE(chunk_holds(0.25f));
  EXPECT_FALSE(chunk_holds(0.2499f));
  EXPECT_TRUE(chunk_holds(4.0f));
  EXPECT_FALSE(chunk_holds(4.001f));
  EXPECT_TRUE(chunk_holds(-0.5f));
  EXPECT_FALSE(chunk_holds(0.0f));
}

// The logarithms' rule is the products'.
TEST(LogDivisionRange, SameLimits) {
  const auto log_holds = [](float x) {
    LogDivisionRange range;
    range.add(0.5f);
    range.add(x);
    return range.holds();
  };
  for (const float x : {0.0f, 64.0f, -64.0f}) EXPECT_TRUE(log_holds(x)) << x;
  for (const float x : {std::nextafter(64.0f, inf), std::nextafter(-64.0f, -inf), inf, -inf}) {
    EXPECT_FALSE(log_holds(x)) << x;
  }
}

// --- Weights of gates. ---

TEST(GateWeight, NothingMovesAProductByMoreThanItsWeight) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-126, 128);
  for (int n = 0; n < 100000; ++n) {
    float gate = static_cast<float>(std::exp2(exponent(random)));
    if (gate > largest) gate = largest;
    const double moved = std::fabs(std::log2(static_cast<double>(gate)));
    ASSERT_LE(moved, gate_weight(gate)) << gate;
    ASSERT_LE(gate_weight(gate), moved + 1 + 1e-6) << gate;
    ASSERT_EQ(gate_weight(gate), gate_weight(-gate)) << gate;
  }
}

TEST(GateWeight, AroundOne) {
  EXPECT_EQ(gate_weight(1.0f), 1);
  EXPECT_EQ(gate_weight(std::nextafter(1.0f, 0.0f)), 1);
  EXPECT_EQ(gate_weight(0.5f), 1);
  EXPECT_EQ(gate_weight(std::nextafter(0.5f, 0.0f)), 2);
  EXPECT_EQ(gate_weight(2.0f), 2);
}

TEST(GateWeight, ZeroAndWhatIsNotFiniteWeighNothing) {
  for (const float x : {0.0f, -0.0f, inf, -inf, nan, -nan}) EXPECT_EQ(gate_weight(x), 0) << x;
}

TEST(GateWeight, ADenormalGateIsASpanOfItsOwn) {
  for (const float x : {denormal, -denormal, 1e-40f, std::nextafter(0x1p-126f, 0.0f)}) {
    EXPECT_GT(gate_weight(x), max_span_weight) << x;
  }
}

TEST(GateWeight, SpansThatFitStayInRange) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> exponent(-40, 40);
  for (int n = 0; n < 20000; ++n) {
    float up = 1, product = 1;
    int weight = 0;
    for (int t = 0; t < 16; ++t) {
      const float gate = static_cast<float>(std::exp2(exponent(random) / (1 + n % 10)));
      weight += gate_weight(gate);
      if (weight > max_span_weight) break;
      product *= gate;
      up *= gate > 1 ? gate : 1;
      ASSERT_TRUE(std::isnormal(product));
      ASSERT_TRUE(std::isfinite(up * 63.0f));  // with a value of 2^(126 - 120)
    }
  }
}

// --- Products of any size. ---

ScaledProduct product_of(const std::vector<float>& gates) {
  ScaledProduct product;
  for (const float gate : gates) product.multiply(gate);
  return product;
}

void expect_near(float actual, double expected) {
  EXPECT_NEAR(static_cast<double>(actual), expected, 1e-5 * std::fabs(expected));
}

TEST(ScaledProduct, OfNothingIsOne) {
  const ScaledProduct one;
  for (const float x : {0.0f, 1.0f, -3.5f, largest, 0x1p-126f}) EXPECT_EQ(one.apply(x), x);
}

TEST(ScaledProduct, OfGatesInRange) {
  expect_near(product_of({0.5f, 3.0f, -0.7f}).apply(2.0f), -2.1);
  const ScaledProduct slow = product_of(std::vector<float>(1000, 0.999f));
  expect_near(slow.apply(5.0f), 5 * std::pow(static_cast<double>(0.999f), 1000));
}

TEST(ScaledProduct, LeavesFloatsRangeAndComesBack) {
  std::vector<float> gates(40, 1e-30f);
  gates.insert(gates.end(), 40, 1e30f);
  expect_near(product_of(gates).apply(3.0f), 3);
  std::vector<float> up(40, 1e30f);
  up.insert(up.end(), 40, 1e-30f);
  expect_near(product_of(up).apply(-3.0f), -3);
}

TEST(ScaledProduct, MeetsAStateOfTheOtherKind) {
  const ScaledProduct small = product_of({0x1p-100f, 0x1p-100f});
  expect_near(small.apply(0x1p127f), std::exp2(-73));
  const ScaledProduct large = product_of({0x1p100f, 0x1p100f});
  expect_near(large.apply(0x1p-120f), std::exp2(80));
  EXPECT_EQ(large.apply(denormal * 2), 0x1p52f);
}

TEST(ScaledProduct, OutOfRangeIsZeroOrInfinity) {
  const ScaledProduct small = product_of(std::vector<float>(1000, 0.5f));
  EXPECT_EQ(small.apply(largest), 0.0f);
  const ScaledProduct large = product_of(std::vector<float>(1000, 2.0f));
  EXPECT_EQ(large.apply(0x1p-126f), inf);
  EXPECT_EQ(large.apply(-1.0f), -inf);
  EXPECT_EQ(large.apply(0.0f), 0.0f);
  EXPECT_EQ(product_of(std::vector<float>(100000, denormal)).apply(largest), 0.0f);
  EXPECT_EQ(product_of(std::vector<float>(100000, largest)).apply(1.0f), inf);
}

TEST(ScaledProduct, DenormalFactorsKeepTheirBits) {
  const float factor = 0x1.8p-140f;
  EXPECT_EQ(product_of({factor, 0x1p100f, 0x1p40f}).apply(1.0f), 1.5f);
}

TEST(ScaledProduct, AZeroStaysZero) {
  for (const float zero : {0.0f, -0.0f}) {
    ScaledProduct product = product_of({0.5f, zero, 3.0f});
    EXPECT_EQ(product.apply(7.0f), 0.0f);
    for (int n = 0; n < 100; ++n) product.multiply(largest);
    EXPECT_EQ(product.apply(largest), 0.0f);
  }
}

TEST(ScaledProduct, SignsMultiply) {
  EXPECT_EQ(product_of({-0.5f, 0.5f}).apply(8.0f), -2.0f);
  EXPECT_EQ(product_of({-0.5f, -0.5f}).apply(8.0f), 2.0f);
  EXPECT_EQ(product_of(std::vector<float>(601, -2.0f)).apply(1.0f), -inf);
}

TEST(ScaledProduct, NanAndInfinityStay) {
  EXPECT_TRUE(std::isnan(product_of({0.5f, nan, 2.0f}).apply(1.0f)));
  EXPECT_TRUE(std::isnan(product_of({nan, 0.0f}).apply(1.0f)));
  EXPECT_EQ(product_of({0.5f, inf, 0.1f}).apply(1.0f), inf);
  EXPECT_EQ(product_of({-inf, 0x1p-126f}).apply(1.0f), -inf);
  EXPECT_TRUE(std::isnan(product_of({inf, 0.0f}).apply(1.0f)));
}

}  // namespace
