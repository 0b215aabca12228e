// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The reference's arithmetic: every rule, axis and space by numbers worked out by hand, and the
// project's two defining lines as literal loops.

#include <gdr/reference.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using gdr::DeltaRule;
using gdr::HeadDim;
using gdr::HeadGate;
using gdr::KeyGate;
using gdr::Linear;
using gdr::Log;
using gdr::NoGate;
using gdr::OuterProduct;
using gdr::ValueGate;
using Numbers = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity();

template <class Gate, class Rule = OuterProduct>
using Layer = gdr::Recurrence<HeadDim<2>, double, Gate, Rule>;

// Two tokens of one head with K = V = 2. The gate's first row acts on the zero state: any number
// there must leave no trace. The second row is what each test gives.
//
//     token 1   k (1, 2)   v (3, 4)   q (1, 1)    S = k v^T = [3 4; 6 8]
//     token 2   k (2, 1)   v (1, 5)   q (2, 1)    k v^T = [2 10; 1 5]
struct TwoTokens {
  Numbers q{1, 1, 2, 1};
  Numbers k{1, 2, 2, 1};
  Numbers v{3, 4, 1, 5};
  Numbers beta{0.5, 2};
  Numbers gate;

  template <class L>
  gdr::ForwardArgs<L> args() const {
    gdr::ForwardArgs<L> args;
    args.shape.batch = 1;
    args.shape.seq_len = 2;
    args.shape.heads = 1;
    args.q = q.data();
    args.k = k.data();
    args.v = v.data();
    if (L::Gate::axis != gdr::GateAxis::none) args.gate = gate.data();
    if (L::Rule::uses_beta) args.beta = beta.data();
    return args;
  }
};

template <class L>
gdr::reference::Output run(const Numbers& gate) {
  TwoTokens tokens;
  tokens.gate = gate;
  return gdr::reference::forward(tokens.args<L>());
}

TEST(Reference, ValueGate) {
  const auto result = run<Layer<ValueGate<>>>({7, 7, 0.5, 2});
  EXPECT_EQ(result.final_state, (Numbers{1.5 + 2, 8 + 10, 3 + 1, 16 + 5}));
  EXPECT_EQ(result.o, (Numbers{9, 12, 11, 57}));
}

TEST(Reference, KeyGate) {
  const auto result = run<Layer<KeyGate<>>>({7, 7, 0.5, 2});
  EXPECT_EQ(result.final_state, (Numbers{1.5 + 2, 2 + 10, 12 + 1, 16 + 5}));
  EXPECT_EQ(result.o, (Numbers{9, 12, 20, 45}));
}

TEST(Reference, HeadGate) {
  const auto result = run<Layer<HeadGate<>>>({7, 0.5});
  EXPECT_EQ(result.final_state, (Numbers{1.5 + 2, 2 + 10, 3 + 1, 4 + 5}));
  EXPECT_EQ(result.o, (Numbers{9, 12, 11, 33}));
}

TEST(Reference, NoGate) {
  const auto result = run<Layer<NoGate>>({});
  EXPECT_EQ(result.final_state, (Numbers{3 + 2, 4 + 10, 6 + 1, 8 + 5}));
  EXPECT_EQ(result.o, (Numbers{9, 12, 17, 41}));
}

// Token 1 writes u = 0.5 v: S = [1.5 2; 3 4]. Token 2 sees the decayed state.
TEST(Reference, DeltaRuleWithValueGate) {
  // S [0.75 4; 1.5 8], S^T k = (3, 16), u = 2 ((1, 5) - (3, 16)) = (-4, -22)
  const auto result = run<Layer<ValueGate<>, DeltaRule<>>>({7, 7, 0.5, 2});
  EXPECT_EQ(result.final_state, (Numbers{0.75 - 8, 4 - 44, 1.5 - 4, 8 - 22}));
  EXPECT_EQ(result.o, (Numbers{4.5, 6, -17, -94}));
}

TEST(Reference, DeltaRuleWithKeyGate) {
  // S [0.75 1; 6 8], S^T k = (7.5, 10), u = 2 ((1, 5) - (7.5, 10)) = (-13, -10)
  const auto result = run<Layer<KeyGate<>, DeltaRule<>>>({7, 7, 0.5, 2});
  EXPECT_EQ(result.final_state, (Numbers{0.75 - 26, 1 - 20, 6 - 13, 8 - 10}));
  EXPECT_EQ(result.o, (Numbers{4.5, 6, -57.5, -40}));
}

