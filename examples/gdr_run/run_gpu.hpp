// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The problem on the GPU.

#include "problem.hpp"

namespace gdr_run {

inline constexpr int samples = 30;  // of every time

struct GpuResult {
  std::vector<float> o;              // [B, T, Hv, V]; 0 past the last sequence
  std::vector<float> final_state;    // where it is wanted, in the problem's layout
  double time_us = 0;                // of one launch
  double empty_us = 0;               // of a kernel that does nothing
  double copy_bytes_per_second = 0;  // read and written
};

/// Throws std::runtime_error where the library or CUDA refuses. Defined by run_gpu.cu, or by
/// run_no_cuda.cpp where there is no CUDA compiler.
GpuResult run_on_gpu(const Problem& problem);

}  // namespace gdr_run
