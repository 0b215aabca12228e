// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Lengths, states and state pools of the reference, and what store() writes of them.

#include <gdr/reference.hpp>

#include "support/reference_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using gdr::bfloat16;
using gdr::StateLayout;
using gdr::reference::from_double;
using gdr::reference::Output;
using gdr::test::expect_same;
using gdr::test::guard;
using gdr::test::K;
using gdr::test::Numbers;
using gdr::test::random_numbers;
using gdr::test::ReferenceProblem;
using gdr::test::rounded;
using gdr::test::slice;
using gdr::test::V;
using gdr::test::widened;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// --- Lengths ---

/// The tokens [begin, end) of a problem with B = 1, alone.
Output run_alone(ReferenceProblem<double>& problem, int64_t begin, int64_t end,
                 const double* initial) {
  auto args = problem.args;
  args.cu_seqlens = {};
  args.initial_state = initial;
  args.shape.seq_len = end - begin;
  args.q = problem.q.data() + begin * problem.key_heads * K;
  args.k = problem.k.data() + begin * problem.key_heads * K;
  args.v = problem.v.data() + begin * problem.heads * V;
  args.gate = problem.gate.data() + begin * problem.heads * V;
  args.beta = problem.beta.data() + begin * problem.heads;
  return gdr::reference::forward(args);
}

template <class Int>
void expect_sequences(const std::vector<Int>& offsets, int64_t tokens) {
  constexpr int Hv = 2;
  ReferenceProblem<double> problem(1, tokens, 1, Hv);
  const auto sequences = static_cast<int64_t>(offsets.size()) - 1;
  const Numbers initial = random_numbers(sequences * Hv * K * V, 6);
  // What lies behind the last sequence is never read.
  std::fill(problem.v.begin() + offsets.back() * Hv * V, problem.v.end(), nan);
  problem.args.cu_seqlens = {offsets.data(), sequences};
  problem.args.initial_state = initial.data();
  const Output result = gdr::reference::forward(problem.args);
  ASSERT_EQ(static_cast<int64_t>(result.o.size()), tokens * Hv * V);
  ASSERT_EQ(static_cast<int64_t>(result.final_state.size()), sequences * Hv * K * V);

  for (int64_t n = 0; n < sequences; ++n) {
    const int64_t begin = offsets[static_cast<size_t>(n)],
                  end = offsets[static_cast<size_t>(n) + 1];
    const Output alone = run_alone(problem, begin, end, initial.data() + n * Hv * K * V);
    EXPECT_EQ(slice(result.o, begin * Hv * V, (end - begin) * Hv * V), alone.o) << n;
    EXPECT_EQ(slice(result.final_state, n * Hv * K * V, Hv * K * V), alone.final_state) << n;
    if (begin == end) {
      EXPECT_EQ(alone.final_state, slice(initial, n * Hv * K * V, Hv * K * V)) << n;
    }
  }
  const int64_t rest = (tokens - offsets.back()) * Hv * V;
  EXPECT_EQ(slice(result.o, offsets.back() * Hv * V, rest), Numbers(static_cast<size_t>(rest), 0));

  gdr::reference::store(problem.args, result);
  EXPECT_EQ(slice(problem.o, 0, offsets.back() * Hv * V),
            slice(result.o, 0, offsets.back() * Hv * V));
  EXPECT_EQ(slice(problem.o, offsets.back() * Hv * V, rest),
            Numbers(static_cast<size_t>(rest), guard));
}

TEST(ReferenceLengths, CuSeqlens) {
  const std::vector<std::vector<int64_t>> lists{
      {0, 5, 5, 9}, {0, 0, 0}, {0, 0, 9}, {0, 9}, {0, 4, 8, 8}, {0}, {0, 1, 2, 9}, {0, 0, 3, 3, 7}};
  for (const auto& list : lists) {
    expect_sequences(list, 9);
    expect_sequences(std::vector<int32_t>(list.begin(), list.end()), 9);
  }
  expect_sequences(std::vector<int32_t>{0, 0}, 0);
}