TEST(Reference, DeltaRuleWithHeadGate) {
  // S [0.75 1; 1.5 2], S^T k = (3, 4), u = 2 ((1, 5) - (3, 4)) = (-4, 2)
  const auto result = run<Layer<HeadGate<>, DeltaRule<>>>({7, 0.5});
  EXPECT_EQ(result.final_state, (Numbers{0.75 - 8, 1 + 4, 1.5 - 4, 2 + 2}));
  EXPECT_EQ(result.o, (Numbers{4.5, 6, -17, 14}));
}

TEST(Reference, DeltaRuleWithoutGate) {
  // S [1.5 2; 3 4], S^T k = (6, 8), u = 2 ((1, 5) - (6, 8)) = (-10, -6)
  const auto result = run<Layer<NoGate, DeltaRule<>>>({});
  EXPECT_EQ(result.final_state, (Numbers{1.5 - 20, 2 - 12, 3 - 10, 4 - 6}));
  EXPECT_EQ(result.o, (Numbers{4.5, 6, -44, -22}));
}

void expect_close(const Numbers& actual, const Numbers& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-14 * (1 + std::fabs(expected[i]))) << i;
}

TEST(Reference, LogGatesAreNaturalLogarithms) {
  const double half = std::log(0.5), two = std::log(2);
  const auto value = run<Layer<ValueGate<Log>>>({1, 1, half, two});
  expect_close(value.final_state, {3.5, 18, 4, 21});
  const auto key = run<Layer<KeyGate<Log>>>({1, 1, half, two});
  expect_close(key.final_state, {3.5, 12, 13, 21});
  const auto head = run<Layer<HeadGate<Log>>>({1, half});
  expect_close(head.final_state, {3.5, 12, 4, 9});
  const auto delta = run<Layer<KeyGate<Log>, DeltaRule<>>>({1, 1, half, two});
  expect_close(delta.o, {4.5, 6, -57.5, -40});
}

TEST(Reference, LogGateOfMinusInfinityResets) {
  const auto result = run<Layer<ValueGate<Log>>>({-inf, -inf, -inf, 0});
  EXPECT_EQ(result.final_state, (Numbers{2, 4 + 10, 1, 8 + 5}));
}

TEST(Reference, LinearGatesZeroAndNegative) {
  const auto result = run<Layer<ValueGate<>>>({0, -0.0, 0, -1});
  EXPECT_EQ(result.final_state, (Numbers{2, -4 + 10, 1, -8 + 5}));
}

TEST(Reference, ScaleMultipliesTheReadAlone) {
  TwoTokens tokens;
  tokens.gate = {7, 7, 0.5, 2};
  auto args = tokens.args<Layer<ValueGate<>, DeltaRule<>>>();
  args.scale = 0.25f;
  const auto result = gdr::reference::forward(args);
  EXPECT_EQ(result.final_state, (Numbers{-7.25, -40, -2.5, -14}));
  EXPECT_EQ(result.o, (Numbers{1.125, 1.5, -4.25, -23.5}));
}

TEST(Reference, InitialStateDecaysBeforeTheFirstWrite) {
  TwoTokens tokens;
  tokens.gate = {2, 0.5, 1, 1};
  const Numbers initial{1, 2, 3, 4};
  auto args = tokens.args<Layer<ValueGate<>>>();
  args.shape.seq_len = 1;
  args.initial_state = initial.data();
  const auto result = gdr::reference::forward(args);
  EXPECT_EQ(result.final_state, (Numbers{2 + 3, 1 + 4, 6 + 6, 2 + 8}));
  EXPECT_EQ(result.o, (Numbers{17, 15}));
}

