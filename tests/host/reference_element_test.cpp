// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The 16-bit conversions of the reference.

#include <gdr/reference/element.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using gdr::bfloat16;
using gdr::float16;
using gdr::reference::from_double;
using gdr::reference::to_double;

constexpr double inf = std::numeric_limits<double>::infinity();

template <class T>
class Element16 : public testing::Test {
 protected:
  static int bits(double value) { return from_double<T>(value).bits; }
  static double value(int bits) { return to_double(T{static_cast<uint16_t>(bits)}); }
  static constexpr int infinity = std::is_same<T, float16>::value ? 0x7c00 : 0x7f80;
};
using Types = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(Element16, Types);

TYPED_TEST(Element16, EveryPatternSurvivesTheRoundTrip) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const double value = this->value(bits);
    if ((bits & 0x7fff) > this->infinity) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_GT(this->bits(value) & 0x7fff, this->infinity) << bits;
    } else {
      ASSERT_EQ(this->bits(value), bits);
    }
  }
}

TYPED_TEST(Element16, ValuesAscend) {
  for (int bits = 0; bits < this->infinity; ++bits) {
    ASSERT_LT(this->value(bits), this->value(bits + 1)) << bits;
    ASSERT_EQ(this->value(bits | 0x8000), -this->value(bits)) << bits;
  }
}

// Between every two neighbours, of which one has an even pattern: denormals, normals, both sides of
// every power of two. Above the largest finite number lies the next power of two.
TYPED_TEST(Element16, RoundsToNearestTiesToEven) {
  for (int low = 0; low < this->infinity; ++low) {
    const int high = low + 1;
    const double below = this->value(low);
    const double above =
        high == this->infinity ? std::exp2(std::ilogb(below) + 1) : this->value(high);
    const double middle = below + (above - below) / 2;
    ASSERT_EQ(this->bits(middle), low % 2 == 0 ? low : high) << low;
    ASSERT_EQ(this->bits(std::nextafter(middle, 0)), low);
    ASSERT_EQ(this->bits(std::nextafter(middle, inf)), high) << low;
    ASSERT_EQ(this->bits(-middle), 0x8000 | (low % 2 == 0 ? low : high)) << low;
  }
}

TYPED_TEST(Element16, InfinityAndOverflow) {
  EXPECT_EQ(this->value(this->infinity), inf);
  EXPECT_EQ(this->value(this->infinity | 0x8000), -inf);
  const double next_power = std::exp2(std::ilogb(this->value(this->infinity - 1)) + 1);
  for (const double large : {next_power, 1.5 * next_power, 1e39, 1e300, 1.7e308, inf}) {
    EXPECT_EQ(this->bits(large), this->infinity);
    EXPECT_EQ(this->bits(-large), this->infinity | 0x8000);
  }
}

TYPED_TEST(Element16, TinyNumbersBecomeZeroOfTheirSign) {
  for (const double tiny : {1e-41, 1e-300, std::numeric_limits<double>::denorm_min(), 0.0}) {
    EXPECT_EQ(this->bits(tiny), 0);
    EXPECT_EQ(this->bits(-tiny), 0x8000);
  }
}

TYPED_TEST(Element16, NanKeepsItsSign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_GT(this->bits(nan), this->infinity);
  EXPECT_LT(this->bits(nan), 0x8000);
  EXPECT_GT(this->bits(std::copysign(nan, -1.0)), 0x8000 | this->infinity);
}

TEST(Bfloat16, KnownPatterns) {
  EXPECT_EQ(from_double<bfloat16>(1.0).bits, 0x3f80);
  EXPECT_EQ(from_double<bfloat16>(-2.5).bits, 0xc020);
  EXPECT_EQ(from_double<bfloat16>(0.999).bits, 0x3f80);  // a gate that bfloat16 cannot express
  EXPECT_EQ(from_double<bfloat16>(0.001).bits, 0x3a83);
  EXPECT_EQ(from_double<bfloat16>(std::ldexp(1, -126)).bits, 0x0080);  // smallest normal
  EXPECT_EQ(from_double<bfloat16>(std::ldexp(1, -133)).bits, 0x0001);  // smallest denormal
  EXPECT_EQ(to_double(bfloat16{0x7f7f}), std::ldexp(255, 120));        // largest
  EXPECT_EQ(to_double(bfloat16{0x4049}), 3.140625);
}

TEST(Float16, KnownPatterns) {
  EXPECT_EQ(from_double<float16>(1.0).bits, 0x3c00);
  EXPECT_EQ(from_double<float16>(-2.5).bits, 0xc100);
  EXPECT_EQ(from_double<float16>(65504).bits, 0x7bff);               // largest
  EXPECT_EQ(from_double<float16>(65519.99).bits, 0x7bff);            // still rounds down to it
  EXPECT_EQ(from_double<float16>(65520).bits, 0x7c00);               // the tie goes to infinity
  EXPECT_EQ(from_double<float16>(std::ldexp(1, -14)).bits, 0x0400);  // smallest normal
  EXPECT_EQ(from_double<float16>(std::ldexp(1, -24)).bits, 0x0001);  // smallest denormal
  EXPECT_EQ(from_double<float16>(1.0 / 3).bits, 0x3555);
  EXPECT_EQ(to_double(float16{0x4248}), 3.140625);
}

// By way of float this number first becomes the tie, and then 1.
TEST(Bfloat16, RoundsOnce) {
  EXPECT_EQ(from_double<bfloat16>(1 + std::ldexp(1, -8) + std::ldexp(1, -40)).bits, 0x3f81);
}

TEST(Element, FloatAndDouble) {
  EXPECT_EQ(to_double(1.5f), 1.5);
  EXPECT_EQ(from_double<float>(0.1), 0.1f);
  EXPECT_EQ(from_double<double>(0.1), 0.1);
  EXPECT_EQ(to_double(0.1), 0.1);
}

TEST(Element, ArraysByIndex) {
  using gdr::DataType;
  using gdr::reference::load_element;
  using gdr::reference::store_element;
  for (const DataType type :
       {DataType::float32, DataType::float16, DataType::bfloat16, DataType::float64}) {
    std::vector<unsigned char> memory(4 * sizeof(double), 0);
    const auto size = static_cast<size_t>(gdr::size_of(type));
    store_element(memory.data() + 2 * size, type, -1, 3.25);
    store_element(memory.data(), type, 2, -0.5);
    EXPECT_EQ(load_element(memory.data(), type, 0), 0);
    EXPECT_EQ(load_element(memory.data(), type, 1), 3.25);
    EXPECT_EQ(load_element(memory.data() + 3 * size, type, -1), -0.5);
    EXPECT_EQ(load_element(memory.data(), type, 3), 0);
  }
}

}  // namespace
