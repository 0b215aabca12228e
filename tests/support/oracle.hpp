// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What a problem's results are judged by: the reference's output, the magnitudes m of the accuracy
/// contract (compare.hpp), and the judgement of a whole result.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <gdr/reference.hpp>

#include "compare.hpp"
#include "problem.hpp"

namespace gdr::test {

/// A call's outputs: o as [B, T, Hv, V], states as [N, Hv, K, V], each exact; empty where null.
struct Result {
  std::vector<float> o;
  std::vector<float> final_state;
};

struct Expected {
  std::vector<double> o;            // [B, T, Hv, V]
  std::vector<double> final_state;  // [N, Hv, K, V]
  std::vector<double> o_m;          // m of each
  std::vector<double> final_state_m;
  bool gate_above_one = false;
};

namespace detail {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// |x| of one row, normalised first where the layer does so.
inline std::vector<double> absolute_row(const ProblemData& data, const Tensor& tensor, Index at,
                                        bool l2norm) {
  std::vector<double> row(index(tensor.channels));
  double square = static_cast<double>(data.spec.qk_l2norm_eps);
  for (at.channel = 0; at.channel < tensor.channels; ++at.channel) {
    row[index(at.channel)] = std::fabs(data.value(tensor, at));
    square += row[index(at.channel)] * row[index(at.channel)];
  }
  if (l2norm) {
    for (double& x : row) x /= std::sqrt(square);
  }
  return row;
}

/// |a_t| for every element of the gate's tensor, in the tensor's order.
template <class Layer>
std::vector<double> absolute_factors(const Problem<Layer>& problem) {
  std::vector<double> factors;
  if (!problem.gate.present()) return factors;
  factors.reserve(index(problem.gate.count()));
  const ForwardArgs<Layer> args = problem.host_args();
  problem.gate.for_each([&](const Index& at, std::int64_t where) {
    const float raw = decode_float(problem.gate.type, problem.byte(problem.gate.storage, where));
    const double g = static_cast<double>(
        args.gate_function(raw, static_cast<int>(at.head), static_cast<int>(at.channel)));
    factors.push_back(std::is_same_v<typename Layer::Space, Log> ? std::exp(g) : std::fabs(g));
  });
  return factors;
}

/// The outer product's recurrence run on absolute values. `factors` are absolute_factors.
inline void absolute_recurrence(const ProblemData& data, GateAxis axis,
                                const std::vector<double>& factors, Expected& expected) {
  const Shape& shape = data.spec.shape;
  const std::int64_t K = shape.key_dim;
  const std::int64_t V = shape.value_dim;
  const std::int64_t group = shape.key_heads == 0 ? 1 : shape.heads / shape.key_heads;
  const double scale = std::fabs(static_cast<double>(data.spec.scale));
  expected.o_m.assign(index(shape.batch * shape.seq_len * shape.heads * V), 0);
  expected.final_state_m.assign(index(data.sequences() * shape.heads * K * V), 0);
  std::vector<double> by_row(index(K));
  std::vector<double> by_column(index(V));
  for (std::int64_t n = 0; n < data.sequences(); ++n) {
    const ProblemData::Span span = data.span(n);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      double* state = expected.final_state_m.data() + (n * shape.heads + head) * K * V;
      for (std::int64_t i = 0; i < K && data.initial_state.present(); ++i) {
        for (std::int64_t j = 0; j < V; ++j) {
          state[i * V + j] = std::fabs(decode(
              data.initial_state.type,
              data.byte(data.initial_state.storage, data.initial_state.byte_of(n, head, i, j))));
        }
      }
      for (std::int64_t t = span.begin; t < span.end; ++t) {
        const Index key_at{span.batch, t, head / group, 0};
        const auto q = absolute_row(data, data.q, key_at, data.spec.qk_l2norm);
        const auto k = absolute_row(data, data.k, key_at, data.spec.qk_l2norm);
        const auto v = absolute_row(data, data.v, {span.batch, t, head, 0}, false);
        const std::int64_t row = (span.batch * shape.seq_len + t) * shape.heads + head;
        std::fill(by_row.begin(), by_row.end(), 1.0);
        std::fill(by_column.begin(), by_column.end(), 1.0);
        const double* a = factors.data() + row * data.gate.channels;
        if (axis == GateAxis::value) std::copy(a, a + V, by_column.begin());
        if (axis == GateAxis::key) std::copy(a, a + K, by_row.begin());
        if (axis == GateAxis::head) std::fill(by_row.begin(), by_row.end(), *a);
        double* o = expected.o_m.data() + row * V;
        for (std::int64_t i = 0; i < K; ++i) {
          const double decay = by_row[index(i)];
          const double key = k[index(i)];
          const double query = q[index(i)] * scale;
          double* line = state + i * V;
          for (std::int64_t j = 0; j < V; ++j) {
            line[j] = line[j] * (decay * by_column[index(j)]) + key * v[index(j)];
            o[j] += query * line[j];
          }
        }
      }
    }
  }
}

/// Reference and m of the delta rule: |q|^T |S| with the reference's own S.
template <class Layer>
void delta_expectation(const Problem<Layer>& problem, Expected& expected) {
  const Shape& shape = problem.spec.shape;
  const std::int64_t group = shape.key_heads == 0 ? 1 : shape.heads / shape.key_heads;
  const double scale = std::fabs(static_cast<double>(problem.spec.scale));
  expected.o_m.assign(index(shape.batch * shape.seq_len * shape.heads * shape.value_dim), 0);
  const auto observe = [&](std::int64_t n, std::int64_t t, std::int64_t head, const double* state) {
    const std::int64_t batch = problem.span(n).batch;
    const auto q =
        absolute_row(problem, problem.q, {batch, t, head / group, 0}, problem.spec.qk_l2norm);
    double* o =
        expected.o_m.data() + ((batch * shape.seq_len + t) * shape.heads + head) * shape.value_dim;
    for (std::int64_t i = 0; i < shape.key_dim; ++i) {
      for (std::int64_t j = 0; j < shape.value_dim; ++j) {
        o[j] += scale * q[index(i)] * std::fabs(state[i * shape.value_dim + j]);
      }
    }
  };
  reference::Output output = reference::forward<Layer>(problem.host_args(), observe);
  expected.o = std::move(output.o);
  expected.final_state = std::move(output.final_state);
}

}  // namespace detail