// q (3, 4) and k (4, 3) have length 5; eps 24 makes the divisor sqrt(49) = 7.
TEST(Reference, L2NormDividesQueryAndKey) {
  const Numbers q{3, 4}, k{4, 3}, v{7, 14}, gate{1, 1};
  gdr::ForwardArgs<Layer<ValueGate<>>> args;
  args.shape.batch = args.shape.seq_len = args.shape.heads = 1;
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.gate = gate.data();
  args.qk_l2norm = true;
  args.qk_l2norm_eps = 24;
  args.scale = 0.5f;
  const auto seven = gdr::reference::forward(args);
  expect_close(seven.final_state, {4, 8, 3, 6});
  expect_close(seven.o, {12 / 7.0, 24 / 7.0});
  args.qk_l2norm_eps = 0;
  const auto five = gdr::reference::forward(args);
  expect_close(five.final_state, {5.6, 11.2, 4.2, 8.4});
  expect_close(five.o, {0.5 * (0.6 * 5.6 + 0.8 * 4.2), 0.5 * (0.6 * 11.2 + 0.8 * 8.4)});
}

TEST(Reference, L2NormReachesTheDeltaRule) {
  TwoTokens tokens, unit;
  tokens.gate = unit.gate = {7, 7, 0.5, 2};
  for (const size_t t : {0, 2}) {
    for (Numbers* x : {&unit.q, &unit.k}) {
      const double length = std::hypot((*x)[t], (*x)[t + 1]);
      (*x)[t] /= length;
      (*x)[t + 1] /= length;
    }
  }
  using L = Layer<ValueGate<>, DeltaRule<>>;
  auto args = tokens.args<L>();
  args.qk_l2norm = true;
  args.qk_l2norm_eps = 0;
  const auto result = gdr::reference::forward(args);
  const auto expected = gdr::reference::forward(unit.args<L>());
  expect_close(result.o, expected.o);
  expect_close(result.final_state, expected.final_state);
}

// --- Gate functions ---

template <class Space_>
struct Shifted {
  using Space = Space_;
  float head_step = 0;
  float channel_step = 0;
  float operator()(float raw, int head, int channel) const {
    return raw + head_step * static_cast<float>(head) + channel_step * static_cast<float>(channel);
  }
  float derivative(float, int, int) const { return 1; }
};

Numbers random_numbers(size_t count, unsigned seed, double low = -1, double high = 1) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  Numbers numbers(count);
  // Numbers of a float: a gate function takes nothing longer.
  for (double& x : numbers) x = static_cast<double>(static_cast<float>(uniform(engine)));
  return numbers;
}

// A layer with Shifted as its gate function, against the same layer without one on a tensor that
// was shifted beforehand.
template <template <class, class> class Gate, class Space>
void expect_function_applies(int channels) {
  using Dims = gdr::HeadDims<3, 4>;
  using WithFunction =
      gdr::Recurrence<Dims, double, Gate<Shifted<Space>, double>, DeltaRule<Shifted<Linear>>>;
  using Plain = gdr::Recurrence<Dims, double, Gate<Space, double>, DeltaRule<>>;
  const size_t rows = 2 * 5 * 2;
  const Numbers q = random_numbers(rows * 3, 1), k = random_numbers(rows * 3, 2);
  const Numbers v = random_numbers(rows * 4, 3), beta = random_numbers(rows, 4);
  const Numbers gate = random_numbers(rows * static_cast<size_t>(channels), 5);

  const auto fill = [&](auto& args) {
    args.shape.batch = 2;
    args.shape.seq_len = 5;
    args.shape.heads = 2;
    args.q = q.data();
    args.k = k.data();
    args.v = v.data();
    args.gate = gate.data();
    args.beta = beta.data();
  };
  gdr::ForwardArgs<WithFunction> args;
  fill(args);
  args.gate_function = {0.25f, 0.125f};
  args.beta_function = {0.5f, 1.0f};

  const auto shifted = [](Numbers x, int width, const auto& function) {
    for (size_t i = 0; i < x.size(); ++i) {
      const int at = static_cast<int>(i);
      x[i] = static_cast<double>(function(static_cast<float>(x[i]), at / width % 2, at % width));
    }
    return x;
  };
  const Numbers shifted_gate = shifted(gate, channels, args.gate_function);
  const Numbers shifted_beta = shifted(beta, 1, args.beta_function);
  gdr::ForwardArgs<Plain> plain;
  fill(plain);
  plain.gate = shifted_gate.data();
  plain.beta = shifted_beta.data();

  const auto result = gdr::reference::forward(args);
  const auto expected = gdr::reference::forward(plain);
  EXPECT_EQ(result.o, expected.o);
  EXPECT_EQ(result.final_state, expected.final_state);
}

