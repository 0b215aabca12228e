// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// How the reference finds its numbers: grouped heads, strides, element types, and what store()
// writes. Each is compared with the plain problem it stands for.

#include <gdr/reference.hpp>

#include "support/reference_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using gdr::bfloat16;
using gdr::DeltaRule;
using gdr::float16;
using gdr::HeadDims;
using gdr::ValueGate;
using gdr::reference::Output;
using gdr::test::expect_same;
using gdr::test::guard;
using gdr::test::K;
using gdr::test::Numbers;
using gdr::test::random_numbers;
using gdr::test::ReferenceProblem;
using gdr::test::rounded;
using gdr::test::V;
using gdr::test::widened;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// --- Heads and strides ---

TEST(ReferenceHeads, ValueHeadReadsItsGroupsKeyHead) {
  ReferenceProblem<double> grouped(2, 4, 2, 6);
  const Output result = gdr::reference::forward(grouped.args);

  Numbers q, k;  // [B, T, Hv, K]
  for (int64_t row = 0; row < 2 * 4; ++row)
    for (int64_t head = 0; head < 6; ++head)
      for (int i = 0; i < K; ++i) {
        const auto at = static_cast<size_t>((row * 2 + head / 3) * K + i);
        q.push_back(grouped.q[at]);
        k.push_back(grouped.k[at]);
      }
  grouped.args.q = q.data();
  grouped.args.k = k.data();
  grouped.args.shape.key_heads = 0;  // as many as value heads
  expect_same(result, gdr::reference::forward(grouped.args));
}

/// Spreads a contiguous [B, T, H, C] tensor over `memory`.
Numbers scattered(const Numbers& x, const int64_t (&extents)[4], gdr::Strides s, int64_t origin,
                  size_t memory_size) {
  Numbers memory(memory_size, nan);
  size_t next = 0;
  for (int64_t b = 0; b < extents[0]; ++b)
    for (int64_t t = 0; t < extents[1]; ++t)
      for (int64_t h = 0; h < extents[2]; ++h)
        for (int64_t c = 0; c < extents[3]; ++c)
          memory[static_cast<size_t>(origin + b * s.batch + t * s.time + h * s.head + c)] =
              x[next++];
  return memory;
}

TEST(ReferenceStrides, EveryTensorHasItsOwn) {
  ReferenceProblem<double> plain(2, 3, 2, 2);
  const Output expected = gdr::reference::forward(plain.args);

  auto args = plain.args;
  const auto place = [&](auto& view, const Numbers& x, int64_t channels, gdr::Strides s,
                         int64_t origin, Numbers& memory) {
    memory = scattered(x, {2, 3, 2, channels}, s, origin, 500);
    view =
        gdr::strided(static_cast<const double*>(memory.data()) + origin, s.batch, s.time, s.head);
  };
  Numbers memory[5];
  place(args.q, plain.q, K, {100, 20, 7}, 3, memory[0]);
  place(args.k, plain.k, K, {10, 40, 5}, 0, memory[1]);      // time outermost
  place(args.v, plain.v, V, {200, -30, 6}, 100, memory[2]);  // time backwards
  place(args.gate, plain.gate, V, {-50, 10, 5}, 50, memory[3]);
  place(args.beta, plain.beta, 1, {60, 9, 4}, 2, memory[4]);
  expect_same(gdr::reference::forward(args), expected);
}

TEST(ReferenceStrides, ZeroRepeats) {
  ReferenceProblem<double> plain(2, 3, 1, 2);
  auto args = plain.args;
  args.gate = gdr::strided(static_cast<const double*>(plain.gate.data()), 0, 0, V);
  args.k = gdr::strided(static_cast<const double*>(plain.k.data()), 3 * K, 0, 0);
  const Output result = gdr::reference::forward(args);

  Numbers gate, k;
  for (int row = 0; row < 2 * 3; ++row) {
    gate.insert(gate.end(), plain.gate.begin(), plain.gate.begin() + 2 * V);
    const int64_t first = row / 3 * 3 * K;
    k.insert(k.end(), plain.k.begin() + first, plain.k.begin() + first + K);
  }
  plain.args.gate = gate.data();
  plain.args.k = k.data();
  expect_same(result, gdr::reference::forward(plain.args));
}

TEST(ReferenceStrides, SlicesOfOneTensor) {
  // [B, T, 3, H, D] with D = K = V.
  constexpr int B = 2, T = 4, H = 2, D = 4;
  const Numbers together = random_numbers(B * T * 3 * H * D, 9);
  using L = gdr::Recurrence<gdr::HeadDim<D>, double, gdr::NoGate>;
  gdr::ForwardArgs<L> sliced, apart;
  Numbers part[3];
  for (int p = 0; p < 3; ++p)
    for (int row = 0; row < B * T; ++row)
      for (int c = 0; c < H * D; ++c)
        part[p].push_back(together[static_cast<size_t>((row * 3 + p) * H * D + c)]);
  for (auto* args : {&sliced, &apart}) {
    args->shape.batch = B;
    args->shape.seq_len = T;
    args->shape.heads = H;
  }
  const auto view = [&](int p) {
    return gdr::strided(together.data() + p * H * D, T * 3 * H * D, 3 * H * D, D);
  };
  sliced.q = view(0);
  sliced.k = view(1);
  sliced.v = view(2);
  apart.q = part[0].data();
  apart.k = part[1].data();
  apart.v = part[2].data();
  expect_same(gdr::reference::forward(sliced), gdr::reference::forward(apart));
}

