// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Sums over groups of lanes. The order of the additions is fixed by the group's size alone.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

inline constexpr unsigned full_warp = 0xffffffffu;

/// x, which is the same in all lanes, in a uniform register: the compiler does not find out about a
/// number that counts in a loop within a loop.
GDR_DEVICE int uniform(int x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_min_sync(full_warp, x);
#else
  return x;  // on devices below, a sentence says that they are not served
#endif
}

/// Sums of N values over groups of `Lanes` neighbouring lanes; every lane gets every sum.
template <int Lanes, int N>
GDR_DEVICE void sum_over_lanes(float (&x)[N]) {
#pragma unroll
  for (int distance = Lanes / 2; distance >= 1; distance /= 2) {
#pragma unroll
    for (int n = 0; n < N; ++n) x[n] += __shfl_xor_sync(full_warp, x[n], distance);
  }
}

/// 1 / sqrt(sum x^2 + eps) over a row of `width` elements, x_c = at(c), by a warp. A row of zeros with
/// eps 0 gives 0, and so stays zero.
template <class At>
GDR_DEVICE float inverse_norm(int width, float eps, int lane, At&& at) {
  float sum[1] = {0};
  for (int c = lane; c < width; c += 32) {
    const float x = at(c);
    sum[0] = fmaf(x, x, sum[0]);
  }
  sum_over_lanes<32>(sum);
  const float norm = sqrtf(sum[0] + eps);
  return norm == 0 ? 0.0f : 1.0f / norm;
}

GDR_NAMESPACE_END
