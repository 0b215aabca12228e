// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The recurrent form: one block per sequence, value head and block of value columns.

#include <gdr/block/recurrent.cuh>
#include <gdr/block/state_io.cuh>
#include <gdr/block/tile_store.cuh>
#include <gdr/thread/fast_divisor.hpp>
#include <gdr/thread/special_registers.cuh>

GDR_NAMESPACE_BEGIN

/// Blocks of the recurrent kernel along the value axis, for the layer type's extent: a division by
/// a constant in the kernel. Where the extent of the arguments is smaller, surplus blocks leave.
template <class Layer, class Policy>
inline constexpr int recurrent_column_blocks = (Layer::value_dim +
                                                Policy::recurrent.columns_per_block() - 1) /
                                               Policy::recurrent.columns_per_block();

/// The kernel's parameters. `args` are resolved.
template <class Layer>
struct RecurrentParams {
  ForwardArgs<Layer> args;
  FastDivisor heads;  // by args.shape.heads
};

/// What a block works on.
struct BlockProblem {
  unsigned sequence;
  int head;
  int first_column;
};

/// The problem of a block, from %ctaid.x read anew each time: the step loop has no register to
/// spare for a value that is needed before and after it.
template <class Layer, class Policy>
GDR_DEVICE BlockProblem block_problem(const FastDivisor& heads) {
  constexpr unsigned column_blocks = recurrent_column_blocks<Layer, Policy>;
  const unsigned block = block_index_x();
  const unsigned sequence_and_head = block / column_blocks;
  const unsigned sequence = heads.quotient(sequence_and_head);
  return {sequence, static_cast<int>(heads.remainder(sequence_and_head, sequence)),
          static_cast<int>(block % column_blocks) * Policy::recurrent.columns_per_block()};
}

/// Grid: N * Hv * column blocks, all in x.
template <class Layer, class Policy>
GDR_HIDDEN __global__ void __launch_bounds__(Policy::recurrent.threads(),
                                             Policy::recurrent.blocks_per_sm)
    recurrent_kernel(const __grid_constant__ RecurrentParams<Layer> params) {
  using Block = BlockRecurrent<Layer, Policy>;
  const ForwardArgs<Layer>& args = params.args;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& storage = *reinterpret_cast<typename Block::TempStorage*>(shared_memory);

  const BlockProblem problem = block_problem<Layer, Policy>(params.heads);
  if (problem.first_column >= args.shape.value_dim) return;
  const SequenceBounds bounds = sequence_bounds(args, problem.sequence);
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
    const BlockProblem same = block_problem<Layer, Policy>(params.heads);
    store_state(block, args.final_state, same.sequence, same.head, args.shape.key_dim,
                args.shape.value_dim);
  }
}

GDR_NAMESPACE_END
