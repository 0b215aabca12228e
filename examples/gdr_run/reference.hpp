// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The problem through the library's reference, in double on one CPU core.

#include "problem.hpp"

namespace gdr_run {

struct Expected {
  std::vector<double> o;            // [B, T, Hv, V]; 0 past the last sequence
  std::vector<double> final_state;  // [N, Hv, K, V] or [N, Hv, V, K] by the layout
};

/// Any layer, compiled or not. Shows a bar on a terminal.
Expected compute_reference(const Problem& problem);

}  // namespace gdr_run
