// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The algebra of the chunked form (docs/chunked_form.md) as literal loops in double, against the
// recurrence: the form with divisions, exact spans, and sequences cut into pieces.

#include <gdr/reference.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace {

using Numbers = std::vector<double>;

constexpr int K = 3, V = 5;
constexpr int T = 37;      // neither whole chunks nor whole spans
constexpr int chunk = 16;  // tokens
constexpr int centre = 8;  // tokens of a chunk before its centre

template <class Gate>
using Layer = gdr::Recurrence<gdr::HeadDims<K, V>, double, Gate>;
using ValueLayer = Layer<gdr::ValueGate<>>;
using KeyLayer = Layer<gdr::KeyGate<>>;
using HeadLayer = Layer<gdr::HeadGate<>>;

struct Problem {
  Numbers q, k, v, gate, start;

  double at_q(int t, int i) const { return q[index(t * K + i)]; }
  double at_k(int t, int i) const { return k[index(t * K + i)]; }
  double at_v(int t, int j) const { return v[index(t * V + j)]; }
  double score(int t, int s) const {
    double sum = 0;
    for (int i = 0; i < K; ++i) sum += at_q(t, i) * at_k(s, i);
    return sum;
  }
  static size_t index(int i) { return static_cast<size_t>(i); }
};

struct Result {
  Numbers o = Numbers(T * V);
  Numbers state;  // [K][V]

  double& at_o(int t, int j) { return o[Problem::index(t * V + j)]; }
  double& at_state(int i, int j) { return state[Problem::index(i * V + j)]; }
  /// (S^T q)_j.
  double read(const std::function<double(int)>& q, int j) {
    double sum = 0;
    for (int i = 0; i < K; ++i) sum += at_state(i, j) * q(i);
    return sum;
  }
};

template <class L>
Problem random_problem(double low, double high) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(low, high);
  const auto fill = [](int count, auto make) {
    Numbers x(Problem::index(count));
    std::generate(x.begin(), x.end(), make);
    return x;
  };
  const auto number = [&] { return normal(random); };
  Problem p;
  p.q = fill(T * K, number);
  p.k = fill(T * K, number);
  p.v = fill(T * V, number);
  p.start = fill(K * V, number);
  p.gate = fill(T * L::gate_channels, [&] { return uniform(random); });
  return p;
}

/// Gates that no division survives: zeros, negative, above one, tiny.
template <class L>
Problem hard_problem() {
  Problem p = random_problem<L>(-2, 2);
  for (size_t n = 0; n < p.gate.size(); n += 7) p.gate[n] = 0;
  for (size_t n = 3; n < p.gate.size(); n += 11) p.gate[n] = 1e-300;
  return p;
}

