// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// docs/layers.md: each layer's published per-token formula as literal loops in double, against the
// reference called as that page says. The formulas keep the papers' letters, orientation of the
// state and order of factors. And the numbers of docs/gates.md.

#include <gdr/gates.hpp>
#include <gdr/reference.hpp>

#include "support/formula.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using gdr::DeltaRule;
using gdr::ForwardArgs;
using gdr::HeadDims;
using gdr::HeadGate;
using gdr::KeyGate;
using gdr::Linear;
using gdr::Log;
using gdr::LogSigmoid;
using gdr::NoGate;
using gdr::OneMinus;
using gdr::Recurrence;
using gdr::Sigmoid;
using gdr::SoftplusDecay;
using gdr::StateLayout;
using gdr::strided;
using gdr::ValueGate;
using gdr::test::arguments;
using gdr::test::Dense;
using gdr::test::expect_rows;
using gdr::test::expect_same;
using gdr::test::formula;
using gdr::test::Matrix;
using gdr::test::Result;
using gdr::test::run;

using Element = double;
constexpr int B = 2, T = 37, K = 16, V = 12;
constexpr float scale = 0.25f;  // K^-0.5

/// Bounds: of double arithmetic, and of gate functions, which compute in float.
constexpr double exact = 1e-12;
constexpr double in_float = 1e-6;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

class Layers : public testing::Test {
 protected:
  gdr::test::Random random;
};

// --- Linear attention (Katharopoulos et al., 2020):
//     S_i = S_{i-1} + phi(k_i) v_i^T;  z_i = z_{i-1} + phi(k_i)
//     y_i = phi(q_i)^T S_i / phi(q_i)^T z_i

TEST_F(Layers, LinearAttention) {
  auto q = random.normal(B, T, 3, K), k = random.normal(B, T, 3, K), v = random.normal(B, T, 3, V);
  for (double& x : q.values) x = x > 0 ? x + 1 : std::exp(x);  // phi = elu + 1
  for (double& x : k.values) x = x > 0 ? x + 1 : std::exp(x);
  const Dense<double> zero(B, 3, K, V + 1);  // [S z]
  const auto expected = formula(zero, v, [&](Matrix& S, int b, int t, int h, double* y) {
    double divisor = 0;
    for (int i = 0; i < K; ++i) {
      for (int j = 0; j < V; ++j) S(i, j) += k(b, t, h, i) * v(b, t, h, j);
      S(i, V) += k(b, t, h, i);
      divisor += q(b, t, h, i) * S(i, V);
    }
    for (int j = 0; j < V; ++j)
      for (int i = 0; i < K; ++i) y[j] += q(b, t, h, i) * S(i, j) / divisor;
  });

  using LinearAttention = Recurrence<HeadDims<K, V>, Element, NoGate>;
  Result actual = run(arguments<LinearAttention>(q, k, v));

  using Divisor = Recurrence<HeadDims<K, 1>, Element, NoGate>;
  const Element one = 1;
  auto args = arguments<Divisor>(q, k, v);
  args.v = strided(&one, /*batch=*/0, /*time=*/0, /*head=*/0);
  const Result divisor = run(args);

  for (size_t n = 0; n < actual.o.size(); ++n) actual.o[n] /= divisor.o[n / V];
  expect_rows(actual.o, expected.o, V, exact);
  std::vector<double> sums;  // [S z]
  for (size_t row = 0; row < divisor.state.size(); ++row) {
    for (size_t j = 0; j < V; ++j) sums.push_back(actual.state[row * V + j]);
    sums.push_back(divisor.state[row]);
  }
  expect_rows(sums, expected.state, V + 1, exact);
}

// --- RetNet (Sun et al., 2023), and Lightning below:
//     S_n = gamma S_{n-1} + K_n^T V_n;  o_n = Q_n S_n;  gamma = 1 - 2^(-5 - h)

