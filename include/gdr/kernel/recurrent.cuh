// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The recurrent form: a block for sequences and value heads, one after another, and a block of
/// value columns.

#include <gdr/block/recurrent.cuh>
#include <gdr/block/state_io.cuh>
#include <gdr/block/tile_store.cuh>
#include <gdr/kernel/block_problem.cuh>

GDR_NAMESPACE_BEGIN

/// A block's walk over its sequences and heads: one, and every `stride` further on, that has less
/// than params.below tokens. A walk of BlockRecurrent::run_all.
template <class Layer, class Block>
class BlockSpans {
 public:
  GDR_DEVICE BlockSpans(const ForwardParams<Layer>& params, int first_column)
      : params_(params), first_column_(first_column), place_(first_place() - params.stride) {}

  GDR_DEVICE bool next() {
    do {
      place_ += params_.stride;
      if (place_ >= params_.places) return false;
      bounds_ = sequence_bounds(params_.args, sequence());
    } while (!GDR_LIKELY(bounds_.length < params_.below));
    return true;
  }
  GDR_DEVICE int64_t length() const { return bounds_.length; }
  GDR_DEVICE float scale() const { return params_.args.scale; }
  GDR_DEVICE Span<Layer> span() const { return span_of(params_.args, bounds_, head()); }

  GDR_DEVICE void begin(Block& block) const {
    const ForwardArgs<Layer>& args = params_.args;
    if (GDR_LIKELY(args.initial_state.data == nullptr)) {
      block.clear();
    } else {
      load_state(block, args.initial_state, sequence(), head(), args.shape.key_dim,
                 args.shape.value_dim);
    }
  }
  GDR_DEVICE void end(Block& block) const {
    const ForwardArgs<Layer>& args = params_.args;
    if (GDR_LIKELY(args.final_state.data == nullptr)) return;
    store_state(block, args.final_state, sequence(), head(), args.shape.key_dim,
                args.shape.value_dim);
  }
  using Target = Rows<typename Layer::Element>;
  GDR_DEVICE Target target() const { return rows_of(params_.args.o, bounds_, head()); }
  GDR_DEVICE void put_out(const Target& target, const typename Block::Output& output) const {
    const ForwardArgs<Layer>& args = params_.args;
    if (args.o.data == nullptr) return;
    const TileTarget<typename Layer::Element> tile{target.data + first_column_, target.time_stride,
                                                   args.shape.value_dim - first_column_};
    store_output<Block::columns, Block::stage_threads>(tile, output);
  }

 private:
  GDR_DEVICE static unsigned first_place() {
    return block_index_x() / column_blocks(Layer::value_dim, Block::columns);
  }
  GDR_DEVICE unsigned sequence() const { return params_.heads.quotient(place_); }
  GDR_DEVICE int head() const {
    return static_cast<int>(params_.heads.remainder(place_, sequence()));
  }

  const ForwardParams<Layer>& params_;
  int first_column_;
  unsigned place_;  // sequence * Hv + head
  SequenceBounds bounds_{};
};

/// Grid: params.stride * column blocks, all in x.
template <class Layer, class Policy>
GDR_HIDDEN __global__ void __launch_bounds__(Policy::recurrent.threads(),
                                             Policy::recurrent.blocks_per_sm)
    recurrent_kernel(const __grid_constant__ ForwardParams<Layer> params) {
  using Block = BlockRecurrent<Layer, Policy>;
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& storage = *reinterpret_cast<typename Block::TempStorage*>(shared_memory);

  constexpr unsigned blocks = column_blocks(Layer::value_dim, Block::columns);
  const int first_column = static_cast<int>(block_index_x() % blocks) * Block::columns;
  if (first_column >= params.args.shape.value_dim) return;
  Block block(storage, first_column);
  block.run_all(BlockSpans<Layer, Block>(params, first_column));
}

GDR_NAMESPACE_END
