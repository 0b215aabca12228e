// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What the demo computes: problems in host memory, and who computes them.

#include <gdr/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

inline constexpr int small_dim = 24;  // of the default case
inline constexpr int text_dim = 64;

/// Value gate, linear, outer product, float32: the default layer.
template <int D>
using Layer = gdr::Recurrence<gdr::HeadDim<D>, float>;

struct Problem {
  std::string title;
  int64_t batch = 0;                 // B
  int64_t seq_len = 0;               // T
  int64_t heads = 0;                 // H
  int dim = 0;                       // D, small_dim or text_dim
  std::vector<float> q, k, v, gate;  // [B, T, H, D]

  int64_t count() const { return batch * seq_len * heads * dim; }

  template <int D>
  gdr::ForwardArgs<Layer<D>> args(const float* q_at, const float* k_at, const float* v_at,
                                  const float* gate_at, float* o_at) const {
    gdr::ForwardArgs<Layer<D>> args;
    args.shape.batch = batch;
    args.shape.seq_len = seq_len;
    args.shape.heads = heads;
    args.q = q_at;
    args.k = k_at;
    args.v = v_at;
    args.gate = gate_at;
    args.o = o_at;
    return args;
  }
};

struct Result {
  std::vector<float> o;    // [B, T, H, D]
  double time_us = 0;      // of one launch
  double baseline_us = 0;  // likewise
};

struct GpuReport {
  double copy_bytes_per_second = 0;
  std::vector<Result> results;
};

// Defined by demo_gpu.cu, or by demo_no_cuda.cpp where there is no CUDA compiler.
GpuReport run_on_gpu(const std::vector<Problem>& problems);

}  // namespace demo
