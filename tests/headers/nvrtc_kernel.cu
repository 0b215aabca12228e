// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// A kernel over thread/ and block/, compiled at run time.

#include <gdr/dispatch/policy.hpp>
#include <gdr/kernel/recurrent.cuh>

using Layer = gdr::Recurrence<gdr::HeadDim<24>, __half, gdr::ValueGate<gdr::Log>>;
template __global__ void gdr::recurrent_kernel<Layer, gdr::DefaultPolicy<Layer>>(
    const __grid_constant__ gdr::ForwardParams<Layer>);