TEST(ReferenceLengths, NanInOneSequenceReachesNoOther) {
  ReferenceProblem<double> problem(1, 10, 1, 1);
  std::fill(problem.v.begin() + 5 * V, problem.v.end(), nan);
  const int32_t offsets[]{0, 5, 10};
  problem.args.cu_seqlens = {offsets, 2};
  const Output result = gdr::reference::forward(problem.args);
  for (int64_t i = 0; i < 5 * V; ++i) EXPECT_TRUE(std::isfinite(result.o[static_cast<size_t>(i)]));
  for (int i = 0; i < K * V; ++i) {
    EXPECT_TRUE(std::isfinite(result.final_state[static_cast<size_t>(i)]));
    EXPECT_TRUE(std::isnan(result.final_state[static_cast<size_t>(K * V + i)]));
  }
}

TEST(ReferenceLengths, SplitAnywhereWithTheStateCarried) {
  ReferenceProblem<double> problem(1, 7, 1, 2);
  const Output whole = gdr::reference::forward(problem.args);
  for (int64_t cut = 0; cut <= 7; ++cut) {
    const Output first = run_alone(problem, 0, cut, nullptr);
    const Output second = run_alone(problem, cut, 7, first.final_state.data());
    Numbers o = first.o;
    o.insert(o.end(), second.o.begin(), second.o.end());
    EXPECT_EQ(o, whole.o) << cut;
    EXPECT_EQ(second.final_state, whole.final_state) << cut;
  }
}

TEST(ReferenceLengths, SizesOfZero) {
  const Numbers initial = random_numbers(2 * 2 * K * V, 6);
  ReferenceProblem<double> no_tokens(2, 0, 1, 2);
  const Output zero_start = gdr::reference::forward(no_tokens.args);
  EXPECT_TRUE(zero_start.o.empty());
  EXPECT_EQ(zero_start.final_state, Numbers(initial.size(), 0));
  no_tokens.args.initial_state = initial.data();
  EXPECT_EQ(gdr::reference::forward(no_tokens.args).final_state, initial);

  for (const int64_t heads : {0, 2}) {
    ReferenceProblem<double> empty(heads == 0 ? 2 : 0, 3, heads, heads);
    const Output result = gdr::reference::forward(empty.args);
    EXPECT_TRUE(result.o.empty());
    EXPECT_TRUE(result.final_state.empty());
    gdr::reference::store(empty.args, result);
  }
}

// --- States ---

constexpr int N = 2, Hv = 2;

/// The state [N, Hv, K, V] in another layout, type and with other strides.
template <class T>
std::vector<T> laid_out(const Numbers& state, StateLayout layout, int64_t sequence, int64_t head,
                        int64_t row, T fill) {
  std::vector<T> memory(200, fill);
  size_t next = 0;
  for (int n = 0; n < N; ++n)
    for (int h = 0; h < Hv; ++h)
      for (int i = 0; i < K; ++i)
        for (int j = 0; j < V; ++j)
          memory[static_cast<size_t>(n * sequence + h * head +
                                     (layout == StateLayout::kv ? i * row + j : j * row + i))] =
              from_double<T>(state[next++]);
  return memory;
}

template <class T>
void expect_states(StateLayout layout, bool contiguous) {
  const int64_t row = contiguous ? (layout == StateLayout::kv ? V : K) : 8;
  const int64_t head = contiguous ? K * V : 45;
  const int64_t sequence = contiguous ? Hv * K * V : 95;
  ReferenceProblem<double> problem(N, 3, 1, Hv);
  const Numbers initial = widened(rounded<T>(random_numbers(N * Hv * K * V, 6)));
  problem.args.initial_state = initial.data();
  const Output expected = gdr::reference::forward(problem.args);

  const auto fill = from_double<T>(guard);
  std::vector<T> memory = laid_out<T>(initial, layout, sequence, head, row, fill);
  const T* read = memory.data();
  problem.args.initial_state = {read, layout};
  problem.args.final_state = {memory.data(), layout};  // in place
  if (!contiguous) {
    problem.args.initial_state = gdr::strided_state(read, sequence, head, row, layout);
    problem.args.final_state = gdr::strided_state(memory.data(), sequence, head, row, layout);
  }
  const Output result = gdr::reference::forward(problem.args);
  expect_same(result, expected);
  gdr::reference::store(problem.args, result);
  const auto stored = laid_out<T>(expected.final_state, layout, sequence, head, row, fill);
  EXPECT_EQ(widened(memory), widened(stored));
}