template <class Decay>
Result retention(const Dense<double>& q, const Dense<double>& k, const Dense<double>& v,
                 const Decay& decay) {
  const Dense<double> zero(B, v.shape[2], K, V);
  return formula(zero, v, [&](Matrix& S, int b, int t, int h, double* o) {
    for (int i = 0; i < K; ++i)
      for (int j = 0; j < V; ++j) {
        S(i, j) = decay(h) * S(i, j) + k(b, t, h, i) * v(b, t, h, j);
        o[j] += q(b, t, h, i) * S(i, j);
      }
  });
}

TEST_F(Layers, RetNet) {
  const auto q = random.normal(B, T, 4, K), k = random.normal(B, T, 4, K);
  const auto v = random.normal(B, T, 4, V);
  const auto decay = [](int h) { return 1 - std::pow(2.0, -5 - h); };
  const auto gamma = Dense<float>(4).fill([&](int h, int, int, int) { return decay(h); });

  using RetNet = Recurrence<HeadDims<K, V>, Element, HeadGate<Linear, float>>;
  auto args = arguments<RetNet>(q, k, v);
  args.gate = strided(gamma.data(), /*batch=*/0, /*time=*/0, /*head=*/1);
  expect_same(run(args), retention(q, k, v, decay), V, V, exact);
}

// The other direction of time: the inputs have negative strides, and o its last token first.
TEST_F(Layers, RetNetReversed) {
  auto q = random.normal(B, T, 2, K), k = random.normal(B, T, 2, K), v = random.normal(B, T, 2, V);
  const auto flipped = [](const Dense<double>& x) {
    return Dense<double>(x).fill([&](int b, int t, int h, int c) { return x(b, T - 1 - t, h, c); });
  };
  const double gamma = 0.9375;
  const auto expected = retention(flipped(q), flipped(k), flipped(v), [&](int) { return gamma; });

  auto args = arguments<Recurrence<HeadDims<K, V>, Element, HeadGate<Linear>>>(q, k, v);
  args.q = strided(&q(0, T - 1), /*batch=*/T * 2 * K, /*time=*/-2 * K, /*head=*/K);
  args.k = strided(&k(0, T - 1), T * 2 * K, -2 * K, K);
  args.v = strided(&v(0, T - 1), T * 2 * V, -2 * V, V);
  args.gate = strided(&gamma, 0, 0, 0);
  expect_same(run(args), expected, V, V, exact);
}

// --- Lightning Attention-2 (Qin et al., 2024) with TransNormerLLM's decay (Qin et al., 2023):
//     kv_t = lambda kv_{t-1} + k_t v_t^T;  o_t = q_t kv_t;  lambda = exp(-8 h / H (1 - l / L))

TEST_F(Layers, Lightning) {
  constexpr double H = 4, layer = 3, layers = 24;
  const auto q = random.normal(B, T, 4, K), k = random.normal(B, T, 4, K);
  const auto v = random.normal(B, T, 4, V);
  const auto slope = Dense<double>(4).fill(
      [](int h, int, int, int) { return -(8 / H) * (1 - layer / layers) * h; });
  const auto expected =
      retention(q, k, v, [](int h) { return std::exp(-8 * h / H * (1 - layer / layers)); });

  using Lightning = Recurrence<HeadDims<K, V>, Element, HeadGate<Log>>;
  auto args = arguments<Lightning>(q, k, v);
  args.gate = strided(slope.data(), 0, 0, 1);
  expect_same(run(args), expected, V, V, exact);
}

// --- Mamba-2 SSD (Dao and Gu, 2024), with groups of heads that share B and C; K is N, V is P:
//     h_t = exp(dt_t A) h_{t-1} + dt_t x_t B_t^T in [P, N];  y_t = h_t C_t + D x_t
//     A = -exp(A_log), dt = softplus(raw + dt_bias)

