// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// One layer of each element type.

#include <gdr/gated_delta.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class Element, class Gate>
gdr::Status run(cudaStream_t stream) {
  using Layer = gdr::Recurrence<gdr::HeadDim<24>, Element, Gate>;
  return gdr::forward<Layer>(gdr::ForwardArgs<Layer>{}, stream);
}

template gdr::Status run<float, gdr::ValueGate<gdr::Log>>(cudaStream_t);
template gdr::Status run<__half, gdr::KeyGate<gdr::Linear>>(cudaStream_t);
template gdr::Status run<__nv_bfloat16, gdr::HeadGate<gdr::Log>>(cudaStream_t);
