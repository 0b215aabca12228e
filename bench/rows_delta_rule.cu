// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The value gate under the delta rule, bfloat16.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_delta_rule_rows(Rows& rows) {
  Problem problem;
  problem.batch = 8;
  problem.seq_len = 2048;
  problem.heads = 16;
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Linear>, DeltaRule<>>,
              RecurrentPolicy>(rows, "value-linear-delta", problem);
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Log>, DeltaRule<>>,
              RecurrentPolicy>(rows, "value-log-delta", problem);
}

}  // namespace gdr::bench
