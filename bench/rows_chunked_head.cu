// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The chunked form under the head gate, bfloat16.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_chunked_head_rows(Rows& rows) {
  const Problem problem = chunked_problem(1, 8192, 64);
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, HeadGate<Linear>>, ChunkedPolicy>(
      rows, "head-linear", problem);
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, HeadGate<Log>>, ChunkedPolicy>(
      rows, "head-log", problem);
}

}  // namespace gdr::bench