template <class L>
gdr::reference::Output recurrence(const Problem& p) {
  // The reference takes states of float32 and bfloat16: the start goes in as a token before the
  // others for each row of the state.
  Problem padded;
  for (int i = 0; i < K; ++i) {
    for (int c = 0; c < K; ++c) padded.k.push_back(c == i ? 1 : 0);
    for (int j = 0; j < V; ++j) padded.v.push_back(p.start[Problem::index(i * V + j)]);
  }
  padded.q.assign(K * K, 0);
  padded.gate.assign(Problem::index(K * L::gate_channels), 1);
  const auto append = [](Numbers& to, const Numbers& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(padded.q, p.q);
  append(padded.k, p.k);
  append(padded.v, p.v);
  append(padded.gate, p.gate);
  gdr::ForwardArgs<L> args;
  args.shape.batch = 1;
  args.shape.seq_len = K + T;
  args.shape.heads = 1;
  args.q = padded.q.data();
  args.k = padded.k.data();
  args.v = padded.v.data();
  args.gate = padded.gate.data();
  gdr::reference::Output output = gdr::reference::forward(args);
  output.o.erase(output.o.begin(), output.o.begin() + K * V);
  return output;
}

void expect_close(const Numbers& actual, const Numbers& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  double difference = 0, size = 0;
  for (size_t n = 0; n < expected.size(); ++n) {
    difference += (actual[n] - expected[n]) * (actual[n] - expected[n]);
    size += expected[n] * expected[n];
  }
  EXPECT_LE(std::sqrt(difference), 1e-12 * std::sqrt(size));
}

template <class L>
void expect_recurrence(const Problem& p, const Result& result) {
  const gdr::reference::Output expected = recurrence<L>(p);
  expect_close(result.o, expected.o);
  expect_close(result.state, expected.final_state);
}

/// Gates a_t of a channel, as outward products from a chunk's centre: r_t is the product of those
/// from the centre up to and with t, or one over the product of those after t up to the centre.
struct OutwardProducts {
  double r[chunk];
  double before = 1;  // of the gates before the centre
  double after = 1;

  template <class Gate>
  OutwardProducts(int first, int tokens, Gate gate) {
    for (int t = std::min(centre, tokens) - 1; t >= 0; --t) {
      r[t] = 1 / before;
      before *= gate(first + t);
    }
    for (int t = centre; t < tokens; ++t) r[t] = after *= gate(first + t);
  }
};

// --- With divisions. ---

Result divide_by_value_gates(const Problem& p) {
  Result x;
  x.state = p.start;
  const auto gate = [&](int j) {
    return [&p, j](int t) { return p.gate[Problem::index(t * V + j)]; };
  };
  for (int first = 0; first < T; first += chunk) {
    const int tokens = std::min(chunk, T - first);
    for (int j = 0; j < V; ++j) {
      const OutwardProducts products(first, tokens, gate(j));
      for (int i = 0; i < K; ++i) x.at_state(i, j) *= products.before;  // enter
      for (int t = 0; t < tokens; ++t) {
        double o = x.read([&](int i) { return p.at_q(first + t, i); }, j);
        for (int s = 0; s <= t; ++s) {
          o += p.score(first + t, first + s) * (p.at_v(first + s, j) / products.r[s]);
        }
        x.at_o(first + t, j) = products.r[t] * o;
      }
      for (int i = 0; i < K; ++i) {
        for (int s = 0; s < tokens; ++s) {
          x.at_state(i, j) += p.at_k(first + s, i) * (p.at_v(first + s, j) / products.r[s]);
        }
        x.at_state(i, j) *= products.after;  // leave
      }
    }
  }
  return x;
}

Result divide_by_key_gates(const Problem& p) {
  Result x;
  x.state = p.start;
  for (int first = 0; first < T; first += chunk) {
    const int tokens = std::min(chunk, T - first);
    Numbers q(chunk * K), k(chunk * K);
    double leave[K];
    for (int i = 0; i < K; ++i) {
      const OutwardProducts products(first, tokens,
                                     [&](int t) { return p.gate[Problem::index(t * K + i)]; });
      for (int t = 0; t < tokens; ++t) {
        q[Problem::index(t * K + i)] = p.at_q(first + t, i) * products.r[t];
        k[Problem::index(t * K + i)] = p.at_k(first + t, i) / products.r[t];
      }
      for (int j = 0; j < V; ++j) x.at_state(i, j) *= products.before;
      leave[i] = products.after;
    }
    for (int j = 0; j < V; ++j) {
      for (int t = 0; t < tokens; ++t) {
        double o = x.read([&](int i) { return q[Problem::index(t * K + i)]; }, j);
        for (int s = 0; s <= t; ++s) {
          double score = 0;
          for (int i = 0; i < K; ++i) {
            score += q[Problem::index(t * K + i)] * k[Problem::index(s * K + i)];
          }
          o += score * p.at_v(first + s, j);
        }
        x.at_o(first + t, j) = o;
      }
      for (int i = 0; i < K; ++i) {
        for (int s = 0; s < tokens; ++s) {
          x.at_state(i, j) += k[Problem::index(s * K + i)] * p.at_v(first + s, j);
        }
        x.at_state(i, j) *= leave[i];
      }
    }
  }
  return x;
}

TEST(ChunkAlgebra, ValueGatesByDivision) {
  const Problem p = random_problem<ValueLayer>(0.5, 1.1);
  expect_recurrence<ValueLayer>(p, divide_by_value_gates(p));
}

TEST(ChunkAlgebra, NegativeValueGatesByDivision) {
  const Problem p = random_problem<ValueLayer>(-1.2, -0.6);
  expect_recurrence<ValueLayer>(p, divide_by_value_gates(p));
}

TEST(ChunkAlgebra, KeyGatesByDivision) {
  const Problem p = random_problem<KeyLayer>(0.5, 1.1);
  expect_recurrence<KeyLayer>(p, divide_by_key_gates(p));
}

// --- Without division. ---

/// Spans of 16 tokens: weights w_s move on with each gate.
Result span_by_span_of_value_gates(const Problem& p) {
  Result x;
  x.state = p.start;
  for (int first = 0; first < T; first += 16) {
    const int end = std::min(first + 16, T);
    for (int j = 0; j < V; ++j) {
      double from_start = 1;
      Numbers w(16, 0);
      for (int t = first; t < end; ++t) {
        const double a = p.gate[Problem::index(t * V + j)];
        from_start *= a;
        for (double& x_s : w) x_s *= a;
        w[Problem::index(t - first)] = p.at_v(t, j);
        double o = from_start * x.read([&](int i) { return p.at_q(t, i); }, j);
        for (int s = first; s <= t; ++s) o += p.score(t, s) * w[Problem::index(s - first)];
        x.at_o(t, j) = o;
      }
      for (int i = 0; i < K; ++i) {
        x.at_state(i, j) *= from_start;
        for (int s = first; s < end; ++s) {
          x.at_state(i, j) += p.at_k(s, i) * w[Problem::index(s - first)];
        }
      }
    }
  }
  return x;
}

/// Spans of 16 tokens: q times the gates from the span's start, k times those to its end, each term
/// of a score times those between its two tokens.
Result span_by_span_of_key_gates(const Problem& p) {
  Result x;
  x.state = p.start;
  const auto product = [&](int i, int from, int to) {  // of the gates of [from, to)
    double a = 1;
    for (int t = from; t < to; ++t) a *= p.gate[Problem::index(t * K + i)];
    return a;
  };
  for (int first = 0; first < T; first += 16) {
    const int end = std::min(first + 16, T);
    for (int t = first; t < end; ++t) {
      for (int j = 0; j < V; ++j) {
        double o = x.read([&](int i) { return p.at_q(t, i) * product(i, first, t + 1); }, j);
        for (int s = first; s <= t; ++s) {
          double score = 0;
          for (int i = 0; i < K; ++i) {
            score += p.at_q(t, i) * p.at_k(s, i) * product(i, s + 1, t + 1);
          }
          o += score * p.at_v(s, j);
        }
        x.at_o(t, j) = o;
      }
    }
    for (int i = 0; i < K; ++i) {
      for (int j = 0; j < V; ++j) {
        x.at_state(i, j) *= product(i, first, end);
        for (int s = first; s < end; ++s) {
          x.at_state(i, j) += p.at_k(s, i) * product(i, s + 1, end) * p.at_v(s, j);
        }
      }
    }
  }
  return x;
}

/// Head gates: scores times running products of the gates between, values times those to the end.
Result chunk_by_chunk_of_head_gates(const Problem& p) {
  Result x;
  x.state = p.start;
  for (int first = 0; first < T; first += chunk) {
    const int end = std::min(first + chunk, T);
    Numbers d(chunk, 0);  // D[t][s] = D[t - 1][s] * a_t, D[t][t] = 1
    double from_start = 1;
    for (int t = first; t < end; ++t) {
      const double a = p.gate[Problem::index(t)];
      from_start *= a;
      for (double& x_s : d) x_s *= a;
      d[Problem::index(t - first)] = 1;
      for (int j = 0; j < V; ++j) {
        double o = from_start * x.read([&](int i) { return p.at_q(t, i); }, j);
        for (int s = first; s <= t; ++s) {
          o += p.score(t, s) * d[Problem::index(s - first)] * p.at_v(s, j);
        }
        x.at_o(t, j) = o;
      }
    }
    for (int i = 0; i < K; ++i) {
      for (int j = 0; j < V; ++j) {
        x.at_state(i, j) *= from_start;
        for (int s = first; s < end; ++s) {
          x.at_state(i, j) += p.at_k(s, i) * d[Problem::index(s - first)] * p.at_v(s, j);
        }
      }
    }
  }
  return x;
}

TEST(ChunkAlgebra, ValueGatesInExactSpans) {
  for (const Problem& p : {random_problem<ValueLayer>(0.5, 1.1), hard_problem<ValueLayer>()}) {
    expect_recurrence<ValueLayer>(p, span_by_span_of_value_gates(p));
  }
}

TEST(ChunkAlgebra, KeyGatesInExactSpans) {
  for (const Problem& p : {random_problem<KeyLayer>(0.5, 1.1), hard_problem<KeyLayer>()}) {
    expect_recurrence<KeyLayer>(p, span_by_span_of_key_gates(p));
  }
}

TEST(ChunkAlgebra, HeadGates) {
  for (const Problem& p : {random_problem<HeadLayer>(0.5, 1.1), hard_problem<HeadLayer>()}) {
    expect_recurrence<HeadLayer>(p, chunk_by_chunk_of_head_gates(p));
  }
}

// --- Pieces. ---

/// A piece acts on the state as S -> A * S + L, A the product of its gates and L its state from
/// zero. Pieces of 11 tokens, walked over in order.
TEST(ChunkAlgebra, PiecesOfASequence) {
  for (const Problem& p : {random_problem<ValueLayer>(0.5, 1.1), hard_problem<ValueLayer>()}) {
    Numbers state = p.start;
    for (int first = 0; first < T; first += 11) {
      const int end = std::min(first + 11, T);
      Numbers A(V, 1), L(K * V, 0);
      for (int t = first; t < end; ++t) {
        for (int j = 0; j < V; ++j) {
          const double a = p.gate[Problem::index(t * V + j)];
          A[Problem::index(j)] *= a;
          for (int i = 0; i < K; ++i) {
            double& l = L[Problem::index(i * V + j)];
            l = a * l + p.at_k(t, i) * p.at_v(t, j);
          }
        }
      }
      for (int i = 0; i < K; ++i) {
        for (int j = 0; j < V; ++j) {
          double& s = state[Problem::index(i * V + j)];
          s = A[Problem::index(j)] * s + L[Problem::index(i * V + j)];
        }
      }
    }
    expect_close(state, recurrence<ValueLayer>(p).final_state);
  }
}

}  // namespace
