// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Random numbers by position: the same on host and device, whatever the order of the threads.

#include <gdr/config.hpp>

#include <cstdint>

namespace gdr::bench {

using std::uint64_t;

/// 64 well-mixed bits of a seed and a position (the finaliser of splitmix64).
GDR_HOST_DEVICE uint64_t random_bits(uint64_t seed, uint64_t position) {
  uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + position * 0xd1342543de82ef95u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Uniform between low and high, in steps of 2^-24 of the range.
GDR_HOST_DEVICE float random_uniform(uint64_t seed, uint64_t position, float low, float high) {
  const float unit = static_cast<float>(random_bits(seed, position) >> 40) * 0x1p-24f;
  return low + (high - low) * unit;
}

}  // namespace gdr::bench
