// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Elements as bits in memory: reading any element type into a double, rounding a double to it.
/// The tests' own conversions, so that a fault in the library's cannot hide itself.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <gdr/types/element.hpp>

namespace gdr::test {

/// A float32 with the value, NaN payload included, of 16 bits of binary16.
inline float float_from_half_bits(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 15) << 31;
  const std::uint32_t mantissa = bits & 0x3ffu;
  const int exponent = (bits >> 10) & 31;
  if (exponent == 31) {
    const std::uint32_t word = sign | 0x7f800000u | (mantissa << 13);
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return sign != 0 ? -magnitude : magnitude;
}

/// Round to nearest, ties to even; overflow becomes infinity.
inline std::uint16_t half_bits_from(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < -14) exponent = -14;
  const int mantissa = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + mantissa));
}

/// Round to nearest, ties to even, by way of float32.
inline std::uint16_t bfloat_bits_from(double value) {
  const float single = static_cast<float>(value);
  std::uint32_t word;
  std::memcpy(&word, &single, 4);
  if (std::isnan(value)) return static_cast<std::uint16_t>((word >> 16) | 0x40);
  return static_cast<std::uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

/// The element at `from` as a float32: exact for the three types a kernel writes.
inline float decode_float(DataType type, const void* from) {
  if (type == DataType::float32) {
    float value;
    std::memcpy(&value, from, 4);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, from, 2);
  if (type == DataType::float16) return float_from_half_bits(bits);
  const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

inline double decode(DataType type, const void* from) {
  if (type != DataType::float64) return decode_float(type, from);
  double value;
  std::memcpy(&value, from, 8);
  return value;
}

inline void encode(DataType type, double value, void* to) {
  if (type == DataType::float64) {
    std::memcpy(to, &value, 8);
  } else if (type == DataType::float32) {
    const float single = static_cast<float>(value);
    std::memcpy(to, &single, 4);
  } else {
    const std::uint16_t bits =
        type == DataType::float16 ? half_bits_from(value) : bfloat_bits_from(value);
    std::memcpy(to, &bits, 2);
  }
}

/// The smallest positive normal number of a type.
inline double smallest_normal(DataType type) {
  return type == DataType::float16   ? std::ldexp(1.0, -14)
         : type == DataType::float64 ? std::numeric_limits<double>::min()
                                     : std::ldexp(1.0, -126);
}

inline const char* name_of(DataType type) {
  return type == DataType::float32    ? "float32"
         : type == DataType::float16  ? "float16"
         : type == DataType::bfloat16 ? "bfloat16"
                                      : "float64";
}

}  // namespace gdr::test
