// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Rows of the chunked form at other extents of K and V than 64 and 128, each with each: as many
/// layer types as pairs, so in GDR_BENCH_EXTENT_PARTS parts that are compiled side by side.

#include "bench/support/row.hpp"

namespace gdr::bench {

inline constexpr int extents[] = {32, 48, 80, 96, 160, 192, 256};
inline constexpr int extent_count = sizeof(extents) / sizeof(extents[0]);
inline constexpr int extent_pairs = extent_count * extent_count;

/// Every GDR_BENCH_EXTENT_PARTS-th pair from `part` on.
template <int part>
void add_extents(Rows& rows);

}  // namespace gdr::bench
