// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The kernels over thread/ and block/, compiled at run time.

#include <gdr/dispatch/policy.hpp>
#include <gdr/kernel/pieces.cuh>
#include <gdr/kernel/recurrent.cuh>

using Layer = gdr::Recurrence<gdr::HeadDim<24>, __half, gdr::ValueGate<gdr::Log>>;
template __global__ void gdr::recurrent_kernel<Layer, gdr::DefaultPolicy<Layer>>(
    const __grid_constant__ gdr::ForwardParams<Layer>);
template __global__ void gdr::chunked_kernel<Layer, gdr::DefaultPolicy<Layer>>(
    const __grid_constant__ gdr::ChunkedParams<Layer>);
template __global__ void gdr::piece_walk_kernel<Layer>(
    const __grid_constant__ gdr::PieceWalkParams<Layer>);

using Bfloat = gdr::Recurrence<gdr::HeadDim<24>, __nv_bfloat16, gdr::ValueGate<gdr::Log>>;
template __global__ void gdr::part_states_kernel<Bfloat, gdr::StatesPolicy<Bfloat>>(
    const __grid_constant__ gdr::ChunkedParams<Bfloat>);
