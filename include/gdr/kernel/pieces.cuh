// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What of a sequence that is cut into pieces comes before the pass with outputs: what each part of
/// a piece does to a state, and a walk over the parts.

#include <gdr/block/chunk_states.cuh>
#include <gdr/kernel/chunked.cuh>

GDR_NAMESPACE_BEGIN

/// Whether a part is one of its sequence's last piece.
template <class Layer>
GDR_DEVICE bool is_of_last_piece(const ChunkedParams<Layer>& params, const Piece& part) {
  const auto number = static_cast<uint32_t>(part.number);
  const uint32_t parts_before =
      number - params.parts.remainder(number, params.parts.quotient(number));
  const int64_t length = sequence_bounds(params.args, part.sequence).length;
  return (parts_before + int64_t{params.parts.divisor()}) * params.layout.tokens >= length;
}

/// ChunkedPass::states by blocks for that alone.
///
/// Grid: slots of parts * Hv * column blocks, all in x.
template <class Layer, class Policy>
GDR_HIDDEN __global__ void __launch_bounds__(Policy::chunked.threads(),
                                             Policy::chunked.blocks_per_sm)
    part_states_kernel(const __grid_constant__ ChunkedParams<Layer> params) {
  using Block = BlockStates<Layer, Policy>;
  using Extents = typename Block::Extents;
  const ForwardArgs<Layer>& args = params.args;
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& storage = *reinterpret_cast<typename Block::TempStorage*>(shared_memory);

  const BlockProblem problem = block_problem<Layer::value_dim, Block::columns>(params.heads);
  if (problem.first_column >= args.shape.value_dim) return;
  const unsigned slot = problem.sequence;
  const Piece part = piece_at(args, params.layout, slot);
  if (!part.exists || is_of_last_piece(params, part)) return;  // no piece starts from it
  SequenceBounds bounds = sequence_bounds(args, part.sequence);
  bounds.first_token += part.first;
  bounds.length = part.length;
  Span<Layer> span = span_of(args, bounds, problem.head);
  span.only_state = true;
  Block block(storage, problem.first_column);

  if (block.role() == ChunkRole::load) {
    if constexpr (moves_registers<Policy>)
      move_registers<Extents::start_registers, Extents::load_registers>();
    ChunkSource source;
    if (has_copy_engine && params.maps.are_valid) {
      source = {&params.maps, static_cast<int>(bounds.batch), static_cast<int>(bounds.first_token),
                key_head_of(args.shape, problem.head)};
    }
    block.load(span, source);
  } else {
    if constexpr (moves_registers<Policy>)
      move_registers<Extents::start_registers, Extents::state_registers>();
    block.clear();
    const int64_t number = int64_t{slot} * args.shape.heads + problem.head;
    ScaledProduct* const products = params.part_products + number * Layer::gate_channels;
    block.walk(span, [&](int channel, const ScaledProduct& product) {
      if (channel < Layer::gate_channels) products[channel] = product;
    });
    store_dense(
        block,
        static_cast<float*>(params.part_states.data) + number * span.key_dim * span.value_dim,
        span.key_dim, span.value_dim);
  }
}

inline constexpr int piece_walk_threads = 256;
/// Blocks of the walk for each sequence and head, for the extents of the layer's type.
template <class Layer>
inline constexpr unsigned piece_walk_blocks =
    (Layer::key_dim * Layer::value_dim + piece_walk_threads - 1) / piece_walk_threads;

template <class Layer>
struct PieceWalkParams {
  ForwardArgs<Layer> args;  // resolved
  FastDivisor heads;        // by args.shape.heads
  PieceLayout pieces{};
  PieceLayout parts{};
  int parts_of_piece = 1;
  const float* part_states = nullptr;  // as in ChunkedParams, and dense
  const ScaledProduct* part_products = nullptr;
  float* starts = nullptr;  // [slots of pieces, Hv, V, K]
};

/// Walks over the parts of each sequence's pieces in order: S at the start of a part is the product
/// of the gates of the one before times S at its start, plus that one's state from zero. Leaves the
/// states at the starts of pieces. Reads the caller's initial state; nothing else does, so that the
/// final state may be written over it afterwards.
///
/// A thread has one element of the state. Grid: N * Hv * piece_walk_blocks, all in x.
template <class Layer>
GDR_HIDDEN __global__ void __launch_bounds__(piece_walk_threads, 1024 / piece_walk_threads)
    piece_walk_kernel(const __grid_constant__ PieceWalkParams<Layer> params) {
  constexpr int channels = Layer::gate_channels;
  constexpr unsigned blocks = piece_walk_blocks<Layer>;
  const ForwardArgs<Layer>& args = params.args;
  const unsigned sequence_and_head = blockIdx.x / blocks;
  const unsigned sequence = params.heads.quotient(sequence_and_head);
  const auto head = static_cast<int>(params.heads.remainder(sequence_and_head, sequence));
  const int key_dim = args.shape.key_dim;
  const int element = static_cast<int>(blockIdx.x % blocks * piece_walk_threads + threadIdx.x);
  const int j = element / key_dim, i = element % key_dim;
  if (j >= args.shape.value_dim) return;

  float s = 0.0f;
  if (args.initial_state.data != nullptr) {
    detail::with_matrix(args.initial_state, sequence, head,
                        [&](const auto& state) { s = to_float(state.at(i, j)); });
  }
  const int64_t length = sequence_bounds(args, sequence).length;
  const int64_t pieces =
      length <= 0 ? 1 : (length + params.pieces.tokens - 1) / params.pieces.tokens;
  // Not over the last piece's parts.
  const int steps = (static_cast<int>(pieces) - 1) * params.parts_of_piece;
  const int64_t size = int64_t{key_dim} * args.shape.value_dim;
  const int64_t state_step = args.shape.heads * size, product_step = args.shape.heads * channels;
  const int64_t first = first_slot(args, params.parts, sequence) * args.shape.heads + head;
  const float* state = params.part_states + first * size + element;
  const ScaledProduct* product = params.part_products + first * channels;
  if constexpr (Layer::Gate::axis == GateAxis::value) product += j;
  if constexpr (Layer::Gate::axis == GateAxis::key) product += i;
  float* start = params.starts + element +
                 (first_slot(args, params.pieces, sequence) * args.shape.heads + head) * size;

  constexpr int batch = 14;  // parts that are asked for together
  int part = 0;              // of its piece
  for (int p = 0; p <= steps; p += batch) {
    float from_zero[batch];
    ScaledProduct gates[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      if (p + b < steps) {
        from_zero[b] = *state;
        if constexpr (channels > 0) gates[b] = *product;
      }
      state += state_step;
      product += product_step;
    }
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      if (p + b > steps) break;
      if (part == 0) {
        *start = s;
        start += state_step;
      }
      if (p + b == steps) break;
      part = part + 1 < params.parts_of_piece ? part + 1 : 0;
      if constexpr (channels > 0) s = gates[b].apply(s);
      s += from_zero[b];
    }
  }
}

GDR_NAMESPACE_END
