// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The other gate axes on the value gate's shape, bfloat16.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_gate_axis_rows(Rows& rows) {
  Problem problem;
  problem.batch = 8;
  problem.seq_len = 2048;
  problem.heads = 16;
  for (const Gates gates : {Gates::slow, Gates::fast}) {
    problem.gates = gates;
    add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, KeyGate<Log>>, RecurrentPolicy>(
        rows, "key-log", problem);
    add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, HeadGate<Log>>, RecurrentPolicy>(
        rows, "head-log", problem);
  }
  problem.gates = Gates::none;
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, NoGate>, RecurrentPolicy>(rows, "none",
                                                                                problem);
}

}  // namespace gdr::bench
