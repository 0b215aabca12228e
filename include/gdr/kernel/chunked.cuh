// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The chunked form: one block per sequence, value head and block of value columns.

#include <gdr/block/chunked.cuh>
#include <gdr/block/fragment_store.cuh>
#include <gdr/block/long_sequences.cuh>
#include <gdr/block/pieces.cuh>
#include <gdr/block/state_io.cuh>
#include <gdr/kernel/block_problem.cuh>

GDR_NAMESPACE_BEGIN

/// What a launch of the chunked kernel does.
enum class ChunkedPass {
  whole,      // sequences
  by_length,  // those that are long
  states,     // parts of pieces from zero, for their states alone
  pieces      // pieces from the states at their starts
};

template <class Layer>
struct ChunkedParams {
  ForwardArgs<Layer> args;  // resolved
  FastDivisor heads;        // by args.shape.heads
  ChunkedPass pass = ChunkedPass::whole;
  ConstStateView starts{};  // states at the starts of sequences or of pieces; null: zero

  ChunkMaps maps{};
  LongSequences long_sequences{};  // of the pass by_length

  // Of sequences cut into pieces.
  PieceLayout layout{};                    // of pieces or, in the pass states, of parts
  StateView part_states{};                 // float32 [slots, Hv, V, K]
  ScaledProduct* part_products = nullptr;  // [slots, Hv, channels of the gate's type]
  FastDivisor parts{};                     // of a piece
};

/// Whether a part is one of its sequence's last piece.
template <class Layer>
GDR_DEVICE bool is_of_last_piece(const ChunkedParams<Layer>& params, const Piece& part) {
  const auto number = static_cast<uint32_t>(part.number);
  const uint32_t parts_before =
      number - params.parts.remainder(number, params.parts.quotient(number));
  const int64_t length = sequence_bounds(params.args, part.sequence).length;
  return (parts_before + int64_t{params.parts.divisor()}) * params.layout.tokens >= length;
}

/// Grid: slots (sequences, where all are served whole) * Hv * column blocks, all in x.
template <class Layer, class Policy>
GDR_HIDDEN __global__ void __launch_bounds__(Policy::chunked.threads(), 1)
    chunked_kernel(const __grid_constant__ ChunkedParams<Layer> params) {
  using Block = BlockChunked<Layer, Policy>;
  using Extents = typename Block::Extents;
  const ForwardArgs<Layer>& args = params.args;
  static_assert(!moves_registers<Policy> || Extents::registers_fit,
                "gdr: ChunkedTuning::prepare_warps leaves the state's warps no registers");
  static_assert(sizeof(typename Block::TempStorage) <=
                    chunked_shared_bytes(chunked_traits<Layer>, Policy::chunked,
                                         Extents::key_stages, Extents::value_stages),
                "chunked_shared_bytes counts what a block takes");
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& storage = *reinterpret_cast<typename Block::TempStorage*>(shared_memory);

  const BlockProblem problem = block_problem<Layer::value_dim, Block::columns>(params.heads);
  if (problem.first_column >= args.shape.value_dim) return;
  const unsigned slot = problem.sequence;
  unsigned sequence = slot;
  SequenceBounds bounds;
  bool writes_final = args.final_state.data != nullptr;
  if (GDR_LIKELY(params.pass == ChunkedPass::whole)) {
    bounds = sequence_bounds(args, sequence);
  } else if (params.pass == ChunkedPass::by_length) {
    sequence = sequence_of_slot(args, params.long_sequences, slot);
    if (sequence == no_sequence) return;
    bounds = sequence_bounds(args, sequence);
  } else {
    const Piece piece = piece_at(args, params.layout, slot);
    if (!piece.exists) return;
    // No piece starts from its state.
    if (params.pass == ChunkedPass::states && is_of_last_piece(params, piece)) return;
    sequence = piece.sequence;
    bounds = sequence_bounds(args, sequence);
    bounds.first_token += piece.first;
    bounds.length = piece.length;
    writes_final = writes_final && params.pass == ChunkedPass::pieces && piece.is_last;
  }
  Span<Layer> span = span_of(args, bounds, problem.head);
  span.only_state = params.pass == ChunkedPass::states || args.o.data == nullptr;
  Block block(storage, problem.first_column, args.split_state_operand);

  if (block.role() == ChunkRole::load) {
    if constexpr (moves_registers<Policy>)
      move_registers<Extents::start_registers, Extents::load_registers>();
    ChunkSource source;
    // What was built for an older architecture may run on a device that has the engine.
    if (has_copy_engine && params.maps.are_valid) {
      source = {&params.maps, static_cast<int>(bounds.batch), static_cast<int>(bounds.first_token),
                key_head_of(args.shape, problem.head)};
    }
    block.load(span, source);
  } else if (block.role() == ChunkRole::prepare) {
    if constexpr (moves_registers<Policy>)
      move_registers<Extents::start_registers, Extents::prepare_registers>();
    block.prepare(span);
  } else {
    if constexpr (moves_registers<Policy>)
      move_registers<Extents::start_registers, Extents::state_registers>();
    load_state(block, params.starts, params.pass == ChunkedPass::pieces ? slot : sequence, span);
    const auto rows = rows_of(args.o, bounds, problem.head);
    const FragmentTarget<typename Layer::Element> o(
        rows.data + problem.first_column, rows.time_stride, span.value_dim - problem.first_column);
    block.walk(span, [&](const auto& output) { store_output(o, output); });
    if (writes_final) store_state(block, args.final_state, sequence, span);
    if (params.pass == ChunkedPass::states) {
      store_state(block, params.part_states, slot, span);
    }
  }
  if (params.pass == ChunkedPass::states) {
    constexpr int channels = Layer::gate_channels;
    ScaledProduct* const products =
        params.part_products + (int64_t{slot} * args.shape.heads + problem.head) * channels;
    block.for_each_total([&](int channel, const ScaledProduct& product) {
      const bool is_own = Layer::Gate::axis == GateAxis::value || problem.first_column == 0;
      if (is_own && channel < channels) products[channel] = product;
    });
  }
}

GDR_NAMESPACE_END