TEST(ReferenceStrides, HeadGateHasNoChannels) {
  using L = gdr::Recurrence<HeadDims<K, V>, double, gdr::HeadGate<>>;
  ReferenceProblem<double> plain(2, 3, 2, 2);
  const Numbers gate = random_numbers(2 * 3 * 2, 6);
  gdr::ForwardArgs<L> args;
  args.shape = plain.args.shape;
  args.q = plain.args.q;
  args.k = plain.args.k;
  args.v = plain.args.v;
  args.gate = gate.data();
  const Output expected = gdr::reference::forward(args);
  const Numbers memory = scattered(gate, {2, 3, 2, 1}, {30, 8, 3}, 0, 100);
  args.gate = gdr::strided(memory.data(), 30, 8, 3);
  expect_same(gdr::reference::forward(args), expected);
}

TEST(ReferenceShape, SmallerThanTheTypesExtents) {
  ReferenceProblem<double> plain(2, 3, 1, 2);
  gdr::ForwardArgs<gdr::Recurrence<HeadDims<16, 8>, double, ValueGate<>, DeltaRule<>>> args;
  args.shape = plain.args.shape;
  args.shape.key_dim = K;
  args.shape.value_dim = V;
  args.q = plain.args.q;
  args.k = plain.args.k;
  args.v = plain.args.v;
  args.gate = plain.args.gate;
  args.beta = plain.args.beta;
  expect_same(gdr::reference::forward(args), gdr::reference::forward(plain.args));
}

// --- Element types ---

template <class T, class GateElement>
void expect_reads_type(bool float_beta) {
  ReferenceProblem<T, GateElement> problem(2, 3, 1, 2);
  ReferenceProblem<double> wide(2, 3, 1, 2);
  const Numbers q = widened(problem.q), k = widened(problem.k), v = widened(problem.v);
  const Numbers gate = widened(problem.gate);
  const std::vector<float> beta32 = rounded<float>(wide.beta);
  const Numbers beta = float_beta ? widened(beta32) : widened(problem.beta);
  if (float_beta) problem.args.beta = beta32.data();
  wide.args.q = q.data();
  wide.args.k = k.data();
  wide.args.v = v.data();
  wide.args.gate = gate.data();
  wide.args.beta = beta.data();
  expect_same(gdr::reference::forward(problem.args), gdr::reference::forward(wide.args));
}

TEST(ReferenceTypes, EveryElementGateAndBetaType) {
  for (const bool float_beta : {false, true}) {
    expect_reads_type<float, float>(float_beta);
    expect_reads_type<float16, float16>(float_beta);
    expect_reads_type<float16, float>(float_beta);
    expect_reads_type<bfloat16, bfloat16>(float_beta);
    expect_reads_type<bfloat16, float>(float_beta);
    expect_reads_type<double, float>(float_beta);
  }
}

template <class T>
void expect_stores_type() {
  ReferenceProblem<T> problem(2, 3, 1, 2);
  const Output result = gdr::reference::forward(problem.args);
  gdr::reference::store(problem.args, result);
  EXPECT_EQ(widened(problem.o), widened(rounded<T>(result.o)));
}

TEST(ReferenceTypes, StoreRounds) {
  expect_stores_type<float>();
  expect_stores_type<double>();
  expect_stores_type<float16>();
  expect_stores_type<bfloat16>();
}

TEST(ReferenceStore, StridedOutputLeavesGapsAlone) {
  ReferenceProblem<double> problem(2, 3, 1, 2);
  const Output result = gdr::reference::forward(problem.args);
  const gdr::Strides s{70, 20, 8};
  Numbers memory(200, guard);
  problem.args.o = gdr::strided(memory.data() + 4, s.batch, s.time, s.head);
  gdr::reference::store(problem.args, result);

  Numbers expected = scattered(result.o, {2, 3, 2, V}, s, 4, 200);
  for (double& x : expected)
    if (std::isnan(x)) x = guard;
  EXPECT_EQ(memory, expected);
}

TEST(ReferenceStore, NullOutputsAreNotStored) {
  ReferenceProblem<double> problem(2, 3, 1, 2);
  const Output expected = gdr::reference::forward(problem.args);
  problem.args.o = {};
  const Output result = gdr::reference::forward(problem.args);
  expect_same(result, expected);
  gdr::reference::store(problem.args, result);
  EXPECT_EQ(problem.o, Numbers(problem.o.size(), guard));

  Numbers state(result.final_state.size());
  problem.args.final_state = state.data();
  gdr::reference::store(problem.args, result);
  EXPECT_EQ(state, expected.final_state);
}

TEST(ReferenceForward, WritesNothing) {
  ReferenceProblem<double> problem(2, 3, 1, 2);
  Numbers state(2 * 2 * K * V, guard);
  problem.args.final_state = state.data();
  (void)gdr::reference::forward(problem.args);
  EXPECT_EQ(problem.o, Numbers(problem.o.size(), guard));
  EXPECT_EQ(state, Numbers(state.size(), guard));
}

}  // namespace