TEST_F(Layers, Mamba2) {
  constexpr int heads = 6, groups = 2;
  const auto A_log = random.normal<float>(heads), dt_bias = random.normal<float>(heads);
  const auto D = random.normal<float>(heads), raw_dt = random.normal<float>(B, T, heads);
  const auto x = random.normal(B, T, heads, V), states = random.normal(B, heads, V, K);
  const auto B_in = random.normal(B, T, groups, K), C = random.normal(B, T, groups, K);
  const auto dt = [&](int b, int t, int h) { return softplus(raw_dt(b, t, h) + dt_bias(h)); };
  const auto A = [&](int h) { return -std::exp(A_log(h)); };
  const auto expected = formula(states, x, [&](Matrix& S, int b, int t, int h, double* y) {
    const int g = h / (heads / groups);
    for (int p = 0; p < V; ++p) {
      for (int n = 0; n < K; ++n) {
        S(p, n) =
            std::exp(dt(b, t, h) * A(h)) * S(p, n) + dt(b, t, h) * x(b, t, h, p) * B_in(b, t, g, n);
        y[p] += S(p, n) * C(b, t, g, n);
      }
      y[p] += D(h) * x(b, t, h, p);
    }
  });

  // Outside: v = dt x before, and + D x after.
  const auto v = Dense<double>(x).fill(
      [&](int b, int t, int h, int p) { return dt(b, t, h) * x(b, t, h, p); });
  const auto expect_mamba2 = [&](auto args, double bound) {
    args.shape.key_heads = groups;
    args.initial_state = {states.data(), StateLayout::vk};
    Result actual = run(args, StateLayout::vk);
    for (size_t n = 0; n < actual.o.size(); ++n)
      actual.o[n] += D(static_cast<int>(n / V % heads)) * x.values[n];
    expect_same(actual, expected, V, K, bound);
  };

  const auto dt_A =
      Dense<double>(B, T, heads).fill([&](int b, int t, int h, int) { return dt(b, t, h) * A(h); });
  {
    using Ssd = Recurrence<HeadDims<K, V>, Element, HeadGate<Log>>;
    auto args = arguments<Ssd>(/*q=*/C, /*k=*/B_in, v);
    args.gate = dt_A.data();
    expect_mamba2(args, exact);
  }

  {
    using SsdOfDt = Recurrence<HeadDims<K, V>, Element, HeadGate<SoftplusDecay, float>>;
    auto args = arguments<SsdOfDt>(C, B_in, v);
    args.gate = raw_dt.data();
    args.gate_function = {A_log.data(), dt_bias.data()};
    expect_mamba2(args, in_float);
  }
}

// --- GLA (Yang et al., 2023): S_t = Diag(alpha_t) S_{t-1} + k_t^T v_t;  o_t = q_t S_t
//     alpha_t = sigmoid(x_t)^(1 / 16)

TEST_F(Layers, Gla) {
  const auto q = random.normal(B, T, 3, K), k = random.normal(B, T, 3, K);
  const auto v = random.normal(B, T, 3, V), states = random.normal(B, 3, K, V);
  const auto logit = random.normal<float>(B, T, 3, K);
  const auto alpha = Dense<double>(B, T, 3, K).fill([&](int b, int t, int h, int i) {
    return std::pow(sigmoid(logit(b, t, h, i)), 1.0 / 16);
  });
  const auto expected = formula(states, v, [&](Matrix& S, int b, int t, int h, double* o) {
    for (int i = 0; i < K; ++i)
      for (int j = 0; j < V; ++j) {
        S(i, j) = alpha(b, t, h, i) * S(i, j) + k(b, t, h, i) * v(b, t, h, j);
        o[j] += q(b, t, h, i) * S(i, j);
      }
  });

  {
    using GlaOfFactors = Recurrence<HeadDims<K, V>, Element, KeyGate<Linear>>;
    auto args = arguments<GlaOfFactors>(q, k, v);
    args.gate = alpha.data();
    args.initial_state = states.data();
    expect_same(run(args), expected, V, V, exact);
  }

  const auto log_alpha = Dense<double>(B, T, 3, K).fill([&](int b, int t, int h, int i) {
    return std::log(alpha(b, t, h, i));
  });
  {
    using Gla = Recurrence<HeadDims<K, V>, Element, KeyGate<Log>>;
    auto args = arguments<Gla>(q, k, v);
    args.gate = log_alpha.data();
    args.initial_state = states.data();
    expect_same(run(args), expected, V, V, exact);
  }

  {
    using GlaOfLogits = Recurrence<HeadDims<K, V>, Element, KeyGate<LogSigmoid, float>>;
    auto args = arguments<GlaOfLogits>(q, k, v);
    args.gate = logit.data();
    args.gate_function = {/*temperature=*/16};
    args.initial_state = states.data();
    expect_same(run(args), expected, V, V, in_float);
  }
}

