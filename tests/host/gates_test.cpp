// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The shipped gate functions against their formulas in double, over the whole range of float, and
// their derivatives against finite differences of those formulas.

#include <gdr/gates.hpp>
#include <gdr/reference.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using gdr::LogSigmoid;
using gdr::OneMinus;
using gdr::Sigmoid;
using gdr::SoftplusDecay;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max();

/// Raw values: every 2^16th float of both signs from denormal to the largest, and a fine grid where
/// the functions bend.
std::vector<float> raw_values() {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += 0x10000u) {
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    values.push_back(x);
    values.push_back(-x);
  }
  values.push_back(largest);
  values.push_back(-largest);
  for (int i = -12000; i <= 12000; ++i) values.push_back(static_cast<float>(i) / 100);
  return values;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

/// Relative, but among denormals not finer than a few of their units: a factor of 12 widens one.
/// What float cannot hold is infinite.
void expect_close(float actual, double expected, double bound, float raw) {
  const double floor = 16 * static_cast<double>(std::numeric_limits<float>::denorm_min());
  if (std::fabs(expected) > static_cast<double>(largest)) {
    ASSERT_EQ(static_cast<double>(actual), std::copysign(HUGE_VAL, expected)) << "at " << raw;
    return;
  }
  ASSERT_NEAR(static_cast<double>(actual), expected, bound * std::fabs(expected) + floor)
      << "at " << raw;
}

/// Function and derivative against double formulas at every raw value, within a relative bound that
/// may depend on it.
template <class Gate, class Value, class Slope, class Bound>
void expect_formulas(const Gate& gate, const Value& value, const Slope& slope, const Bound& bound,
                     int head = 0, int channel = 0) {
  for (const float raw : raw_values()) {
    const double x = static_cast<double>(raw);
    expect_close(gate(raw, head, channel), value(x), bound(x), raw);
    expect_close(gate.derivative(raw, head, channel), slope(x), bound(x), raw);
  }
}

/// The derivative against central differences of the formula for the value.
template <class Gate, class Value>
void expect_slope(const Gate& gate, const Value& value, int head = 0, int channel = 0) {
  const double h = 1e-5;
  for (float raw = -12; raw <= 12; raw += 0.125f) {
    const double x = static_cast<double>(raw);
    const double difference = (value(x + h) - value(x - h)) / (2 * h);
    ASSERT_NEAR(static_cast<double>(gate.derivative(raw, head, channel)), difference,
                1e-6 * std::fabs(difference) + 1e-9)
        << "at " << raw;
  }
}

constexpr float temperatures[] = {1.0f, 16.0f, 0.5f, 3.0f};
double six_roundings(double) { return 3.6e-7; }

TEST(Sigmoid, Formula) {
  for (const float temperature : temperatures) {
    const double c = static_cast<double>(temperature);
    const auto logarithm = [c](double x) { return -softplus(-x) / c; };
    const auto value = [&](double x) { return std::exp(logarithm(x)); };
    const auto slope = [&](double x) { return value(x) * sigmoid(-x) / c; };
    // An exponent's rounding grows with the exponent: none of it is allowed at temperature 1.
    const auto bound = [&](double x) {
      return 3.6e-7 * (temperature == 1 ? 1 : 1 + std::fabs(logarithm(x)));
    };
    expect_formulas(Sigmoid{temperature}, value, slope, bound);
    expect_slope(Sigmoid{temperature}, value);
  }
}

TEST(LogSigmoid, Formula) {
  for (const float temperature : temperatures) {
    const double c = static_cast<double>(temperature);
    const auto value = [c](double x) { return -softplus(-x) / c; };
    const auto slope = [c](double x) { return sigmoid(-x) / c; };
    expect_formulas(LogSigmoid{temperature}, value, slope, six_roundings);
    expect_slope(LogSigmoid{temperature}, value);
  }
}