/// Runs the reference, and the recurrence on absolute values.
template <class Layer>
Expected expect(const Problem<Layer>& problem) {
  Expected expected;
  const std::vector<double> factors = detail::absolute_factors(problem);
  expected.gate_above_one =
      std::any_of(factors.begin(), factors.end(), [](double a) { return a > 1; });
  if constexpr (Layer::Rule::uses_beta) {
    detail::delta_expectation(problem, expected);
  } else {
    reference::Output output = reference::forward<Layer>(problem.host_args());
    expected.o = std::move(output.o);
    expected.final_state = std::move(output.final_state);
    detail::absolute_recurrence(problem, Layer::Gate::axis, factors, expected);
  }
  return expected;
}

/// What of a result is judged. Masks as in compare.hpp, in the order of Result's tensors.
struct Scope {
  Mask o;
  Mask final_state;
  bool whole_tensor = true;
};

/// The chunked forms round what they multiply, a score of two tokens among it: of few channels, few
/// numbers or few rows (each of a short sequence is a score times a value) one rounding may decide a
/// whole tensor, and only rows and columns are judged.
inline Scope scope_of(const ProblemData& data) {
  const Shape& shape = data.spec.shape;
  std::int64_t tokens = 0;
  for (std::int64_t n = 0; n < data.sequences(); ++n)
    tokens += data.span(n).end - data.span(n).begin;
  const std::int64_t per_token = shape.heads * shape.value_dim;
  Scope scope;
  scope.whole_tensor =
      form_of(data.spec.algorithm) == Form::recurrent ||
      (shape.key_dim >= 8 && tokens * per_token >= 64 && data.sequences() * per_token >= 8 &&
       tokens * shape.heads >= 16);
  return scope;
}

