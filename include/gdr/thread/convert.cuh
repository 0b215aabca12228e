// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Elements to float and back, and vector accesses, on one thread.

#include <gdr/types/element.hpp>

GDR_NAMESPACE_BEGIN

GDR_DEVICE float to_float(float x) { return x; }
GDR_DEVICE float to_float(__half x) { return __half2float(x); }
GDR_DEVICE float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
GDR_DEVICE float to_float(float16 x) { return __half2float(__ushort_as_half(x.bits)); }
GDR_DEVICE float to_float(bfloat16 x) { return __bfloat162float(__ushort_as_bfloat16(x.bits)); }

/// Round to nearest even.
template <class T>
GDR_DEVICE T from_float(float x);
template <>
GDR_DEVICE float from_float<float>(float x) {
  return x;
}
template <>
GDR_DEVICE __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
GDR_DEVICE __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
GDR_DEVICE float16 from_float<float16>(float x) {
  return {__half_as_ushort(__float2half_rn(x))};
}
template <>
GDR_DEVICE bfloat16 from_float<bfloat16>(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

/// N elements that move in one access; N * sizeof(T) is 1 to 16 and a power of two.
template <class T, int N>
struct alignas(N * sizeof(T)) Vector {
  T data[N];
};

/// The same as the words a load brings: elements are packed and unpacked one by one.
template <class T, int N>
struct alignas(N * sizeof(T)) PackedVector {
  static constexpr int words = (N * static_cast<int>(sizeof(T)) + 3) / 4;
  stdx::conditional_t<N * sizeof(T) == 2, uint16_t, uint32_t> word[words];

  GDR_DEVICE float get(int e) const {
    if constexpr (sizeof(T) == 4) {
      return __uint_as_float(word[e]);
    } else {
      const bfloat16 bits{static_cast<uint16_t>(word[e / 2] >> (16 * (e % 2)))};
      if constexpr (data_type_of<T> == DataType::bfloat16) return to_float(bits);
      return to_float(float16{bits.bits});
    }
  }
  GDR_DEVICE void set(int e, T x) {
    if constexpr (sizeof(T) == 4) {
      word[e] = __float_as_uint(x);
    } else {
      uint16_t bits;
      memcpy(&bits, &x, sizeof(bits));
      word[e / 2] = static_cast<decltype(word[0] + 0)>(
          e % 2 == 0 ? bits : word[e / 2] | uint32_t{bits} << 16);
    }
  }
};

/// The widest vector, in elements of `size` bytes, that divides a row of `extent` elements.
GDR_HOST_DEVICE constexpr int vector_width(int extent, int size) {
  int width = 16 / size;
  while (extent % width != 0) width /= 2;
  return width;
}

/// N elements that move in one access, as floats.
template <class T, int N>
GDR_DEVICE void load_elements(const T* source, float (&x)[N]) {
  const auto elements = *reinterpret_cast<const Vector<T, N>*>(source);
#pragma unroll
  for (int e = 0; e < N; ++e) x[e] = to_float(elements.data[e]);
}

/// N floats from (or to) an address aligned to the widest vector that divides N.
template <int N>
GDR_DEVICE void load_floats(const float* source, float (&x)[N]) {
  constexpr int width = vector_width(N, 4);
#pragma unroll
  for (int n = 0; n < N; n += width) {
    const auto piece = *reinterpret_cast<const Vector<float, width>*>(source + n);
#pragma unroll
    for (int e = 0; e < width; ++e) x[n + e] = piece.data[e];
  }
}

template <int N>
GDR_DEVICE void store_floats(float* target, const float (&x)[N]) {
  constexpr int width = vector_width(N, 4);
#pragma unroll
  for (int n = 0; n < N; n += width) {
    Vector<float, width> piece;
#pragma unroll
    for (int e = 0; e < width; ++e) piece.data[e] = x[n + e];
    *reinterpret_cast<Vector<float, width>*>(target + n) = piece;
  }
}

GDR_NAMESPACE_END
