// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What of a sequence that is cut into pieces comes before the pass with outputs: what each part of
/// a piece does to a state, and a walk over the parts.

#include <gdr/block/chunk_states.cuh>
#include <gdr/kernel/chunked.cuh>

GDR_NAMESPACE_BEGIN

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
    if constexpr (uses_warpgroups<Policy>)
      move_registers<Extents::start_registers, Extents::load_registers>();
    ChunkSource source;
    if (has_copy_engine && params.maps.are_valid) {
      source = {&params.maps, static_cast<int>(bounds.batch), static_cast<int>(bounds.first_token),
                key_head_of(args.shape, problem.head)};
    }
    block.load(span, source);
  } else {
    if constexpr (uses_warpgroups<Policy>)
      move_registers<Extents::start_registers, Extents::state_registers>();
    block.clear();
    const int64_t number = int64_t{slot} * args.shape.heads + problem.head;
    ScaledProduct* const products = params.part_products + number * Layer::gate_channels;
    block.walk(span, [&](int channel, const ScaledProduct& product) {
      if (channel < Layer::gate_channels) products[channel] = product;
    });
    store_in_pairs(
        block, detail::StateMatrix<float, StateLayout::vk>(params.part_states, slot, problem.head),
        span.key_dim, span.value_dim);
  }
}

inline constexpr int piece_walk_threads = 128;
/// A thread of the walk has so many key channels of a value channel, as one vector: of them are the
/// rows of the workspace's states (state_row).
inline constexpr int walk_channels = 4;
/// Blocks of the walk for each sequence and head, for the extents of the layer's type.
template <class Layer>
inline constexpr unsigned piece_walk_blocks = ((Layer::key_dim + walk_channels - 1) /
                                                   walk_channels * Layer::value_dim +
                                               piece_walk_threads - 1) /
                                              piece_walk_threads;

template <class Layer>
struct PieceWalkParams {
  ForwardArgs<Layer> args;  // resolved
  FastDivisor heads;        // by args.shape.heads
  FastDivisor row;          // by the threads of a row of a state
  PieceLayout pieces{};
  PieceLayout parts{};
  int parts_of_piece = 1;
  StateView part_states{};  // as in ChunkedParams
  const ScaledProduct* part_products = nullptr;
  StateView starts{};  // [slots of pieces, Hv, V, K], in rows as the parts'
};

/// What some parts do to the elements of each thread, in shared memory: asked for together, and gone
/// through by a loop. Unrolled, with registers in place of that, the walk took longer: instructions
/// that run once wait for their fetch.
template <class Layer>
struct WalkStorage {
  static constexpr GateAxis axis = Layer::Gate::axis;
  static constexpr int products = axis == GateAxis::none  ? 0
                                  : axis == GateAxis::key ? walk_channels
                                                          : 1;
  struct Part {
    float4 from_zero[piece_walk_threads];
    ScaledProduct gates[products > 0 ? products : 1][piece_walk_threads];
  };
  static constexpr int parts = static_cast<int>(48 * 1024 / sizeof(Part));
  Part part[parts];
};

/// Walks over the parts of each sequence's pieces in order: S at the start of a part is the product
/// of the gates of the one before times S at its start, plus that one's state from zero. Leaves the
/// states at the starts of pieces. Reads the caller's initial state; nothing else does, so that the
/// final state may be written over it afterwards.
///
/// Grid: N * Hv * piece_walk_blocks, all in x.
template <class Layer>
GDR_HIDDEN __global__ void __launch_bounds__(piece_walk_threads)
    piece_walk_kernel(const __grid_constant__ PieceWalkParams<Layer> params) {
  constexpr int channels = Layer::gate_channels;
  constexpr unsigned blocks = piece_walk_blocks<Layer>;
  const ForwardArgs<Layer>& args = params.args;
  const unsigned sequence_and_head = blockIdx.x / blocks;
  const unsigned sequence = params.heads.quotient(sequence_and_head);
  const auto head = static_cast<int>(params.heads.remainder(sequence_and_head, sequence));
  const unsigned thread = blockIdx.x % blocks * piece_walk_threads + threadIdx.x;
  const unsigned row = params.row.quotient(thread);
  const auto j = static_cast<int>(row);
  const int i = walk_channels * static_cast<int>(params.row.remainder(thread, row));
  if (j >= args.shape.value_dim) return;

  float s[walk_channels] = {};
  if (args.initial_state.data != nullptr) {
    detail::with_matrix(args.initial_state, sequence, head, [&](const auto& state) {
#pragma unroll
      for (int n = 0; n < walk_channels; ++n) {
        if (i + n < args.shape.key_dim) s[n] = to_float(state.at(i + n, j));
      }
    });
  }
  const int64_t length = sequence_bounds(args, sequence).length;
  const int64_t pieces =
      length <= 0 ? 1 : (length + params.pieces.tokens - 1) / params.pieces.tokens;
  // Not over the last piece's parts.
  const int steps = (static_cast<int>(pieces) - 1) * params.parts_of_piece;
  const int64_t state_step = params.part_states.sequence_stride;
  const int64_t product_step = args.shape.heads * channels;
  const int64_t first = first_slot(args, params.parts, sequence);
  const int64_t place =
      head * params.part_states.head_stride + j * params.part_states.row_stride + i;
  const float* state =
      static_cast<const float*>(params.part_states.data) + first * state_step + place;
  const ScaledProduct* product = params.part_products + first * product_step + head * channels;
  if constexpr (Layer::Gate::axis == GateAxis::value) product += j;
  if constexpr (Layer::Gate::axis == GateAxis::key) product += i;
  float* start = static_cast<float*>(params.starts.data) +
                 first_slot(args, params.pieces, sequence) * state_step + place;

  using Storage = WalkStorage<Layer>;
  __shared__ __align__(16) unsigned char shared_memory[sizeof(Storage)];
  auto& storage = *reinterpret_cast<Storage*>(shared_memory);
  const auto put_start = [&] {
    *reinterpret_cast<float4*>(start) = make_float4(s[0], s[1], s[2], s[3]);
    start += state_step;
  };
  int part_of_piece = 0;
  for (int done = 0; done < steps; done += Storage::parts) {
    const int count = min(Storage::parts, steps - done);
#pragma unroll 4
    for (int p = 0; p < count; ++p) {
      copy_async_16(shared_address(&storage.part[p].from_zero[threadIdx.x]),
                    state + p * state_step);
    }
    commit_copies();
#pragma unroll 4
    for (int p = 0; p < count; ++p) {
#pragma unroll
      for (int n = 0; n < Storage::products; ++n) {
        const int channel = n == 0 || i + n < channels ? n : 0;
        storage.part[p].gates[n][threadIdx.x] = product[p * product_step + channel];
      }
    }
    wait_for_copies<0>();
#pragma unroll 1
    for (int p = 0; p < count; ++p) {
      if (part_of_piece == 0) put_start();
      part_of_piece = part_of_piece + 1 < params.parts_of_piece ? part_of_piece + 1 : 0;
      const auto& part = storage.part[p];
      const float4 x = part.from_zero[threadIdx.x];
      const float from_zero[walk_channels] = {x.x, x.y, x.z, x.w};
      if constexpr (Storage::products == 1) part.gates[0][threadIdx.x].apply(s);
#pragma unroll
      for (int n = 0; n < walk_channels; ++n) {
        if constexpr (Storage::products > 1) s[n] = part.gates[n][threadIdx.x].apply(s[n]);
        s[n] += from_zero[n];
      }
    }
    state += Storage::parts * state_step;
    product += Storage::parts * product_step;
  }
  put_start();
}

GDR_NAMESPACE_END