TEST(ReferenceStates, EveryTypeLayoutAndStride) {
  for (const StateLayout layout : {StateLayout::kv, StateLayout::vk})
    for (const bool contiguous : {true, false}) {
      expect_states<float>(layout, contiguous);
      expect_states<bfloat16>(layout, contiguous);
      expect_states<double>(layout, contiguous);
    }
}

TEST(ReferenceStates, OutDiffersFromIn) {
  ReferenceProblem<double> problem(N, 3, 1, Hv);
  const auto initial = rounded<float>(random_numbers(N * Hv * K * V, 6));
  std::vector<bfloat16> out(200, bfloat16{0});
  problem.args.initial_state = initial.data();
  problem.args.final_state = {out.data(), StateLayout::vk};
  const Output result = gdr::reference::forward(problem.args);
  gdr::reference::store(problem.args, result);
  const auto expected =
      laid_out(result.final_state, StateLayout::vk, Hv * K * V, K * V, K, bfloat16{0});
  EXPECT_EQ(widened(out), widened(expected));
}

// --- State pools ---

class ReferencePools : public testing::Test {
 protected:
  static constexpr int rows = 4, slots = 5;
  static constexpr int64_t state_size = int64_t{Hv} * K * V;
  static constexpr int64_t o_size = int64_t{3} * Hv * V;

  ReferencePools() : problem(rows, 3, 1, Hv), pool(random_numbers(slots * state_size, 6)) {
    problem.args.initial_state = static_cast<const double*>(pool.data());
    problem.args.final_state = pool.data();
  }

  /// Row n from a given state, all rows dense.
  Output dense(const Numbers& initial) {
    auto args = problem.args;
    args.initial_state = initial.data();
    args.final_state = {};
    args.state_in = args.state_out = nullptr;
    args.has_state = nullptr;
    return gdr::reference::forward(args);
  }
  Numbers slot(int64_t index) const { return slice(pool, index * state_size, state_size); }
  static Numbers state(const Output& output, int64_t n) {
    return slice(output.final_state, n * state_size, state_size);
  }
  static Numbers o(const Numbers& all, int64_t n) { return slice(all, n * o_size, o_size); }

  ReferenceProblem<double> problem;
  Numbers pool;  // [slots, Hv, K, V]
};

TEST_F(ReferencePools, PaddingRows) {
  const int32_t indices[]{3, -1, 0, -1};
  const Numbers before = pool;
  Numbers initial = slot(3);
  for (const Numbers& next : {Numbers(state_size, 0), slot(0), Numbers(state_size, 0)})
    initial.insert(initial.end(), next.begin(), next.end());
  const Output expected = dense(initial);

  problem.args.state_in = problem.args.state_out = indices;
  std::fill(problem.v.begin() + o_size, problem.v.begin() + 2 * o_size, nan);  // not read
  const Output result = gdr::reference::forward(problem.args);
  gdr::reference::store(problem.args, result);
  for (const int64_t n : {0, 2}) {
    EXPECT_EQ(state(result, n), state(expected, n));
    EXPECT_EQ(slot(indices[n]), state(expected, n));
    EXPECT_EQ(o(problem.o, n), o(expected.o, n));
  }
  for (const int64_t n : {1, 3}) EXPECT_EQ(o(problem.o, n), Numbers(o_size, 0));
  for (const int64_t s : {1, 2, 4})
    EXPECT_EQ(slot(s), slice(before, s * state_size, state_size)) << s;
}