// --- GSA (Zhang et al., 2024), with M slots:
//     K~_t = Diag(alpha_t) K~_{t-1} + (1 - alpha_t) k_t^T
//     V~_t = Diag(alpha_t) V~_{t-1} + (1 - alpha_t) v_t^T
//     o_t = V~_t^T softmax(K~_t q_t)

TEST_F(Layers, Gsa) {
  constexpr int M = 8;
  const auto q = random.normal(B, T, 2, K), k = random.normal(B, T, 2, K);
  const auto v = random.normal(B, T, 2, V);
  auto s = random.normal(B, T, 2, M);  // 1 - alpha
  for (double& x : s.values) x = sigmoid(x);
  const Dense<double> zero(B, 2, M, K + V);  // [K~ V~]
  const auto expected = formula(zero, v, [&](Matrix& S, int b, int t, int h, double* o) {
    double p[M], sum = 0;
    for (int m = 0; m < M; ++m) {
      const double alpha = 1 - s(b, t, h, m);
      double score = 0;
      for (int i = 0; i < K; ++i) {
        S(m, i) = alpha * S(m, i) + (1 - alpha) * k(b, t, h, i);
        score += S(m, i) * q(b, t, h, i);
      }
      for (int j = 0; j < V; ++j) S(m, K + j) = alpha * S(m, K + j) + (1 - alpha) * v(b, t, h, j);
      sum += p[m] = std::exp(score);
    }
    for (int j = 0; j < V; ++j)
      for (int m = 0; m < M; ++m) o[j] += S(m, K + j) * p[m] / sum;
  });

  Result key_pass;
  {
    using KeyPass = Recurrence<HeadDims<K, M>, Element, ValueGate<OneMinus>>;
    auto args = arguments<KeyPass>(q, k, /*v=*/s);
    args.gate = s.data();
    key_pass = run(args, StateLayout::vk);
  }

  Dense<double> p(B, T, 2, M);  // softmax, between the passes
  for (size_t row = 0; row < p.values.size(); row += M) {
    double sum = 0;
    for (size_t m = row; m < row + M; ++m) sum += std::exp(key_pass.o[m]);
    for (size_t m = row; m < row + M; ++m) p.values[m] = std::exp(key_pass.o[m]) / sum;
  }
  Result value_pass;
  {
    using ValuePass = Recurrence<HeadDims<M, V>, Element, KeyGate<OneMinus>>;
    auto args = arguments<ValuePass>(/*q=*/p, /*k=*/s, v);
    args.gate = s.data();
    value_pass = run(args);
  }

  expect_rows(value_pass.o, expected.o, V, in_float);
  std::vector<double> slots;  // [K~ V~]
  for (size_t row = 0; row < B * 2 * M; ++row) {
    for (size_t i = 0; i < K; ++i) slots.push_back(key_pass.state[row * K + i]);
    for (size_t j = 0; j < V; ++j) slots.push_back(value_pass.state[row * V + j]);
  }
  expect_rows(slots, expected.state, K + V, in_float);
}

// --- The delta rules, with S in [V, K]:
//     DeltaNet (Yang et al., 2024)
//         S_t = S_{t-1} (I - beta_t k_t k_t^T) + beta_t v_t k_t^T;  o_t = S_t q_t
//     Gated DeltaNet (Yang, Kautz and Hatamizadeh, 2024)
//         S_t = S_{t-1} (alpha_t (I - beta_t k_t k_t^T)) + beta_t v_t k_t^T;  o_t = S_t q_t

