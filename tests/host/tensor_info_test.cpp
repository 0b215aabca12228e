// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The geometry of strided tensors against lists of their addresses, on small random tensors.

#include <gdr/dispatch/tensor_info.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

namespace {

using gdr::detail::TensorInfo;

constexpr uint32_t seed = 20261129;
constexpr int cases = 20000;

class Random {
 public:
  int64_t operator()(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }

 private:
  std::mt19937 engine_{seed};
};

// Two-byte elements around address 4096. Dense: each stride holds the inner dimensions.
TensorInfo make_tensor(Random& random, bool dense) {
  TensorInfo t;
  t.element_size = 2;
  t.contiguous = false;
  int64_t inner = 1;
  for (int d = 3; d >= 0; --d) {
    t.extents[d] = random(1, 4);
    t.strides[d] = d == 3 ? 1 : dense ? inner + random(0, 3) : random(1, 30);
    inner = t.strides[d] * t.extents[d];
  }
  t.data = reinterpret_cast<const void*>(std::uintptr_t{4096});
  return t;
}

TensorInfo moved(TensorInfo t, int64_t elements) {
  t.data = static_cast<const char*>(t.data) + 2 * elements;
  return t;
}

// Element addresses in ascending order, one entry for each element.
std::vector<std::uintptr_t> addresses(const TensorInfo& t) {
  std::vector<std::uintptr_t> list;
  for (int64_t a = 0; a < t.extents[0]; ++a) {
    for (int64_t b = 0; b < t.extents[1]; ++b) {
      for (int64_t c = 0; c < t.extents[2]; ++c) {
        for (int64_t d = 0; d < t.extents[3]; ++d) {
          const int64_t offset =
              a * t.strides[0] + b * t.strides[1] + c * t.strides[2] + d * t.strides[3];
          list.push_back(reinterpret_cast<std::uintptr_t>(moved(t, offset).data));
        }
      }
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

bool share_an_address(const TensorInfo& a, const TensorInfo& b) {
  const auto x = addresses(a), y = addresses(b);
  std::vector<std::uintptr_t> both;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
  return !both.empty();
}

bool has_duplicates(const TensorInfo& t) {
  const auto list = addresses(t);
  return std::adjacent_find(list.begin(), list.end()) != list.end();
}

TEST(TensorInfoTest, ReachSpansTheAddresses) {
  Random random;
  for (int i = 0; i < cases; ++i) {
    TensorInfo t = make_tensor(random, false);
    for (int d = 0; d < 3; ++d) t.strides[d] *= random(-1, 1);
    const auto list = addresses(t);
    ASSERT_EQ(gdr::detail::reach(t), static_cast<int64_t>(list.back() - list.front()) / 2 + 1);
  }
}

TEST(TensorInfoTest, OverlapsOfATensorWithItselfAreReal) {
  Random random;
  int found = 0, missed = 0;
  for (int i = 0; i < cases; ++i) {
    ASSERT_FALSE(gdr::detail::overlaps_itself(make_tensor(random, true)));
    const TensorInfo t = make_tensor(random, false);
    const bool real = has_duplicates(t);
    if (gdr::detail::overlaps_itself(t)) {
      ASSERT_TRUE(real);
      ++found;
    } else if (real) {
      ++missed;  // several steps along every dimension
    }
  }
  EXPECT_GT(found, 10 * missed);
}

TEST(TensorInfoTest, OverlapsOfTwoTensorsAreReal) {
  Random random;
  int found = 0;
  for (int i = 0; i < cases; ++i) {
    const TensorInfo a = make_tensor(random, i % 2 == 0);
    const TensorInfo b = moved(make_tensor(random, i % 3 == 0), random(-100, 100));
    if (gdr::detail::meet(a, b)) {
      ASSERT_TRUE(share_an_address(a, b));
      ++found;
    }
  }
  EXPECT_GT(found, cases / 100);
}

TEST(TensorInfoTest, OverlapsOfTheSameStridesAreAllFound) {
  Random random;
  int found = 0;
  for (int i = 0; i < cases; ++i) {
    const TensorInfo a = make_tensor(random, true);
    const TensorInfo b = moved(a, random(-200, 200));
    const bool real = share_an_address(a, b);
    ASSERT_EQ(gdr::detail::meet(a, b), real);
    found += real ? 1 : 0;
  }
  EXPECT_GT(found, cases / 10);
}

TEST(TensorInfoTest, ContiguousRangesThatMeetAreAllFound) {
  Random random;
  for (int i = 0; i < cases; ++i) {
    TensorInfo a = make_tensor(random, true), b = make_tensor(random, true);
    a.contiguous = b.contiguous = true;
    gdr::detail::fill_strides(a);
    gdr::detail::fill_strides(b);
    b = moved(b, random(-300, 300));
    ASSERT_EQ(gdr::detail::meet(a, b), share_an_address(a, b));
  }
}

}  // namespace
