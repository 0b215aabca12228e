// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The recurrence itself, in double: one token of one value head. This is the definition that every
/// kernel is measured against, so it is written as it is stated and shares nothing with them.

#include <gdr/reference/element.hpp>
#include <gdr/types/args.hpp>

#include <cmath>
#include <valarray>

GDR_NAMESPACE_BEGIN

namespace reference {
namespace detail {

using Vector = std::valarray<double>;

/// What one token brings to one value head. Gates are factors here, whatever the gate's space.
struct Token {
  Vector q;  // [K]
  Vector k;  // [K]
  Vector v;  // [V]
  Vector a;  // [V], [K] or [1] by the gate's axis
  double beta = 1;
};

/// The state S of one value head.
struct State {
  int key_dim;      // K
  int value_dim;    // V
  Vector elements;  // [K, V]

  State(int K, int V) : key_dim(K), value_dim(V), elements(static_cast<size_t>(K) * V) {}
  double* row(int i) { return &elements[static_cast<size_t>(i) * value_dim]; }

  /// Calls f(S[i][j], i, j) for every element.
  template <class F>
  void each(F&& f) {
    for (int i = 0; i < key_dim; ++i)
      for (int j = 0; j < value_dim; ++j) f(row(i)[j], i, j);
  }

  /// S^T x.
  Vector transposed_times(const Vector& x) {
    Vector product(static_cast<size_t>(value_dim));
    each([&](double s, int i, int j) { product[j] += s * x[i]; });
    return product;
  }
};

/// The channel of a_t that belongs to S[i][j].
constexpr int gate_channel(GateAxis axis, int i, int j) {
  return axis == GateAxis::value ? j : axis == GateAxis::key ? i : 0;
}

/// Takes S from before the token to after it and gives the token's o [V].
template <class Layer>
Vector step(State& S, const Token& x, double scale) {
  const auto a = [&x](int i, int j) { return x.a[gate_channel(Layer::Gate::axis, i, j)]; };

  S.each([&](double& s, int i, int j) { s *= a(i, j); });  // decay
  Vector u = x.v;
  if (Layer::Rule::uses_beta) u = x.beta * (x.v - S.transposed_times(x.k));
  S.each([&](double& s, int i, int j) { s += x.k[i] * u[j]; });  // write
  return scale * S.transposed_times(x.q);                        // read
}

/// One channel row of a [B, T, H, channels] tensor.
inline Vector read_row(const AnyTensorView& x, int64_t batch, int64_t time, int64_t head,
                       int channels) {
  const Strides& s = x.strides;
  const int64_t row = batch * s.batch + time * s.time + head * s.head;
  Vector values(static_cast<size_t>(channels));
  for (int c = 0; c < channels; ++c) values[c] = load_element(x.data, x.type, row + c * s.element);
  return values;
}

/// x / sqrt(sum x^2 + eps).
inline void l2_normalize(Vector& x, double eps) {
  double square = eps;
  for (const double value : x) square += value * value;
  if (square == 0) return;  // a zero row stays zero, also with eps 0
  for (double& value : x) value /= std::sqrt(square);
}

/// A gate or beta function's value. Linear and Log, which are their own spaces, take the tensor's
/// value as it is: a float64 value must not pass through their float.
template <class Function>
double apply(const Function& function, double raw, int head, int channel) {
  if constexpr (stdx::is_same<Function, typename Function::Space>::value) {
    return raw;
  } else {
    return static_cast<double>(function(static_cast<float>(raw), head, channel));
  }
}

/// The factors a_t of one token and head; 1 for the axis none.
template <class Layer>
Vector read_gate(const ForwardArgs<Layer>& args, int64_t batch, int64_t time, int head) {
  constexpr GateAxis axis = Layer::Gate::axis;
  if (axis == GateAxis::none) return {1.0};
  const int channels = axis == GateAxis::value ? args.shape.value_dim
                       : axis == GateAxis::key ? args.shape.key_dim
                                               : 1;
  Vector a = read_row(args.gate, batch, time, head, channels);
  for (int c = 0; c < channels; ++c) {
    const double g = apply(args.gate_function, a[c], head, c);
    a[c] = stdx::is_same<typename Layer::Space, Log>::value ? std::exp(g) : g;
  }
  return a;
}

/// Reads token `time` of batch row `batch` for value head `head`; the arguments are resolved.
template <class Layer>
Token read_token(const ForwardArgs<Layer>& args, int64_t batch, int64_t time, int head) {
  const Shape& shape = args.shape;
  const int64_t key_head = head / (shape.heads / shape.key_heads);
  Token token;
  token.q = read_row(args.q, batch, time, key_head, shape.key_dim);
  token.k = read_row(args.k, batch, time, key_head, shape.key_dim);
  token.v = read_row(args.v, batch, time, head, shape.value_dim);
  token.a = read_gate(args, batch, time, head);
  if (Layer::Rule::uses_beta) {
    const double raw = read_row(args.beta, batch, time, head, 1)[0];
    token.beta = apply(args.beta_function, raw, head, 0);
  }
  if (args.qk_l2norm) {
    l2_normalize(token.q, static_cast<double>(args.qk_l2norm_eps));
    l2_normalize(token.k, static_cast<double>(args.qk_l2norm_eps));
  }
  return token;
}

}  // namespace detail
}  // namespace reference

GDR_NAMESPACE_END