/// Matrix by matrix, as it stands there. q and k may have fewer heads than v.
Result delta(const Dense<double>& states, const Dense<double>& q, const Dense<double>& k,
             const Dense<double>& v, const Dense<double>& alpha, const Dense<double>& beta) {
  const int group = v.shape[2] / q.shape[2];
  return formula(states, v, [&](Matrix& S, int b, int t, int h, double* o) {
    const Matrix before = S;
    const int g = h / group;
    for (int j = 0; j < V; ++j)
      for (int i = 0; i < K; ++i) {
        S(j, i) = beta(b, t, h) * v(b, t, h, j) * k(b, t, g, i);
        for (int l = 0; l < K; ++l) {
          const double kk = k(b, t, g, l) * k(b, t, g, i);
          S(j, i) += before(j, l) * alpha(b, t, h) * ((l == i ? 1 : 0) - beta(b, t, h) * kk);
        }
        o[j] += double{scale} * S(j, i) * q(b, t, g, i);
      }
  });
}

TEST_F(Layers, DeltaNet) {
  const auto q = random.unit(B, T, 3, K), k = random.unit(B, T, 3, K);
  const auto v = random.normal(B, T, 3, V), states = random.normal(B, 3, V, K);
  auto beta = random.normal(B, T, 3), ones = beta;
  for (double& x : beta.values) x = sigmoid(x);
  for (double& x : ones.values) x = 1;

  using DeltaNet = Recurrence<HeadDims<K, V>, Element, NoGate, DeltaRule<>>;
  auto args = arguments<DeltaNet>(q, k, v);
  args.scale = scale;
  args.beta = beta.data();
  args.initial_state = {states.data(), StateLayout::vk};
  expect_same(run(args, StateLayout::vk), delta(states, q, k, v, ones, beta), V, K, exact);
}

TEST_F(Layers, GatedDeltaNet) {
  constexpr int heads = 4, key_heads = 2;
  const auto q = random.normal(B, T, key_heads, K), k = random.normal(B, T, key_heads, K);
  const auto v = random.normal(B, T, heads, V), states = random.normal(B, heads, V, K);
  const auto a = random.normal<float>(B, T, heads), b_logit = random.normal<float>(B, T, heads);
  const auto A_log = random.normal<float>(heads), dt_bias = random.normal<float>(heads);
  const auto beta = Dense<double>(B, T, heads).fill([&](int b, int t, int h, int) {
    return sigmoid(b_logit(b, t, h));
  });
  const auto log_alpha = Dense<double>(B, T, heads).fill([&](int b, int t, int h, int) {
    return -std::exp(A_log(h)) * softplus(a(b, t, h) + dt_bias(h));
  });
  auto alpha = log_alpha;
  for (double& x : alpha.values) x = std::exp(x);
  const auto expected = delta(states, l2norm(q, 1e-6), l2norm(k, 1e-6), v, alpha, beta);

  {
    using Gdn = Recurrence<HeadDims<K, V>, Element, HeadGate<Log>, DeltaRule<>>;
    auto args = arguments<Gdn>(q, k, v);
    args.shape.key_heads = key_heads;
    args.scale = scale;
    args.gate = log_alpha.data();
    args.beta = beta.data();
    args.qk_l2norm = true;
    args.initial_state = {states.data(), StateLayout::vk};
    expect_same(run(args, StateLayout::vk), expected, V, K, exact);
  }

  {
    using GdnOfLogits =
        Recurrence<HeadDims<K, V>, Element, HeadGate<SoftplusDecay, float>, DeltaRule<Sigmoid>>;
    auto args = arguments<GdnOfLogits>(q, k, v);
    args.shape.key_heads = key_heads;
    args.scale = scale;
    args.gate = a.data();
    args.gate_function = {A_log.data(), dt_bias.data()};
    args.beta = b_logit.data();
    args.qk_l2norm = true;
    args.initial_state = {states.data(), StateLayout::vk};
    expect_same(run(args, StateLayout::vk), expected, V, K, in_float);
  }
}

// --- KDA (Kimi Team, 2025), with S in [K, V]:
//     S_t = (I - beta_t k_t k_t^T) Diag(alpha_t) S_{t-1} + beta_t k_t v_t^T;  o_t = S_t^T q_t

