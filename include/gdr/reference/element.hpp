// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Elements to and from double, by their bits: one code for the storage types and for CUDA's own,
/// with one rounding (to nearest, ties to even) on the way down.

#include <gdr/types/element.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

GDR_NAMESPACE_BEGIN

namespace reference {

namespace detail {

/// A 16-bit format, told by the bits of its fraction: 10 for binary16, 7 for bfloat16.
struct Format16 {
  int fraction_bits;

  int exponent_bits() const { return 15 - fraction_bits; }
  int infinity() const { return ((1 << exponent_bits()) - 1) << fraction_bits; }
  /// The exponent of the smallest normal number, shared by the denormal ones.
  int smallest_exponent() const { return 2 - (1 << (exponent_bits() - 1)); }
};

inline Format16 format16(DataType type) { return {type == DataType::float16 ? 10 : 7}; }

inline double decode16(uint16_t bits, Format16 format) {
  const int magnitude = bits & 0x7fff;
  const int field = magnitude >> format.fraction_bits;
  const int fraction = magnitude & ((1 << format.fraction_bits) - 1);
  double value = 0;
  if (magnitude > format.infinity()) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (magnitude == format.infinity()) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const int hidden = field == 0 ? 0 : 1 << format.fraction_bits;
    const int exponent = format.smallest_exponent() + (field == 0 ? 0 : field - 1);
    value = std::ldexp(hidden + fraction, exponent - format.fraction_bits);
  }
  return std::copysign(value, (bits & 0x8000) != 0 ? -1.0 : 1.0);
}

/// The number as a count of units in the last place. A normal count carries the hidden bit into the
/// exponent field, and so does a count that was rounded up to the next power of two.
inline uint16_t encode16(double value, Format16 format) {
  std::uint64_t pattern;
  std::memcpy(&pattern, &value, sizeof(pattern));
  const int sign = pattern >> 63 != 0 ? 0x8000 : 0;
  pattern &= ~(std::uint64_t{1} << 63);

  const int lowest = format.smallest_exponent();
  const int exponent = std::max(static_cast<int>(pattern >> 52) - 1023, lowest);
  int bits = 0;
  if (pattern > std::uint64_t{0x7ff} << 52) {
    bits = format.infinity() | 1 << (format.fraction_bits - 1);  // NaN
  } else if (exponent > 1 - lowest) {
    bits = format.infinity();
  } else {
    const double units = std::ldexp(std::fabs(value), format.fraction_bits - exponent);
    bits = ((exponent - lowest) << format.fraction_bits) + static_cast<int>(std::nearbyint(units));
  }
  return static_cast<uint16_t>(sign | bits);
}

}  // namespace detail

/// Element `index` of an array of the given type.
inline double load_element(const void* data, DataType type, int64_t index) {
  const char* address = static_cast<const char*>(data) + index * size_of(type);
  if (type == DataType::float64) {
    double value;
    std::memcpy(&value, address, sizeof(value));
    return value;
  }
  if (type == DataType::float32) {
    float value;
    std::memcpy(&value, address, sizeof(value));
    return static_cast<double>(value);
  }
  uint16_t bits;
  std::memcpy(&bits, address, sizeof(bits));
  return detail::decode16(bits, detail::format16(type));
}

/// Rounds a number into element `index` of an array of the given type.
inline void store_element(void* data, DataType type, int64_t index, double value) {
  char* address = static_cast<char*>(data) + index * size_of(type);
  if (type == DataType::float64) {
    std::memcpy(address, &value, sizeof(value));
  } else if (type == DataType::float32) {
    const float rounded = static_cast<float>(value);
    std::memcpy(address, &rounded, sizeof(rounded));
  } else {
    const uint16_t bits = detail::encode16(value, detail::format16(type));
    std::memcpy(address, &bits, sizeof(bits));
  }
}

/// The value of an element of any supported type, CUDA's included.
template <class T>
double to_double(T element) {
  return load_element(&element, data_type_of<T>, 0);
}

/// A number rounded to any supported element type, CUDA's included.
template <class T>
T from_double(double value) {
  T element{};
  store_element(&element, data_type_of<T>, 0, value);
  return element;
}

}  // namespace reference

GDR_NAMESPACE_END
