// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The value gate in bfloat16, in both gate spaces: one long shape, and many short sequences.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_value_gate_rows(Rows& rows) {
  using Linear128 = Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Linear>>;
  using Log128 = Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Log>>;

  Problem problem;
  problem.batch = 8;
  problem.seq_len = 2048;
  problem.heads = 16;
  for (const Gates gates : {Gates::slow, Gates::fast, Gates::mixed, Gates::resets}) {
    problem.gates = gates;
    add_forward<Linear128, RecurrentPolicy>(rows, "value-linear", problem);
    add_forward<Log128, RecurrentPolicy>(rows, "value-log", problem);
  }
  problem.gates = Gates::slow;
  add_baseline<Linear128, StateIn::shared>(rows, "value-linear", problem);
  add_baseline<Linear128, StateIn::registers>(rows, "value-linear", problem);

  Problem short_sequences = problem;
  short_sequences.batch = 1;
  short_sequences.seq_len = 4096 * 16;
  short_sequences.sequences = 4096;
  add_forward<Linear128, RecurrentPolicy>(rows, "value-linear", short_sequences);
  add_forward<Log128, RecurrentPolicy>(rows, "value-log", short_sequences);
}

}  // namespace gdr::bench
