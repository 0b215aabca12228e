// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include <gdr/thread/fast_divisor.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

// The extremes, every power of two and its neighbours, and random numbers.
std::vector<uint32_t> interesting_numbers(uint32_t seed) {
  std::vector<uint32_t> numbers = {1, 3, 0x7fffffff};
  for (int bit = 1; bit < 31; ++bit) {
    const uint32_t power = uint32_t{1} << bit;
    numbers.insert(numbers.end(), {power - 1, power, power + 1});
  }
  std::mt19937 random(seed);
  for (int n = 0; n < 300; ++n) {
    numbers.push_back(static_cast<uint32_t>(random() >> 1) | 1);
  }
  return numbers;
}

TEST(FastDivisor, DividesAsTheOperatorDoes) {
  for (const uint32_t divisor : interesting_numbers(1)) {
    const gdr::FastDivisor fast(divisor);
    EXPECT_EQ(fast.divisor(), divisor);
    for (uint32_t number : interesting_numbers(2)) {
      const uint32_t quotient = fast.quotient(number);
      ASSERT_EQ(quotient, number / divisor) << number << " / " << divisor;
      ASSERT_EQ(fast.remainder(number, quotient), number % divisor) << number << " % " << divisor;
    }
    ASSERT_EQ(fast.quotient(0), 0u);
  }
}

}  // namespace