TEST(ReferenceGateFunction, SeesHeadAndChannelOfItsAxis) {
  expect_function_applies<ValueGate, Linear>(4);
  expect_function_applies<ValueGate, Log>(4);
  expect_function_applies<KeyGate, Linear>(3);
  expect_function_applies<KeyGate, Log>(3);
  expect_function_applies<HeadGate, Linear>(1);
  expect_function_applies<HeadGate, Log>(1);
}

// A function takes a float, as in the kernels. Without one a float64 gate keeps all its bits.
TEST(ReferenceGateFunction, AloneRoundsItsArgument) {
  const double fine = 1 + std::ldexp(1, -40);
  const auto plain = run<Layer<HeadGate<>>>({7, fine});
  EXPECT_EQ(plain.final_state[0], 3 * fine + 2);
  const auto logarithm = run<Layer<HeadGate<Log>>>({7, fine});
  EXPECT_NEAR(logarithm.final_state[0], 3 * std::exp(fine) + 2, 1e-14);
  const auto rounded = run<Layer<HeadGate<Shifted<Linear>>>>({7, fine});
  EXPECT_EQ(rounded.final_state[0], 3.0 + 2);
}

// --- The default case, literally ---

//     state = g[:, t].unsqueeze(-2) * state + k[:, t].unsqueeze(-1) * v[:, t].unsqueeze(-2)
//     y[:, t] = (q[:, t].unsqueeze(-1) * state).sum(-2)
TEST(Reference, TwoLinesOfPyTorch) {
  constexpr int B = 2, T = 40, H = 3, D = 24;
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> near_one(0.9f, 1.0f);
  float q[B][T][H][D], k[B][T][H][D], v[B][T][H][D], g[B][T][H][D];
  for (auto* tensor : {&q, &k, &v})
    for (float* x = &(*tensor)[0][0][0][0]; x != &(*tensor)[0][0][0][0] + B * T * H * D; ++x)
      *x = normal(engine);
  for (float* x = &g[0][0][0][0]; x != &g[0][0][0][0] + B * T * H * D; ++x) *x = near_one(engine);

  static double state[B][H][D][D], y[B][T][H][D];
  for (int t = 0; t < T; ++t) {
    for (int b = 0; b < B; ++b)
      for (int h = 0; h < H; ++h)
        for (int i = 0; i < D; ++i)
          for (int j = 0; j < D; ++j)
            state[b][h][i][j] =
                double{g[b][t][h][j]} * state[b][h][i][j] + double{k[b][t][h][i]} * v[b][t][h][j];
    for (int b = 0; b < B; ++b)
      for (int h = 0; h < H; ++h)
        for (int i = 0; i < D; ++i)
          for (int j = 0; j < D; ++j) y[b][t][h][j] += q[b][t][h][i] * state[b][h][i][j];
  }

  gdr::ForwardArgs<gdr::Recurrence<HeadDim<D>, float>> args;
  args.shape.batch = B;
  args.shape.seq_len = T;
  args.shape.heads = H;
  args.q = &q[0][0][0][0];
  args.k = &k[0][0][0][0];
  args.v = &v[0][0][0][0];
  args.gate = &g[0][0][0][0];
  const auto result = gdr::reference::forward(args);
  const double* expected_o = &y[0][0][0][0];
  const double* expected_state = &state[0][0][0][0];
  ASSERT_EQ(result.o.size(), size_t{B * T * H * D});
  ASSERT_EQ(result.final_state.size(), size_t{B * H * D * D});
  for (size_t i = 0; i < result.o.size(); ++i) ASSERT_NEAR(result.o[i], expected_o[i], 1e-12) << i;
  for (size_t i = 0; i < result.final_state.size(); ++i)
    ASSERT_NEAR(result.final_state[i], expected_state[i], 1e-12) << i;
}

// --- Non-finite values stay where they belong ---

TEST(Reference, NanInOneValueChannelReachesNoOther) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool in_gate : {false, true}) {
    TwoTokens tokens;
    tokens.gate = {1, 1, 0.5, 2};
    (in_gate ? tokens.gate : tokens.v)[3] = nan;
    const auto result = gdr::reference::forward(tokens.args<Layer<ValueGate<>>>());
    EXPECT_EQ(result.o[0], 9);
    EXPECT_EQ(result.o[1], 12);
    EXPECT_EQ(result.o[2], 11);
    EXPECT_TRUE(std::isnan(result.o[3]));
  }
}

}  // namespace