TEST_F(ReferencePools, InAndOutApart) {
  const int32_t in[]{4, 1, -1, 0}, out[]{2, -1, 0, 3};
  const Numbers before = pool;
  Numbers initial = slot(4);
  for (const Numbers& next : {slot(1), Numbers(state_size, 0), slot(0)})
    initial.insert(initial.end(), next.begin(), next.end());
  const Output expected = dense(initial);

  problem.args.state_in = in;
  problem.args.state_out = out;
  const Output result = gdr::reference::forward(problem.args);
  expect_same(result, expected);
  gdr::reference::store(problem.args, result);
  for (const int64_t n : {0, 2, 3}) EXPECT_EQ(slot(out[n]), state(expected, n)) << n;
  for (const int64_t s : {1, 4}) EXPECT_EQ(slot(s), slice(before, s * state_size, state_size)) << s;
  EXPECT_EQ(problem.o, expected.o);
}

TEST_F(ReferencePools, HasStateOverridesTheSlot) {
  const int32_t indices[]{3, 1, 0, 2};
  const uint8_t has_state[]{1, 0, 255, 0};
  std::fill_n(pool.begin() + 1 * state_size, state_size, nan);
  Numbers initial = slot(3);
  for (const Numbers& next : {Numbers(state_size, 0), slot(0), Numbers(state_size, 0)})
    initial.insert(initial.end(), next.begin(), next.end());
  problem.args.state_in = problem.args.state_out = indices;
  problem.args.has_state = has_state;
  expect_same(gdr::reference::forward(problem.args), dense(initial));
}

TEST_F(ReferencePools, HasStateWithoutIndices) {
  const uint8_t has_state[]{1, 0, 1, 1};
  Numbers initial = slice(pool, 0, rows * state_size);
  std::fill_n(initial.begin() + state_size, state_size, 0.0);
  problem.args.has_state = has_state;
  expect_same(gdr::reference::forward(problem.args), dense(initial));
}

TEST_F(ReferencePools, OneIndexArrayAloneMakesNoPadding) {
  const int32_t indices[]{-1, -1, 0, -1};
  const Numbers before = pool;
  const Output zeros = dense(Numbers(rows * state_size, 0));
  problem.args.state_in = indices;  // the final states go to slots 0 to 3
  const Output in = gdr::reference::forward(problem.args);
  EXPECT_EQ(state(in, 1), state(zeros, 1));
  gdr::reference::store(problem.args, in);
  for (int64_t n = 0; n < rows; ++n) EXPECT_EQ(slot(n), state(in, n)) << n;

  pool = before;
  problem.args.state_in = nullptr;
  problem.args.state_out = indices;
  const Output out = gdr::reference::forward(problem.args);
  expect_same(out, dense(slice(before, 0, rows * state_size)));
  gdr::reference::store(problem.args, out);
  EXPECT_EQ(slot(0), state(out, 2));
  EXPECT_EQ(slice(pool, state_size, 4 * state_size), slice(before, state_size, 4 * state_size));
}

// --- The observer ---

TEST(ReferenceObserver, SeesEveryTokensState) {
  ReferenceProblem<double> problem(1, 7, 1, 2);
  const int32_t offsets[]{0, 3, 3, 6};
  problem.args.cu_seqlens = {offsets, 3};
  int calls = 0;
  const Output result = gdr::reference::forward(
      problem.args, [&](int64_t sequence, int64_t time, int64_t head, const double* state) {
        ++calls;
        const int64_t begin = offsets[sequence];
        const Output prefix = run_alone(problem, begin, time + 1, nullptr);
        EXPECT_EQ(Numbers(state, state + K * V), slice(prefix.final_state, head * K * V, K * V))
            << "sequence " << sequence << " token " << time << " head " << head;
      });
  EXPECT_EQ(calls, 6 * 2);
  expect_same(result, gdr::reference::forward(problem.args));
}

}  // namespace
