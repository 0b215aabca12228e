// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// How far a result is from the reference, and how far it may be.

#include "problem.hpp"

#include <algorithm>
#include <cmath>

namespace gdr_run {

/// |x - expected| / |expected| in 2-norms; a NaN in either makes it NaN.
inline double relative_error(const std::vector<float>& x, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double d = static_cast<double>(x[i]) - expected[i];
    difference += d * d;
    size += expected[i] * expected[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

/// What docs/contracts.md promises for inputs that do not cancel.
inline double error_bound(const Problem& problem) {
  if (problem.key.type == gdr::DataType::float16) return 1e-3;
  if (problem.key.type == gdr::DataType::bfloat16) return 4e-3;
  // A chunked form, asked for or chosen.
  if (problem.algorithm != gdr::Algorithm::recurrent && !problem.key.delta_rule) return 1e-5;
  const bool log_space = problem.key.gate_function.log_space();
  const bool grows = std::any_of(problem.gate.begin(), problem.gate.end(), [=](float gate) {
    return log_space ? gate > 0 : std::fabs(gate) > 1;
  });
  const double length = static_cast<double>(problem.longest_sequence());
  return 1e-6 * std::sqrt(std::max(1.0, length / 1024)) * (grows ? 2 : 1);
}

}  // namespace gdr_run
