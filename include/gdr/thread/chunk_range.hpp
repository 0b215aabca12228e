// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The range rules of the chunked form: when gate products may be divided by, and over how many
/// tokens they may be formed. Host and device.

#include <gdr/config.hpp>

#if !defined(__CUDACC_RTC__)
#include <math.h>
#include <string.h>
#endif

GDR_NAMESPACE_BEGIN

/// Where a chunk's gate products, formed outward from its centre, may serve as divisors: all within
/// 2^-64 .. 2^64, so that a product, its reciprocal and what they scale stay in float's range.
///
///     DivisionRange range;
///     range.add(product); ...  // each product
///     range.holds()
///
/// What was scaled must be finite, too. NaN is left to that check: fminf and fmaxf drop it, but a
/// NaN product leaves NaN in what it scales.
struct DivisionRange {
  float smallest = 1.0f;
  float largest = 1.0f;

  GDR_HOST_DEVICE void add(float product) {
    smallest = ::fminf(smallest, ::fabsf(product));
    largest = ::fmaxf(largest, ::fabsf(product));
  }
  GDR_HOST_DEVICE bool holds() const { return smallest >= 0x1p-64f && largest <= 0x1p64f; }
  /// Where the products are factors alone, and no divisors: all are normal numbers.
  GDR_HOST_DEVICE bool are_normal() const { return smallest >= 0x1p-126f && largest <= 0x1p126f; }
};

/// DivisionRange for products that are given by their logarithms to base 2.
struct LogDivisionRange {
  float largest = 0.0f;

  GDR_HOST_DEVICE void add(float log2_product) {
    largest = ::fmaxf(largest, ::fabsf(log2_product));
  }
  GDR_HOST_DEVICE bool holds() const { return largest <= 64.0f; }
  GDR_HOST_DEVICE bool are_normal() const { return largest <= 126.0f; }
};

namespace detail {

GDR_HOST_DEVICE int exponent_of(float x) {  // of a normal number; -127 for 0 and denormals
  uint32_t bits;
#if defined(__CUDA_ARCH__)
  bits = __float_as_uint(x);
#else
  memcpy(&bits, &x, sizeof(bits));
#endif
  return static_cast<int>(bits >> 23 & 0xff) - 127;
}

}  // namespace detail

/// How far a gate moves a product, in powers of two. 0 for a gate that is 0 or not finite, of which
/// every product is what it should be.
GDR_HOST_DEVICE int gate_weight(float gate) {
  if (gate == 0.0f) return 0;
  const int exponent = detail::exponent_of(gate);
  if (exponent == 128) return 0;
  return exponent >= 0 ? exponent + 1 : -exponent;
}

/// x y, a product of gates, kept in float's range: what multiplies 0 must not be infinite. NaN
/// stays.
GDR_HOST_DEVICE float gate_product(float x, float y) {
  constexpr float largest = 3.402823466e38f;
  float product = x * y;
#if defined(__CUDA_ARCH__)
  asm("max.NaN.f32 %0, %0, %1;" : "+f"(product) : "f"(-largest));
  asm("min.NaN.f32 %0, %0, %1;" : "+f"(product) : "f"(largest));
  return product;
#else
  return product > largest ? largest : product < -largest ? -largest : product;
#endif
}

/// A product of many gates, as mantissa * 2^exponent: out of float's range it is still a number.
struct ScaledProduct {
  float mantissa = 1.0f;
  int exponent = 0;

  GDR_HOST_DEVICE void multiply(float factor) {
    mantissa *= normalised(factor);
    mantissa = normalised(mantissa);
  }
  GDR_HOST_DEVICE void multiply(const ScaledProduct& other) {
    multiply(other.mantissa);
    exponent += other.exponent;
  }
  /// x times the product.
  GDR_HOST_DEVICE float apply(float x) const {
    float one[1] = {x};
    apply(one);
    return one[0];
  }
  template <int N>
  GDR_HOST_DEVICE void apply(float (&x)[N]) const {
    GDR_UNROLL
    for (float& y : x) y *= mantissa;
    // In steps by normal numbers: three lead from a float's least to its largest.
    int rest = exponent;
    GDR_UNROLL
    for (int i = 0; i < 3; ++i) {
      const int step = rest < -126 ? -126 : rest > 127 ? 127 : rest;
      const float power = power_of_2(step);
      GDR_UNROLL
      for (float& y : x) y *= power;
      rest -= step;
      if (rest == 0) break;
    }
  }

 private:
  /// Of an exponent that a normal number has.
  GDR_HOST_DEVICE static float power_of_2(int e) {
    const auto bits = static_cast<uint32_t>(e + 127) << 23;
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    float power;
    memcpy(&power, &bits, sizeof(power));
    return power;
#endif
  }
  /// x / 2^e with a magnitude from 0.5 to 1, e added to the exponent; 0, infinity and NaN as they
  /// are.
  GDR_HOST_DEVICE float normalised(float x) {
    int e = 0;
    const float m = ::frexpf(x, &e);
    if (m == 0.0f || !(::fabsf(m) <= 1.0f)) return x;
    exponent += e;
    return m;
  }
};

/// Whether products of gates with these weights in sum neither overflow nor underflow, alone and
/// with a value of the given exponent.
inline constexpr int max_span_weight = 120;

GDR_NAMESPACE_END
