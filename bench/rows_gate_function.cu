// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Gate functions applied inside the kernel, bfloat16.

#include "bench/support/forward_row.cuh"
#include "bench/support/gate_parameters.cuh"

namespace gdr::bench {

void add_gate_function_rows(Rows& rows) {
  Problem problem;
  problem.batch = 8;
  problem.seq_len = 2048;
  problem.heads = 16;
  problem.gates = Gates::logits;
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Sigmoid>>, RecurrentPolicy>(
      rows, "value-sigmoid", problem);
  add_forward<Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<SoftplusDecay>>, RecurrentPolicy>(
      rows, "value-softplus", problem);
}

}  // namespace gdr::bench
