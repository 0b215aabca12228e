// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The chunked form at other extents of K and V, bfloat16: as many heads as give every one of an
// H200's 132 multiprocessors at most one block. Eleven layer types, so compiled only where
// GDR_BENCH_ALL_EXTENTS is on.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {
namespace {

template <int K, int V>
void add(Rows& rows) {
  const int64_t heads = 132 / ((V + 63) / 64);
  add_forward<Recurrence<HeadDims<K, V>, __nv_bfloat16, ValueGate<Log>>, ChunkedPolicy>(
      rows, "value-log", chunked_problem(1, 8192, heads));
}

}  // namespace

void add_chunked_extent_rows(Rows& rows) {
  add<32, 32>(rows);
  add<48, 48>(rows);
  add<80, 80>(rows);
  add<96, 96>(rows);
  add<160, 160>(rows);
  add<192, 192>(rows);
  add<256, 256>(rows);
  add<32, 256>(rows);
  add<256, 32>(rows);
  add<48, 160>(rows);
  add<192, 96>(rows);
}

}  // namespace gdr::bench
