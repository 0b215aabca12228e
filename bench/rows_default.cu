// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The default case and its larger brother, float32, beside both baselines.

#include "bench/support/forward_row.cuh"

namespace gdr::bench {

void add_default_rows(Rows& rows) {
  using Layer = Recurrence<HeadDim<24>, float>;
  const std::string layer = "value-linear";

  // A call this small finds its inputs in the L2, where the call before it left them.
  Problem problem;
  problem.batch = 2;
  problem.seq_len = 128;
  problem.heads = 4;
  problem.resident = true;
  for (const Method method : {Method::graph, Method::stream, Method::cold}) {
    problem.method = method;
    add_forward<Layer, RecurrentPolicy>(rows, layer, problem);
  }
  problem.method = Method::graph;
  add_baseline<Layer, StateIn::shared>(rows, layer, problem);
  add_baseline<Layer, StateIn::registers>(rows, layer, problem);

  problem.batch = 8;
  problem.heads = 16;
  add_forward<Layer, RecurrentPolicy>(rows, layer, problem);
  add_baseline<Layer, StateIn::shared>(rows, layer, problem);
  add_baseline<Layer, StateIn::registers>(rows, layer, problem);
}

}  // namespace gdr::bench
