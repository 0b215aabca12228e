// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A small problem for the reference with its memory, shared by the tests of how it finds its
/// numbers.

#include <gdr/reference.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace gdr::test {

using Numbers = std::vector<double>;

inline constexpr int K = 3, V = 5;
inline constexpr double guard = 12345;  // what memory holds that must not be written

/// Delta rule and value gate: every kind of input is read.
template <class T, class GateElement = T>
using ReferenceLayer = Recurrence<HeadDims<K, V>, T, ValueGate<Linear, GateElement>, DeltaRule<>>;

inline Numbers random_numbers(int64_t count, unsigned seed, double low = -1) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, 1);
  Numbers numbers(static_cast<size_t>(count));
  for (double& x : numbers) x = uniform(engine);
  return numbers;
}

template <class T>
std::vector<T> rounded(const Numbers& numbers) {
  std::vector<T> elements;
  for (const double x : numbers) elements.push_back(reference::from_double<T>(x));
  return elements;
}

template <class T>
Numbers widened(const std::vector<T>& elements) {
  Numbers numbers;
  for (const T x : elements) numbers.push_back(reference::to_double(x));
  return numbers;
}

/// Elements [first, first + count) of a list.
inline Numbers slice(const Numbers& x, int64_t first, int64_t count) {
  return {x.begin() + first, x.begin() + first + count};
}

/// A contiguous problem and its memory.
template <class T, class GateElement = T>
struct ReferenceProblem {
  int64_t batch, tokens, key_heads, heads;
  std::vector<T> q, k, v, beta;
  std::vector<GateElement> gate;
  std::vector<T> o;
  ForwardArgs<ReferenceLayer<T, GateElement>> args;

  ReferenceProblem(int64_t B, int64_t T_, int64_t Hk, int64_t Hv)
      : batch(B), tokens(T_), key_heads(Hk), heads(Hv) {
    q = rounded<T>(random_numbers(B * T_ * Hk * K, 1));
    k = rounded<T>(random_numbers(B * T_ * Hk * K, 2));
    v = rounded<T>(random_numbers(B * T_ * Hv * V, 3));
    beta = rounded<T>(random_numbers(B * T_ * Hv, 4, 0));
    gate = rounded<GateElement>(random_numbers(B * T_ * Hv * V, 5, 0.5));
    o = rounded<T>(Numbers(v.size(), guard));
    args.shape.batch = B;
    args.shape.seq_len = T_;
    args.shape.heads = Hv;
    args.shape.key_heads = Hk;
    args.q = q.data();
    args.k = k.data();
    args.v = v.data();
    args.gate = gate.data();
    args.beta = beta.data();
    args.o = o.data();
  }
  ReferenceProblem(const ReferenceProblem&) = delete;
};

inline void expect_same(const reference::Output& actual, const reference::Output& expected) {
  EXPECT_EQ(actual.o, expected.o);
  EXPECT_EQ(actual.final_state, expected.final_state);
}

}  // namespace gdr::test