TEST(SoftplusDecay, Formula) {
  const float a_log[]{0, 2.5f, -3};
  const float per_head[]{0, 1.5f, -0.75f};
  const float per_channel[]{1, 2, 3, 4, 5, 6};  // [3, 2]
  const auto check = [&](const SoftplusDecay& gate, int head, int channel, double bias) {
    const double rate = gate.a_log == nullptr ? 1 : std::exp(static_cast<double>(a_log[head]));
    // The sum with the bias is rounded to float before anything else happens.
    const auto sum = [bias](double x) { return static_cast<double>(static_cast<float>(x + bias)); };
    const auto value = [&](double x) { return -rate * softplus(x + bias); };
    expect_formulas(
        gate, [&](double x) { return -rate * softplus(sum(x)); },
        [&](double x) { return -rate * sigmoid(sum(x)); }, six_roundings, head, channel);
    expect_slope(gate, value, head, channel);
  };
  for (int head = 0; head < 3; ++head) {
    check({}, head, 1, 0);
    check({a_log, nullptr}, head, 1, 0);
    check({nullptr, per_head}, head, 1, static_cast<double>(per_head[head]));
    check({a_log, per_head}, head, 1, static_cast<double>(per_head[head]));
    for (int channel = 0; channel < 2; ++channel)
      check({a_log, per_channel, 2}, head, channel,
            static_cast<double>(per_channel[head * 2 + channel]));
  }
}

TEST(OneMinus, Formula) {
  const auto value = [](double x) { return 1 - x; };
  expect_formulas(
      OneMinus{}, value, [](double) { return -1.0; }, six_roundings);
  expect_slope(OneMinus{}, value);
}

// What the function is for: the gate 0.999 through bfloat16.
TEST(OneMinus, LetsBfloat16ComeCloseToOne) {
  using gdr::bfloat16;
  using gdr::reference::from_double;
  using gdr::reference::to_double;
  EXPECT_EQ(to_double(from_double<bfloat16>(0.999)), 1);
  const auto raw = static_cast<float>(to_double(from_double<bfloat16>(0.001)));
  EXPECT_NEAR(static_cast<double>(OneMinus{}(raw, 0, 0)), 0.999, 2e-6);
}

TEST(Gates, EndsOfTheRange) {
  for (const float c : {1.0f, 16.0f}) {
    EXPECT_EQ((Sigmoid{c}(inf, 0, 0)), 1);
    EXPECT_EQ((Sigmoid{c}(-inf, 0, 0)), 0);
    EXPECT_EQ((Sigmoid{c}.derivative(inf, 0, 0)), 0);
    EXPECT_EQ((Sigmoid{c}.derivative(-inf, 0, 0)), 0);
    EXPECT_EQ((LogSigmoid{c}(inf, 0, 0)), 0);
    EXPECT_EQ((LogSigmoid{c}(-inf, 0, 0)), -inf);
    EXPECT_EQ((LogSigmoid{c}.derivative(inf, 0, 0)), 0);
    EXPECT_EQ((LogSigmoid{c}.derivative(-inf, 0, 0)), 1 / c);
  }
  EXPECT_EQ(SoftplusDecay{}(inf, 0, 0), -inf);
  EXPECT_EQ(SoftplusDecay{}(-inf, 0, 0), 0);
  EXPECT_EQ(SoftplusDecay{}.derivative(inf, 0, 0), -1);
  EXPECT_EQ(SoftplusDecay{}.derivative(-inf, 0, 0), 0);
  EXPECT_EQ(OneMinus{}(inf, 0, 0), -inf);
  // Neither the root of an underflowed sigmoid is lost nor a log gate cut off.
  EXPECT_NEAR(static_cast<double>(Sigmoid{16}(-200, 0, 0)), std::exp(-12.5), 1e-11);
  EXPECT_EQ(LogSigmoid{}(-largest, 0, 0), -largest);
  EXPECT_EQ(SoftplusDecay{}(largest, 0, 0), -largest);
}

