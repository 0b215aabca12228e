// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The chunked form: one block per sequence, value head and block of value columns.

#include <gdr/block/chunked.cuh>
#include <gdr/block/fragment_store.cuh>
#include <gdr/block/state_io.cuh>
#include <gdr/kernel/block_problem.cuh>

GDR_NAMESPACE_BEGIN

/// Grid: N * Hv * column blocks, all in x.
template <class Layer, class Policy>
GDR_HIDDEN __global__ void __launch_bounds__(Policy::chunked.threads(), 1)
    chunked_kernel(const __grid_constant__ ForwardParams<Layer> params) {
  using Block = BlockChunked<Layer, Policy>;
  const ForwardArgs<Layer>& args = params.args;
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& storage = *reinterpret_cast<typename Block::TempStorage*>(shared_memory);

  const BlockProblem problem = block_problem<Layer::value_dim, Block::columns>(params.heads);
  if (problem.first_column >= args.shape.value_dim) return;
  const SequenceBounds bounds = sequence_bounds(args, problem.sequence);
  const Span<Layer> span = span_of(args, bounds, problem.head);
  Block block(storage, problem.first_column, args.split_state_operand);
  if (block.role() == ChunkRole::load) {
    if constexpr (moves_registers<Policy>) release_registers<Block::Extents::load_registers>();
    block.load(span);
  } else if (block.role() == ChunkRole::prepare) {
    if constexpr (moves_registers<Policy>) release_registers<Block::Extents::prepare_registers>();
    block.prepare(span);
  } else {
    if constexpr (moves_registers<Policy>) acquire_registers<Block::Extents::state_registers>();
    load_state(block, args.initial_state, problem.sequence, span);
    const auto rows = rows_of(args.o, bounds, problem.head);
    const FragmentTarget<typename Layer::Element> o(rows.data + problem.first_column,
                                                    rows.time_stride,
                                                    span.value_dim - problem.first_column);
    const bool has_o = args.o.data != nullptr;
    block.walk(span, [&](const auto& output) {
      if (has_o) store_output(o, output);
    });
    store_state(block, args.final_state, problem.sequence, span);
  }
}

GDR_NAMESPACE_END
