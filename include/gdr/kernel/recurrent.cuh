// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The recurrent form: one block per sequence, value head and block of value columns.

#include <gdr/block/recurrent.cuh>
#include <gdr/block/state_io.cuh>
#include <gdr/block/tile_store.cuh>
#include <gdr/kernel/block_problem.cuh>

GDR_NAMESPACE_BEGIN

/// Grid: N * Hv * column blocks, all in x.
template <class Layer, class Policy>
GDR_HIDDEN __global__ void __launch_bounds__(Policy::recurrent.threads(),
                                             Policy::recurrent.blocks_per_sm)
    recurrent_kernel(const __grid_constant__ ForwardParams<Layer> params) {
  using Block = BlockRecurrent<Layer, Policy>;
  const ForwardArgs<Layer>& args = params.args;
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& storage = *reinterpret_cast<typename Block::TempStorage*>(shared_memory);

  const BlockProblem problem = block_problem<Layer::value_dim, Block::columns>(params.heads);
  if (problem.first_column >= args.shape.value_dim) return;
  const SequenceBounds bounds = sequence_bounds(args, problem.sequence);
  if (!GDR_LIKELY(bounds.length < params.below)) return;
  const Span<Layer> span = span_of(args, bounds, problem.head);
  Block block(storage, problem.first_column);
  load_state(block, args.initial_state, problem.sequence, span);

  const auto rows = rows_of(args.o, bounds, problem.head);
  const TileTarget<typename Layer::Element> o{rows.data + problem.first_column, rows.time_stride,
                                              span.value_dim - problem.first_column};
  const bool has_o = args.o.data != nullptr;
  block.run(span, [&](const typename Block::Output& output) {
    if (has_o) store_output<Block::columns, Block::stage_threads>(o, output);
  });

  if (!GDR_LIKELY(args.final_state.data == nullptr)) {
    const BlockProblem same = block_problem<Layer::value_dim, Block::columns>(params.heads);
    store_state(block, args.final_state, same.sequence, same.head, args.shape.key_dim,
                args.shape.value_dim);
  }
}

GDR_NAMESPACE_END
