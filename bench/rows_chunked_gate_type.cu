// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The chunked form with value gates in float32 beside bfloat16 tensors.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_chunked_gate_type_rows(Rows& rows) {
  const Problem problem = chunked_problem(1, 8192, 64);
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Linear, float>>, ChunkedPolicy>(
      rows, "value-linear-gate32", problem);
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Log, float>>, ChunkedPolicy>(
      rows, "value-log-gate32", problem);
}

}  // namespace gdr::bench
