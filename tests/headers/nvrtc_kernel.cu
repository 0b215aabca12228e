// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The kernels over thread/ and block/, compiled at run time.

#include <gdr/dispatch/policy.hpp>
#include <gdr/kernel/chunked.cuh>
#include <gdr/kernel/recurrent.cuh>

using Layer = gdr::Recurrence<gdr::HeadDim<24>, __half, gdr::ValueGate<gdr::Log>>;
template __global__ void gdr::recurrent_kernel<Layer, gdr::DefaultPolicy<Layer>>(
    const __grid_constant__ gdr::ForwardParams<Layer>);
template __global__ void gdr::chunked_kernel<Layer, gdr::DefaultPolicy<Layer>>(
    const __grid_constant__ gdr::ChunkedParams<Layer>);
template __global__ void gdr::piece_walk_kernel<Layer>(
    const __grid_constant__ gdr::ChunkedParams<Layer>);