template <class Gate>
void expect_finite_and_nan() {
  for (const float raw : raw_values()) {
    ASSERT_TRUE(std::isfinite(Gate{}(raw, 0, 0))) << raw;
    ASSERT_TRUE(std::isfinite(Gate{}.derivative(raw, 0, 0))) << raw;
  }
  EXPECT_TRUE(std::isnan(Gate{}(nan_f, 0, 0)));
}

TEST(Gates, FiniteForFiniteAndNanForNan) {
  expect_finite_and_nan<Sigmoid>();
  expect_finite_and_nan<LogSigmoid>();
  expect_finite_and_nan<SoftplusDecay>();
  expect_finite_and_nan<OneMinus>();
  EXPECT_TRUE(std::isnan(Sigmoid{16}(nan_f, 0, 0)));
  EXPECT_TRUE(std::isnan(Sigmoid{16}.derivative(nan_f, 0, 0)));
  EXPECT_TRUE(std::isnan(LogSigmoid{}.derivative(nan_f, 0, 0)));
  EXPECT_TRUE(std::isnan(SoftplusDecay{}.derivative(nan_f, 0, 0)));
}

TEST(Gates, Spaces) {
  EXPECT_TRUE((std::is_same<Sigmoid::Space, gdr::Linear>::value));
  EXPECT_TRUE((std::is_same<LogSigmoid::Space, gdr::Log>::value));
  EXPECT_TRUE((std::is_same<SoftplusDecay::Space, gdr::Log>::value));
  EXPECT_TRUE((std::is_same<OneMinus::Space, gdr::Linear>::value));
}

// The example in gates.hpp.
struct Clamped {
  using Space = gdr::Linear;
  float floor = 0.5f;
  GDR_HOST_DEVICE float operator()(float raw, int, int) const { return fmaxf(raw, floor); }
  GDR_HOST_DEVICE float derivative(float raw, int, int) const { return raw > floor; }
};

TEST(Gates, OnesOwn) {
  using Layer = gdr::Recurrence<gdr::HeadDim<1>, float, gdr::ValueGate<Clamped>>;
  const float ones[]{1, 1}, gate[]{0.75f, 0.75f};
  gdr::ForwardArgs<Layer> args;
  args.shape.batch = args.shape.heads = 1;
  args.shape.seq_len = 2;
  args.q = args.k = args.v = ones;
  args.gate = gate;
  EXPECT_EQ(gdr::reference::forward(args).o[1], 1.75);
  args.gate_function = {0.875f};
  EXPECT_EQ(gdr::reference::forward(args).o[1], 1.875);
}

// In a layer: a logit of 0 halves the state, in either space, and beta may be a sigmoid.
template <class Gate>
double decayed_state(float raw) {
  using Layer =
      gdr::Recurrence<gdr::HeadDim<1>, float, gdr::HeadGate<Gate>, gdr::DeltaRule<Sigmoid>>;
  const float q = 1, k = 1, v = 4, beta = 0, state = 2;
  gdr::ForwardArgs<Layer> args;
  args.shape.batch = args.shape.seq_len = args.shape.heads = 1;
  args.q = &q;
  args.k = &k;
  args.v = &v;
  args.gate = &raw;
  args.beta = &beta;
  args.initial_state = &state;
  return gdr::reference::forward(args).final_state[0];
}

TEST(Gates, InALayer) {
  // S = 1 after the decay, then 1 + (4 - 1) / 2.
  EXPECT_NEAR(decayed_state<Sigmoid>(0), 2.5, 1e-6);
  EXPECT_NEAR(decayed_state<LogSigmoid>(0), 2.5, 1e-6);
  EXPECT_NEAR(decayed_state<SoftplusDecay>(0), 2.5, 1e-6);
  EXPECT_NEAR(decayed_state<OneMinus>(0.5f), 2.5, 1e-6);
}

}  // namespace
