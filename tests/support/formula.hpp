// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Runs a layer's published per-token formula, written as loops over a matrix, and the reference,
/// on small dense tensors of double.

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <gdr/reference.hpp>

namespace gdr::test {

/// A dense tensor of up to four dimensions.
template <class Element>
struct Dense {
  int shape[4];
  std::vector<Element> values;

  explicit Dense(int a, int b = 1, int c = 1, int d = 1)
      : shape{a, b, c, d}, values(static_cast<std::size_t>(a) * b * c * d) {}
  std::size_t at(int i, int j, int k, int l) const {
    return ((static_cast<std::size_t>(i) * shape[1] + j) * shape[2] + k) * shape[3] + l;
  }
  Element& operator()(int i, int j = 0, int k = 0, int l = 0) { return values[at(i, j, k, l)]; }
  double operator()(int i, int j = 0, int k = 0, int l = 0) const { return values[at(i, j, k, l)]; }
  const Element* data() const { return values.data(); }

  /// f(b, t, h, c) into each element.
  template <class F>
  Dense& fill(const F& f) {
    for (std::size_t n = 0; n < values.size(); ++n) {
      const int row = static_cast<int>(n) / shape[3], plane = row / shape[2];
      values[n] = static_cast<Element>(
          f(plane / shape[1], plane % shape[1], row % shape[2], static_cast<int>(n) % shape[3]));
    }
    return *this;
  }
};

/// x / sqrt(sum x^2 + eps), row by row.
inline Dense<double> l2norm(Dense<double> x, double eps) {
  const int width = x.shape[3];
  for (std::size_t row = 0; row < x.values.size(); row += static_cast<std::size_t>(width)) {
    double square = eps;
    for (int i = 0; i < width; ++i) square += x.values[row + i] * x.values[row + i];
    for (int i = 0; i < width; ++i) x.values[row + i] /= std::sqrt(square);
  }
  return x;
}

/// Inputs, the same on every run.
class Random {
 public:
  template <class Element = double>
  Dense<Element> normal(int a, int b = 1, int c = 1, int d = 1) {
    return Dense<Element>(a, b, c, d).fill([this](int, int, int, int) { return draw_(random_); });
  }
  Dense<double> unit(int a, int b, int c, int d) { return l2norm(normal(a, b, c, d), 0); }

 private:
  std::mt19937_64 random_{20261130};
  std::normal_distribution<> draw_;
};

struct Result {
  std::vector<double> o;      // [B, T, H, V]
  std::vector<double> state;  // [B, H, rows, columns]
};

/// One head's state, in the formula's orientation.
struct Matrix {
  int rows, columns;
  std::vector<double> data;

  double& operator()(int i, int j) { return data[static_cast<std::size_t>(i) * columns + j]; }
  double operator()(int i, int j) const { return data[static_cast<std::size_t>(i) * columns + j]; }
};

/// step(S, b, t, h, o) takes S over token t and adds to o [V], for v [B, T, H, V]. `states` [B, H,
/// rows, columns] are where it starts.
template <class Step>
Result formula(const Dense<double>& states, const Dense<double>& v, const Step& step) {
  const int batch = v.shape[0], seq_len = v.shape[1], heads = v.shape[2];
  const int rows = states.shape[2], columns = states.shape[3];
  Result result;
  result.o.resize(v.values.size());
  for (int b = 0; b < batch; ++b) {
    for (int h = 0; h < heads; ++h) {
      const auto from = states.values.begin() + static_cast<std::ptrdiff_t>(states.at(b, h, 0, 0));
      Matrix S{rows, columns, {from, from + rows * columns}};
      for (int t = 0; t < seq_len; ++t) step(S, b, t, h, &result.o[v.at(b, t, h, 0)]);
      result.state.insert(result.state.end(), S.data.begin(), S.data.end());
    }
  }
  return result;
}

/// Arguments of contiguous q, k and v.
template <class Layer>
ForwardArgs<Layer> arguments(const Dense<double>& q, const Dense<double>& k,
                             const Dense<double>& v) {
  ForwardArgs<Layer> args;
  args.shape.batch = v.shape[0];
  args.shape.seq_len = v.shape[1];
  args.shape.heads = v.shape[2];
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  return args;
}

/// The reference; the final state in the layout asked for.
template <class Layer>
Result run(ForwardArgs<Layer> args, StateLayout layout = StateLayout::kv) {
  const Shape shape = resolve(args).shape;
  const auto heads = static_cast<std::size_t>(shape.batch * shape.heads);
  Result result;
  result.o.resize(heads * static_cast<std::size_t>(shape.seq_len * shape.value_dim));
  result.state.resize(heads * static_cast<std::size_t>(shape.key_dim * shape.value_dim));
  args.o = result.o.data();
  args.final_state = {result.state.data(), layout};
  reference::store(args, reference::forward(args));
  return result;
}

/// In 2-norms, relative, row by row.
inline void expect_rows(const std::vector<double>& actual, const std::vector<double>& expected,
                        int width, double bound) {
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_FALSE(expected.empty());
  for (std::size_t row = 0; row < expected.size(); row += static_cast<std::size_t>(width)) {
    double difference = 0, size = 0;
    for (int j = 0; j < width; ++j) {
      difference += std::pow(actual[row + j] - expected[row + j], 2);
      size += std::pow(expected[row + j], 2);
    }
    ASSERT_LE(std::sqrt(difference), bound * std::sqrt(size)) << "row " << row / width;
  }
}

inline void expect_same(const Result& actual, const Result& expected, int values, int columns,
                        double bound) {
  expect_rows(actual.o, expected.o, values, bound);
  expect_rows(actual.state, expected.state, columns, bound);
}

}  // namespace gdr::test