namespace detail {

/// 1 for elements of o whose token belongs to a sequence.
inline Mask covered_tokens(const ProblemData& data) {
  const Shape& shape = data.spec.shape;
  const std::int64_t per_token = shape.heads * shape.value_dim;
  Mask mask(index(shape.batch * shape.seq_len * per_token), 0);
  for (std::int64_t n = 0; n < data.sequences(); ++n) {
    const ProblemData::Span span = data.span(n);
    const std::int64_t first = span.batch * shape.seq_len;
    std::fill(mask.begin() + (first + span.begin) * per_token,
              mask.begin() + (first + span.end) * per_token, std::uint8_t{1});
  }
  return mask;
}

/// Tokens of no sequence keep what was there: the poison.
inline Verdict check_untouched(const ProblemData& data, const Result& result, const Mask& covered) {
  const unsigned char poison[4] = {0xff, 0xff, 0xff, 0xff};
  const float untouched = decode_float(data.o.type, poison);
  for (std::size_t i = 0; i < result.o.size(); ++i) {
    if (covered[i] == 0 && std::memcmp(&result.o[i], &untouched, sizeof(float)) != 0) {
      return {false, "o: element " + std::to_string(i) + " of no sequence was written"};
    }
  }
  return {};
}

inline std::vector<double> widen(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

inline std::int64_t longest_sequence(const ProblemData& data) {
  std::int64_t longest = 0;
  for (std::int64_t n = 0; n < data.sequences(); ++n) {
    longest = std::max(longest, data.span(n).end - data.span(n).begin);
  }
  return longest;
}

inline Verdict named(const char* tensor, Verdict verdict) {
  if (!verdict.ok) verdict.message = std::string(tensor) + ": " + verdict.message;
  return verdict;
}

}  // namespace detail

/// Judges o and the final state.
inline Verdict check(const ProblemData& data, DataType element, const Expected& expected,
                     const Result& result, const Scope& scope = {}) {
  const Shape& shape = data.spec.shape;
  const double bound = error_bound(element, form_of(data.spec.algorithm),
                                   detail::longest_sequence(data), expected.gate_above_one);
  if (data.o.present()) {
    Mask mask = detail::covered_tokens(data);
    Verdict verdict = detail::check_untouched(data, result, mask);
    if (!verdict) return verdict;
    for (std::size_t i = 0; i < mask.size() && !scope.o.empty(); ++i) mask[i] &= scope.o[i];
    const auto name_row = [&shape](std::int64_t row) {
      const std::int64_t token = row / shape.heads;
      return "batch " + std::to_string(token / shape.seq_len) + ", token " +
             std::to_string(token % shape.seq_len) + ", head " + std::to_string(row % shape.heads);
    };
    verdict = compare(detail::widen(result.o), expected.o, expected.o_m,
                      token_rows(shape.batch * shape.seq_len * shape.heads, shape.value_dim),
                      {bound, smallest_normal(element), scope.whole_tensor}, mask, name_row);
    if (!verdict) return detail::named("o", verdict);
  }
  if (!data.final_state.present()) return {};
  const auto name_column = [&shape](std::int64_t column) {
    const std::int64_t matrix = column / shape.value_dim;
    return "sequence " + std::to_string(matrix / shape.heads) + ", head " +
           std::to_string(matrix % shape.heads) + ", value column " +
           std::to_string(column % shape.value_dim);
  };
  const DataType type = data.final_state.type;
  return detail::named(
      "final_state",
      compare(detail::widen(result.final_state), expected.final_state, expected.final_state_m,
              state_columns(data.sequences() * shape.heads, shape.key_dim, shape.value_dim),
              {state_error_bound(bound, type), smallest_normal(type), scope.whole_tensor},
              scope.final_state, name_column));
}

}  // namespace gdr::test