Result kda(const Dense<double>& states, const Dense<double>& q, const Dense<double>& k,
           const Dense<double>& v, const Dense<double>& log_alpha, const Dense<double>& beta) {
  return formula(states, v, [&](Matrix& S, int b, int t, int h, double* o) {
    const Matrix before = S;
    for (int i = 0; i < K; ++i)
      for (int j = 0; j < V; ++j) {
        S(i, j) = beta(b, t, h) * k(b, t, h, i) * v(b, t, h, j);
        for (int l = 0; l < K; ++l) {
          const double kk = k(b, t, h, i) * k(b, t, h, l);
          S(i, j) += ((i == l ? 1 : 0) - beta(b, t, h) * kk) * std::exp(log_alpha(b, t, h, l)) *
                     before(l, j);
        }
        o[j] += double{scale} * S(i, j) * q(b, t, h, i);
      }
  });
}

TEST_F(Layers, Kda) {
  const auto q = random.unit(B, T, 2, K), k = random.unit(B, T, 2, K);
  const auto v = random.normal(B, T, 2, V), states = random.normal(B, 2, K, V);
  const auto g = random.normal<float>(B, T, 2, K), b_logit = random.normal<float>(B, T, 2);
  const auto A_log = random.normal<float>(2), dt_bias = random.normal<float>(2, K);
  const auto beta = Dense<double>(B, T, 2).fill(
      [&](int b, int t, int h, int) { return sigmoid(b_logit(b, t, h)); });
  const auto log_alpha = Dense<double>(B, T, 2, K).fill([&](int b, int t, int h, int i) {
    return -std::exp(A_log(h)) * softplus(g(b, t, h, i) + dt_bias(h, i));
  });
  const auto expected = kda(states, q, k, v, log_alpha, beta);

  {
    using Kda = Recurrence<HeadDims<K, V>, Element, KeyGate<Log>, DeltaRule<>>;
    auto args = arguments<Kda>(q, k, v);
    args.scale = scale;
    args.gate = log_alpha.data();
    args.beta = beta.data();
    args.initial_state = states.data();
    expect_same(run(args), expected, V, V, exact);
  }

  {
    using KdaOfLogits =
        Recurrence<HeadDims<K, V>, Element, KeyGate<SoftplusDecay, float>, DeltaRule<Sigmoid>>;
    auto args = arguments<KdaOfLogits>(q, k, v);
    args.scale = scale;
    args.gate = g.data();
    args.gate_function = {A_log.data(), dt_bias.data(), /*dt_bias_channels=*/K};
    args.beta = b_logit.data();
    args.initial_state = states.data();
    expect_same(run(args), expected, V, V, in_float);
  }
}

// --- Functions of one's own: KDA's gate with a lower bound, and beta between 0 and 2. ---

/// bound * sigmoid(exp(a_log) * x), in log space.
struct BoundedDecay {
  using Space = gdr::Log;
  const float* a_log = nullptr;  // [Hv]
  float bound = -5;
  GDR_HOST_DEVICE float operator()(float x, int head, int) const {
    return bound / (1 + expf(-expf(a_log[head]) * x));
  }
  GDR_HOST_DEVICE float derivative(float x, int head, int) const {
    const float rate = expf(a_log[head]);
    return bound * rate / (1 + expf(-rate * x)) / (1 + expf(rate * x));
  }
};

struct TwiceSigmoid {
  using Space = gdr::Linear;
  GDR_HOST_DEVICE float operator()(float x, int, int) const { return 2 / (1 + expf(-x)); }
  GDR_HOST_DEVICE float derivative(float x, int, int) const {
    return 2 / (1 + expf(-x)) / (1 + expf(x));
  }
};

