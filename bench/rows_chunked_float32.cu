// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The chunked form under the value gate, float32.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_chunked_float32_rows(Rows& rows) {
  const Problem problem = chunked_problem(1, 8192, 64);
  add_forward<Recurrence<HeadDim<128>, float, ValueGate<Linear>>, ChunkedPolicy>(
      rows, "value-linear", problem);
  add_forward<Recurrence<HeadDim<128>, float, ValueGate<Log>>, ChunkedPolicy>(rows, "value-log",
                                                                              problem);
}

}  // namespace gdr::bench
