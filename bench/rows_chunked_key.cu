// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The chunked form under the key gate, bfloat16.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_chunked_key_rows(Rows& rows) {
  const Problem problem = chunked_problem(1, 8192, 64);
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, KeyGate<Linear>>, ChunkedPolicy>(
      rows, "key-linear", problem);
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, KeyGate<Log>>, ChunkedPolicy>(rows, "key-log",
                                                                                    problem);
}

}  // namespace gdr::bench
