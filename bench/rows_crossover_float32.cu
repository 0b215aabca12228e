// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Where the forms cross, float32. Where whole and cut sequences cross, automatic takes no other form
// than the chunked ones: their policy is enough.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_crossover_float32_rows(Rows& rows) {
  add_crossover<Recurrence<HeadDim<64>, float, ValueGate<Log>>>(rows, "value-log");
  add_crossover<Recurrence<HeadDim<24>, float, ValueGate<Log>>>(rows, "value-log");
  add_split_crossover<Recurrence<HeadDim<128>, float, ValueGate<Log>>, ChunkedPolicy>(
      rows, "value-log", {16, 33}, {512, 1024, 2048});
}

}  // namespace gdr::bench
