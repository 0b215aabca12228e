// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Where the forms cross, float32.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_crossover_float32_rows(Rows& rows) {
  add_crossover<Recurrence<HeadDim<64>, float, ValueGate<Log>>>(rows, "value-log");
  add_crossover<Recurrence<HeadDim<24>, float, ValueGate<Log>>>(rows, "value-log");
}

}  // namespace gdr::bench
