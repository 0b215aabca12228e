// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Gate functions: what turns the gate tensor's raw value into the gate, inside the kernel. One's
/// own is a struct like these:
///
///     struct Clamped {
///       using Space = gdr::Linear;
///       float floor = 0.5f;
///       GDR_HOST_DEVICE float operator()(float raw, int, int) const { return fmaxf(raw, floor); }
///       GDR_HOST_DEVICE float derivative(float raw, int, int) const { return raw > floor; }
///     };
///     using Layer = gdr::Recurrence<gdr::HeadDim<64>, float, gdr::ValueGate<Clamped>>;
///     args.gate_function = {0.9f};
///
/// Arguments: the raw value, the value head, and the channel on the gate's axis (0 for a head gate
/// and for beta). `derivative` is that of the result by the raw value. The functions here give a
/// number for every number (-inf in log space is the factor 0) and NaN for NaN. A function in
/// linear space also serves for beta.

#include <gdr/types/layer.hpp>

#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

GDR_NAMESPACE_BEGIN

namespace detail {

/// 1 / y for y from 1 to 2, within a rounding. On the device without the general division's branch
/// for numbers that do not occur here.
GDR_HOST_DEVICE float reciprocal_from_1_to_2(float y) {
#if defined(__CUDA_ARCH__)
  const float r = ::__fdividef(1.0f, y);
  return ::fmaf(r, ::fmaf(-y, r, 1.0f), r);  // one step of Newton's method
#else
  return 1.0f / y;
#endif
}

/// A parameter that no kernel writes, so that the compiler may keep it from one channel to the
/// next.
GDR_HOST_DEVICE float parameter(const float* p) {
#if defined(__CUDA_ARCH__)
  return ::__ldg(p);
#else
  return *p;
#endif
}

/// 1 / (1 + exp(-x)). The exponential's argument is never positive, so that it cannot overflow.
GDR_HOST_DEVICE float sigmoid(float x) {
  const float e = ::expf(-::fabsf(x));
  return (x < 0.0f ? e : 1.0f) * reciprocal_from_1_to_2(1.0f + e);
}

/// log(1 + exp(x)): its own tail on the left, x on the right.
GDR_HOST_DEVICE float softplus(float x) { return ::fmaxf(x, 0.0f) + ::log1pf(::expf(-::fabsf(x))); }

}  // namespace detail

/// sigmoid(x)^(1 / temperature), a factor in (0, 1). A temperature above 1 draws it towards 1.
struct Sigmoid {
  using Space = Linear;
  float temperature = 1.0f;  // > 0

  GDR_HOST_DEVICE float operator()(float raw, int /*head*/, int /*channel*/) const {
    if (temperature == 1.0f) return detail::sigmoid(raw);
    // Not the sigmoid's power: below -104 the sigmoid is 0, and its 16th root is not.
    return ::expf(-detail::softplus(-raw) / temperature);
  }
  GDR_HOST_DEVICE float derivative(float raw, int head, int channel) const {
    return (*this)(raw, head, channel) * detail::sigmoid(-raw) / temperature;
  }
};

/// log(sigmoid(x)) / temperature. GLA's gate, there with temperature 16.
struct LogSigmoid {
  using Space = Log;
  float temperature = 1.0f;  // > 0

  GDR_HOST_DEVICE float operator()(float raw, int /*head*/, int /*channel*/) const {
    return -detail::softplus(-raw) / temperature;
  }
  GDR_HOST_DEVICE float derivative(float raw, int /*head*/, int /*channel*/) const {
    return detail::sigmoid(-raw) / temperature;
  }
};

/// -exp(a_log) * softplus(x + dt_bias): the gate of Mamba-2, Gated DeltaNet and KDA. The parameters
/// lie where the tensors do: on the device for the launchers, on the host for the reference.
struct SoftplusDecay {
  using Space = Log;
  const float* a_log = nullptr;    // [Hv], each at most 88, or exp overflows; null: 0
  const float* dt_bias = nullptr;  // [Hv, dt_bias_channels]; null: 0
  int dt_bias_channels = 1;        // 1: one number a head; K or V for a bias of every channel

  GDR_HOST_DEVICE float operator()(float raw, int head, int channel) const {
    return -rate(head) * detail::softplus(raw + bias(head, channel));
  }
  GDR_HOST_DEVICE float derivative(float raw, int head, int channel) const {
    return -rate(head) * detail::sigmoid(raw + bias(head, channel));
  }

 private:
  GDR_HOST_DEVICE float rate(int head) const {
    return a_log == nullptr ? 1.0f : ::expf(detail::parameter(a_log + head));
  }
  GDR_HOST_DEVICE float bias(int head, int channel) const {
    if (dt_bias == nullptr) return 0.0f;
    return detail::parameter(dt_bias +
                             (dt_bias_channels == 1 ? head : head * dt_bias_channels + channel));
  }
};

/// 1 - x, a factor. The tensor holds the distance from 1, which bfloat16 can express (0.001 within
/// 0.2 %) where it cannot express the gate (0.999 rounds to 1).
struct OneMinus {
  using Space = Linear;
  GDR_HOST_DEVICE float operator()(float raw, int /*head*/, int /*channel*/) const {
    return 1.0f - raw;
  }
  GDR_HOST_DEVICE float derivative(float /*raw*/, int /*head*/, int /*channel*/) const {
    return -1.0f;
  }
};

GDR_NAMESPACE_END