TEST_F(Layers, BoundedKda) {
  const auto q = random.unit(B, T, 2, K), k = random.unit(B, T, 2, K);
  const auto v = random.normal(B, T, 2, V), states = random.normal(B, 2, K, V);
  const auto g = random.normal<float>(B, T, 2, K), b_logit = random.normal<float>(B, T, 2);
  const auto A_log = random.normal<float>(2);
  const auto beta = Dense<double>(B, T, 2).fill(
      [&](int b, int t, int h, int) { return 2 * sigmoid(b_logit(b, t, h)); });
  const auto log_alpha = Dense<double>(B, T, 2, K).fill([&](int b, int t, int h, int i) {
    return -5 * sigmoid(std::exp(A_log(h)) * g(b, t, h, i));
  });

  using BoundedKda =
      Recurrence<HeadDims<K, V>, Element, KeyGate<BoundedDecay, float>, DeltaRule<TwiceSigmoid>>;
  auto args = arguments<BoundedKda>(q, k, v);
  args.scale = scale;
  args.gate = g.data();
  args.gate_function = {A_log.data(), /*bound=*/-5};
  args.beta = b_logit.data();
  args.initial_state = states.data();
  expect_same(run(args), kda(states, q, k, v, log_alpha, beta), V, V, in_float);
}

// --- A value head wider than the widest type: two value heads that read one key head. ---

TEST_F(Layers, WideValueHead) {
  const auto q = random.normal(B, T, 2, K), k = random.normal(B, T, 2, K);
  const auto wide = random.normal(B, T, 2, 2 * V), states = random.normal(B, 2, 2 * V, K);
  const Element gamma[4]{0.9, 0.9, 0.8, 0.8};
  const auto expected = formula(states, wide, [&](Matrix& S, int b, int t, int h, double* o) {
    for (int j = 0; j < 2 * V; ++j)
      for (int i = 0; i < K; ++i) {
        S(j, i) = gamma[2 * h] * S(j, i) + k(b, t, h, i) * wide(b, t, h, j);
        o[j] += q(b, t, h, i) * S(j, i);
      }
  });

  auto args = arguments<Recurrence<HeadDims<K, V>, Element, HeadGate<Linear>>>(q, k, wide);
  args.shape.heads = 4;  // [B, T, 2, 2 V] is [B, T, 4, V]
  args.shape.key_heads = 2;
  args.gate = strided(gamma, 0, 0, 1);
  args.initial_state = {states.data(), StateLayout::vk};
  expect_same(run(args, StateLayout::vk), expected, 2 * V, K, exact);
}

// --- docs/gates.md ---

// bfloat16 has steps of 2^-8 below 1.
TEST(GatesPage, Bfloat16InLinearSpace) {
  const auto rounded = [](double gate) {
    return gdr::reference::to_double(gdr::reference::from_double<gdr::bfloat16>(gate));
  };
  EXPECT_EQ(rounded(0.997), 0.99609375);
  EXPECT_EQ(rounded(0.998), 0.99609375);
  EXPECT_EQ(rounded(0.999), 1);
  for (const double gate : {0.997, 0.998, 0.999}) {
    EXPECT_NEAR(1 - rounded(1 - gate), gate, 0.004 * (1 - gate));              // OneMinus
    EXPECT_NEAR(std::exp(rounded(std::log(gate))), gate, 0.004 * (1 - gate));  // Log
  }
}

/// o of one token whose state was 8, whose k q is 1 and whose v is 0: 8 times the factor.
template <class Layer>
double decayed(ForwardArgs<Layer> args, float gate) {
  const float one = 1, zero = 0, state = 8;
  args.shape.batch = args.shape.seq_len = args.shape.heads = 1;
  args.q = args.k = &one;
  args.v = &zero;
  args.gate = &gate;
  args.initial_state = &state;
  return gdr::reference::forward(args).o[0];
}

TEST(GatesPage, TheSpaceIsInTheType) {
  using Factors = Recurrence<HeadDims<1, 1>, float, ValueGate<Linear>>;
  using Logarithms = Recurrence<HeadDims<1, 1>, float, ValueGate<Log>>;
  EXPECT_EQ(decayed<Factors>({}, 0.5f), 4);
  EXPECT_NEAR(decayed<Logarithms>({}, -0.6931472f), 4, 1e-6);
  // What each makes of the other's numbers.
  EXPECT_NEAR(decayed<Factors>({}, -0.6931472f), 8 * -0.6931472, 1e-6);
  EXPECT_NEAR(decayed<Logarithms>({}, 0.5f), 8 * std::exp(0.5), 1e-6);
  EXPECT_EQ(decayed<Logarithms>({}, -std::numeric_limits<float>::infinity()), 0);
}

}  // namespace
