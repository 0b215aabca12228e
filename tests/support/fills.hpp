// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Random numbers that are the same everywhere, and recipes for the elements of a tensor. Gate
/// recipes make factors a_t; `in_space` turns them into what the layer's tensor holds.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include <gdr/types/layer.hpp>

namespace gdr::test {

/// Splitmix64, with the distributions the tests need.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In (low, high), both ends excluded but for rounding.
  double uniform(double low = 0, double high = 1) {
    return low + (high - low) * ((static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53);
  }
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = uniform(0, 6.283185307179586);
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }
  /// In [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return uniform() < probability; }
  template <class T>
  T pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(
        integer(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

 private:
  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Where an element is; a [B, T, H] tensor has channel 0 alone.
struct Index {
  std::int64_t batch = 0;
  std::int64_t time = 0;
  std::int64_t head = 0;
  std::int64_t channel = 0;
};

using Fill = std::function<double(Random&, const Index&)>;

namespace fills {

inline Fill constant(double value) {
  return [=](Random&, const Index&) { return value; };
}

inline Fill uniform(double low, double high) {
  return [=](Random& random, const Index&) { return random.uniform(low, high); };
}

inline Fill normal(double mean = 0, double deviation = 1) {
  return [=](Random& random, const Index&) { return mean + deviation * random.normal(); };
}

/// exp of a uniform number: every decade from `low` to `high` alike.
inline Fill log_range(double low, double high) {
  return [a = std::log(low), b = std::log(high)](Random& random, const Index&) {
    return std::exp(random.uniform(a, b));
  };
}

inline Fill one_of(std::vector<double> values) {
  return [=](Random& random, const Index&) { return random.pick(values); };
}

/// `even` at tokens 0, 2, ..., `odd` at the others.
inline Fill alternating(double even, double odd) {
  return [=](Random&, const Index& at) { return at.time % 2 == 0 ? even : odd; };
}

/// `value` for every channel at the named tokens.
inline Fill at_times(Fill base, std::vector<std::int64_t> times, double value) {
  return [=](Random& random, const Index& at) {
    const double other = base(random, at);
    return std::find(times.begin(), times.end(), at.time) != times.end() ? value : other;
  };
}

/// `value` in place of each element with a probability.
inline Fill sometimes(Fill base, double probability, double value) {
  return [=](Random& random, const Index& at) {
    const double other = base(random, at);
    return random.chance(probability) ? value : other;
  };
}

/// Channel `channel` by a recipe of its own.
inline Fill on_channel(Fill base, std::int64_t channel, Fill own) {
  return [=](Random& random, const Index& at) {
    return at.channel == channel ? own(random, at) : base(random, at);
  };
}

/// Every kind of number a linear gate may hold, 1.05 at most.
inline Fill odd() {
  return one_of({0.0, -0.0, 1e-45, -1e-39, 1e-30, 1e-12, 1.0, -1.0, 0.5, -0.9, 0.999, 1.05});
}

inline Fill log_of(Fill factors) {
  return [=](Random& random, const Index& at) { return std::log(std::fabs(factors(random, at))); };
}

/// What a layer's gate tensor holds for these factors, where its gate function takes the tensor's
/// value as it is. In log space a sign is lost, and factor 0 is -infinity.
template <class Layer>
Fill in_space(Fill factors) {
  return std::is_same_v<typename Layer::Space, Log> ? log_of(std::move(factors))
                                                    : std::move(factors);
}

}  // namespace fills

}  // namespace gdr::test
