// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// One decay factor a_t: what the state is multiplied by, made once per token and channel.

#include <gdr/types/layer.hpp>

#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include <cmath>
#endif

GDR_NAMESPACE_BEGIN

/// A factor as one float (`Compensated` false), or as the pair high + low, which carries exp(g) to
/// more than float's precision: a factor near 1 that is applied a thousand times must not itself be
/// rounded each time in the same direction (3.2e-6 at log gate -0.001, 1024 tokens).
template <bool Compensated>
struct Decay;

template <>
struct Decay<false> {
  float high;

  /// a * s + added, rounded once.
  GDR_HOST_DEVICE float apply(float s, float added) const { return fmaf(s, high, added); }
  /// a * x.
  GDR_HOST_DEVICE float scale(float x) const { return x * high; }
};

template <>
struct Decay<true> {
  float high;
  float low;

  GDR_HOST_DEVICE float apply(float s, float added) const {
    return fmaf(s, high, fmaf(s, low, added));
  }
  GDR_HOST_DEVICE float scale(float x) const { return fmaf(x, high, x * low); }
};

/// Whether a layer's factors are pairs: float32 tensors with gates in log space. The rounding of
/// 16-bit tensors is far above what the pair saves.
template <class Layer>
inline constexpr bool compensated_decay =
    stdx::is_same<typename Layer::Space, Log>::value&& Layer::element_type == DataType::float32;

/// The factor of a gate given in `Space`: g or exp(g).
template <class Space, bool Compensated>
GDR_HOST_DEVICE Decay<Compensated> make_decay(float gate) {
  if constexpr (stdx::is_same<Space, Linear>::value) {
    static_assert(!Compensated, "a linear gate is exact as it is");
    return {gate};
  } else if constexpr (Compensated) {
    // Slow gates through expm1, whose error is relative to g; it would lose fast ones (exp(-10)),
    // and says no more than expf where it exceeds 1.
    if (gate > -0.5f && gate < 0.6931f) {
      const float e = expm1f(gate);
      const float high = 1.0f + e;
      return {high, e - (high - 1.0f)};
    }
    return {expf(gate), 0.0f};
  } else {
    return {expf(gate)};
  }
}

/// The factor of a layer's gate: what the gate function returned.
template <class Layer>
GDR_HOST_DEVICE Decay<compensated_decay<Layer>> make_decay(float gate) {
  return make_decay<typename Layer::Space, compensated_decay<Layer>>(gate);
}

GDR_NAMESPACE_END
