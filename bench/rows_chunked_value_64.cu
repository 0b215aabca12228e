// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The chunked form under the value gate, bfloat16, D 64, and where the forms cross, D 64 and 32.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_chunked_value_64_rows(Rows& rows) {
  using Linear64 = Recurrence<HeadDim<64>, __nv_bfloat16, ValueGate<Linear>>;
  using Log64 = Recurrence<HeadDim<64>, __nv_bfloat16, ValueGate<Log>>;
  const Problem problem = chunked_problem(8, 4096, 32);
  add_forward<Linear64, ChunkedPolicy>(rows, "value-linear", problem);
  add_forward<Log64, ChunkedPolicy>(rows, "value-log", problem);
  add_crossover<Log64>(rows, "value-log");
  add_crossover<Recurrence<HeadDim<32>, __nv_bfloat16, ValueGate<Log>>>(rows, "value-log");
}

}  // namespace gdr::bench
