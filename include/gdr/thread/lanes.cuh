// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Sums over groups of lanes. The order of the additions is fixed by the group's size alone.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

inline constexpr unsigned full_warp = 0xffffffffu;

/// Sums of N values over groups of `Lanes` neighbouring lanes; every lane gets every sum.
template <int Lanes, int N>
GDR_DEVICE void sum_over_lanes(float (&x)[N]) {
#pragma unroll
  for (int distance = Lanes / 2; distance >= 1; distance /= 2) {
#pragma unroll
    for (int n = 0; n < N; ++n) x[n] += __shfl_xor_sync(full_warp, x[n], distance);
  }
}

GDR_NAMESPACE_END
