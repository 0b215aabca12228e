// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// One part of the extents: every GDR_BENCH_EXTENT_PARTS-th pair from GDR_BENCH_EXTENT_PART on.

#include "bench/support/extents.hpp"
#include "bench/support/forward_row.cuh"

namespace gdr::bench {
namespace {

/// Of the two tunings the one that a device of 227 KiB of shared memory takes.
template <class Layer>
struct StandardChunks {
  static constexpr ChunkedTuning chunked = ChunkedPolicy<Layer>::chunked;
};

/// bfloat16, a value gate in log space, and as many heads as give every one of an H200's 132
/// multiprocessors at most one block.
template <int pair>
void add(Rows& rows) {
  if constexpr (pair < extent_pairs) {
    constexpr int key_dim = extents[pair / extent_count];
    constexpr int value_dim = extents[pair % extent_count];
    const int64_t heads = 132 / ((value_dim + 63) / 64);
    using Layer = Recurrence<HeadDims<key_dim, value_dim>, __nv_bfloat16, ValueGate<Log>>;
    add_forward<Layer, StandardChunks>(rows, "value-log", chunked_problem(1, 8192, heads));
    add<pair + GDR_BENCH_EXTENT_PARTS>(rows);
  }
}

}  // namespace

template <>
void add_extents<GDR_BENCH_EXTENT_PART>(Rows& rows) {
  add<GDR_BENCH_EXTENT_PART>(rows);
}

}  // namespace gdr::bench
