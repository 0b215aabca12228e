// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The accuracy contract, as code: a result x against the float64 reference,
///
///     whole tensor            |x - ref| <= bound |ref|
///     each (token, head) row of o, each value column of a state
///                             |x - ref| <= 4 bound max(|ref|, |m|) + sqrt(length) smallest_normal
///
/// in 2-norms. m is the same row or column of the recurrence run on absolute values; under the
/// delta rule it is |q|^T |S_ref| for o and nothing for states. The first line holds for inputs
/// that do not cancel. NaN never passes, nor does an infinity.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gdr/types/args.hpp>

#include "element_bits.hpp"

namespace gdr::test {

/// What the bound depends on besides the type: step by step or chunk by chunk.
enum class Form { recurrent, chunked };

/// Which form `automatic` takes is not told: it has the wider bound.
inline Form form_of(Algorithm algorithm) {
  return algorithm == Algorithm::recurrent ? Form::recurrent : Form::chunked;
}

/// The bound of a layer's type and form. `length`: tokens of the longest sequence.
inline double error_bound(DataType element, Form form, std::int64_t length, bool gate_above_one) {
  if (element == DataType::float16) return 1e-3;
  if (element == DataType::bfloat16) return 4e-3;
  if (form == Form::chunked) return 1e-5;
  const double growth = length > 1024 ? std::sqrt(static_cast<double>(length) / 1024) : 1;
  return 1e-6 * growth * (gate_above_one ? 2 : 1);
}

/// The bound of a state. It is the layer's, but a state stored in bfloat16 cannot be nearer to the
/// reference than bfloat16 is.
inline double state_error_bound(double layer_bound, DataType state) {
  return state == DataType::bfloat16
             ? std::max(layer_bound, error_bound(state, Form::recurrent, 0, false))
             : layer_bound;
}

/// The outcome of a comparison; the message says where and by how much it failed.
struct Verdict {
  bool ok = true;
  std::string message;
  explicit operator bool() const { return ok; }
};

/// How a dense tensor falls into vectors that are compared one by one.
struct Rows {
  std::int64_t groups = 0;
  std::int64_t rows = 0;  // of each group
  std::int64_t length = 0;
  std::int64_t group_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t element_stride = 1;

  std::int64_t count() const { return groups * rows; }
  std::int64_t at(std::int64_t row, std::int64_t element) const {
    return row / rows * group_stride + row % rows * row_stride + element * element_stride;
  }
};

/// Rows of o [..., V].
inline Rows token_rows(std::int64_t count, std::int64_t value_dim) {
  return {1, count, value_dim, 0, value_dim, 1};
}

/// Value columns of states [..., K, V].
inline Rows state_columns(std::int64_t matrices, std::int64_t key_dim, std::int64_t value_dim) {
  return {matrices, value_dim, key_dim, key_dim * value_dim, 1, value_dim};
}

struct Tolerance {
  double bound = 0;
  double smallest_normal = 0;
  bool whole_tensor = true;  // false: the inputs may cancel, so only the rows are judged
};

/// Which elements count; empty: all of them.
using Mask = std::vector<std::uint8_t>;

namespace detail {

inline bool counts(const Mask& mask, std::int64_t index) {
  return mask.empty() || mask[static_cast<std::size_t>(index)] != 0;
}

inline double element(const std::vector<double>& tensor, std::int64_t index) {
  return tensor[static_cast<std::size_t>(index)];
}

}  // namespace detail

/// Judges x by the contract above. `magnitude` is m; empty: ref alone.
inline Verdict compare(const std::vector<double>& x, const std::vector<double>& ref,
                       const std::vector<double>& magnitude, const Rows& rows,
                       const Tolerance& tolerance, const Mask& mask = {},
                       const std::function<std::string(std::int64_t)>& name_row = {}) {
  std::ostringstream text;
  const auto fail = [&text] { return Verdict{false, text.str()}; };
  if (x.size() != ref.size() || (!magnitude.empty() && magnitude.size() != ref.size()) ||
      (!mask.empty() && mask.size() != ref.size()) ||
      static_cast<std::int64_t>(ref.size()) != rows.count() * rows.length) {
    text << "sizes differ: result " << x.size() << ", reference " << ref.size() << ", rows "
         << rows.count() << " of " << rows.length;
    return fail();
  }
  const auto row_name = [&](std::int64_t row) {
    return name_row ? name_row(row) : "row " + std::to_string(row);
  };

  double whole_error = 0;
  double whole_ref = 0;
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    double error = 0;
    double norm = 0;
    double m = 0;
    double worst = -1;
    std::int64_t length = 0;
    std::int64_t worst_element = 0;
    for (std::int64_t e = 0; e < rows.length; ++e) {
      const std::int64_t index = rows.at(row, e);
      if (!detail::counts(mask, index)) continue;
      const double value = detail::element(x, index);
      const double wanted = detail::element(ref, index);
      if (!std::isfinite(value) || !std::isfinite(wanted)) {
        text << row_name(row) << ", element " << e << ": result " << value << ", reference "
             << wanted;
        return fail();
      }
      const double difference = std::fabs(value - wanted);
      error += difference * difference;
      norm += wanted * wanted;
      if (!magnitude.empty()) {
        m += detail::element(magnitude, index) * detail::element(magnitude, index);
      }
      ++length;
      if (difference > worst) {
        worst = difference;
        worst_element = e;
      }
    }
    whole_error += error;
    whole_ref += norm;
    const double allowed = 4 * tolerance.bound * std::sqrt(std::max(norm, m)) +
                           std::sqrt(static_cast<double>(length)) * tolerance.smallest_normal;
    if (!(std::sqrt(error) <= allowed) || !std::isfinite(allowed)) {
      const std::int64_t index = rows.at(row, worst_element);
      text << row_name(row) << ": error " << std::sqrt(error) << " above " << allowed << " (bound "
           << tolerance.bound << ", |ref| " << std::sqrt(norm) << ", |m| " << std::sqrt(m)
           << "); worst element " << worst_element << ": result " << detail::element(x, index)
           << ", reference " << detail::element(ref, index);
      return fail();
    }
  }
  if (tolerance.whole_tensor &&
      !(std::sqrt(whole_error) <= tolerance.bound * std::sqrt(whole_ref))) {
    text << "whole tensor: error " << std::sqrt(whole_error) << " above " << tolerance.bound
         << " * |ref| " << std::sqrt(whole_ref) << ", ratio " << std::sqrt(whole_error / whole_ref);
    return fail();
  }
  return {};
}

/// Bit by bit, NaN and the sign of zero included.
inline Verdict same_bits(const std::vector<float>& a, const std::vector<float>& b,
                         const Mask& mask = {}) {
  std::ostringstream text;
  if (a.size() != b.size() || (!mask.empty() && mask.size() != a.size())) {
    text << "sizes differ: " << a.size() << " and " << b.size();
    return {false, text.str()};
  }
  std::int64_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!mask.empty() && mask[i] == 0) continue;
    if (std::memcmp(&a[i], &b[i], sizeof(float)) == 0) continue;
    if (different++ == 0) {
      text.precision(9);
      text << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  if (different == 0) return {};
  text << "; " << different << " of " << a.size() << " elements differ";
  return {false, text.str()};
}

}  // namespace gdr::test
