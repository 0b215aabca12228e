// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Division by a number that the host knows: two instructions in a kernel where the hardware takes
/// some thirty, which a problem of a few microseconds feels before its first load.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

/// Divides numbers below 2^31 by `divisor` (1 to 2^31 - 1).
class FastDivisor {
 public:
  FastDivisor() = default;
  explicit FastDivisor(uint32_t divisor) : divisor_(divisor) {
    // With s = ceil(log2 d): n / d = (n + floor(n m / 2^32)) / 2^s for m = 2^32 (2^s - d) / d + 1.
    while ((uint64_t{1} << shift_) < divisor) ++shift_;
    multiplier_ = static_cast<uint32_t>(
        (uint64_t{1} << 32) * ((uint64_t{1} << shift_) - divisor) / divisor + 1);
  }

  GDR_HOST_DEVICE uint32_t divisor() const { return divisor_; }
  GDR_HOST_DEVICE uint32_t quotient(uint32_t n) const {
    const auto product = static_cast<uint64_t>(n) * multiplier_;
    return (static_cast<uint32_t>(product >> 32) + n) >> shift_;
  }
  GDR_HOST_DEVICE uint32_t remainder(uint32_t n, uint32_t quotient) const {
    return n - quotient * divisor_;
  }

 private:
  uint32_t divisor_ = 1;
  uint32_t multiplier_ = 1;
  uint32_t shift_ = 0;
};

GDR_NAMESPACE_END
