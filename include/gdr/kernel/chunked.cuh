// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The chunked form: one block per sequence, value head and block of value columns; of by_length for
/// several sequences, one after another.

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
  StateView part_states{};                 // float32 [slots, Hv, V, K], in rows of state_row(K)
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

/// The block's walk over its spans, and what the threads of a role need of the one it is at. But for
/// the pass by_length there is one: the sequence, part or piece of the block's slot.
///
/// One warp finds a span and leaves its place in shared memory, from where each role reads it anew.
/// In registers from before the roles part, it would be spilled by those that have few, for all.
template <class Layer, class Policy>
class ChunkedSpans {
  using Block = BlockChunked<Layer, Policy>;

 public:
  GDR_DEVICE ChunkedSpans(const ChunkedParams<Layer>& params, ChunkPlace& place)
      : params_(params), shared_place_(place) {}

  /// Goes to the first span, all threads of the block together. False: there is none.
  GDR_DEVICE bool begin() {
    unsigned others = 0;
    if (!GDR_LIKELY(params_.pass != ChunkedPass::by_length)) {
      // Slots without one are the grid's first: last, they would wait for the multiprocessors that
      // the others hold.
      const LongSequences& all = params_.long_sequences;
      const unsigned count = count_long_sequences<Block::threads>(params_.args, all.least);
      const unsigned idle = count < all.slots ? all.slots - count : 0;
      if (problem().sequence < idle) return false;
      others = problem().sequence - idle;
    }
    if (thread_index_x() < 32) publish(first_place(others));
    __syncthreads();
    return shared_place_.exists;
  }
  /// The loading warps, at the end of a span: the last one finds the next.
  GDR_DEVICE void find_next() {
    if (GDR_LIKELY(params_.pass != ChunkedPass::by_length)) return;
    if (thread_index_x() < Block::threads - 32) return;
    const LongSequences& all = params_.long_sequences;
    publish(place_of_long(place_.sequence + 1, all.slots - 1));
  }
  /// Goes to the next span, all threads of the block from where they are. False: there is none.
  GDR_DEVICE bool next() {
    if (GDR_LIKELY(params_.pass != ChunkedPass::by_length)) return false;
    sync_threads<barrier_turn, Block::threads>();
    return shared_place_.exists;
  }

  GDR_DEVICE BlockProblem problem() const {
    return block_problem<Layer::value_dim, Block::columns>(params_.heads);
  }
  /// The block as the threads of a role see it, and the span it is at.
  GDR_DEVICE Block block(typename Block::TempStorage& storage) const {
    return Block(storage, problem().first_column, params_.args.split_state_operand);
  }
  /// To be asked for first, once: the others go by the place that it reads.
  GDR_DEVICE Span<Layer> span() {
    place_ = shared_place_;
    Span<Layer> span = span_of(params_.args, place_.bounds, problem().head);
    span.only_state = params_.pass == ChunkedPass::states || params_.args.o.data == nullptr;
    return span;
  }
  /// The same as the copy engine finds it.
  GDR_DEVICE ChunkSource source() const {
    // What was built for an older architecture may run on a device that has the engine.
    if (!has_copy_engine || !params_.maps.are_valid) return {};
    const SequenceBounds& bounds = place_.bounds;
    return {&params_.maps, static_cast<int>(bounds.batch), static_cast<int>(bounds.first_token),
            key_head_of(params_.args.shape, problem().head)};
  }
  GDR_DEVICE FragmentTarget<typename Layer::Element> target() const {
    const BlockProblem at = problem();
    const auto rows = rows_of(params_.args.o, place_.bounds, at.head);
    return {rows.data + at.first_column, rows.time_stride,
            params_.args.shape.value_dim - at.first_column};
  }
  /// The state before the span's first token, and after its last one.
  GDR_DEVICE void load_start(Block& block, const Span<Layer>& span) const {
    const bool of_piece = params_.pass == ChunkedPass::pieces;
    load_state(block, params_.starts, of_piece ? problem().sequence : place_.sequence, span);
  }
  GDR_DEVICE void store_end(Block& block, const Span<Layer>& span) const {
    if (place_.writes_final) store_state(block, params_.args.final_state, place_.sequence, span);
    if (params_.pass == ChunkedPass::states) {
      store_state(block, params_.part_states, problem().sequence, span);
    }
  }

 private:
  GDR_DEVICE void publish(const ChunkPlace& place) const {
    if (thread_index_x() % 32 == 0) shared_place_ = place;
  }
  GDR_DEVICE ChunkPlace place_of(unsigned sequence) const {
    return {sequence_bounds(params_.args, sequence), sequence, true,
            params_.args.final_state.data != nullptr};
  }
  GDR_DEVICE ChunkPlace place_of_long(unsigned first, unsigned others) const {
    const int64_t least = params_.long_sequences.least;
    const unsigned sequence = find_long_sequence(params_.args, least, first, others);
    return sequence == no_sequence ? ChunkPlace{} : place_of(sequence);
  }
  /// `others`: the long sequences before the block's first.
  GDR_DEVICE ChunkPlace first_place(unsigned others) const {
    const unsigned slot = problem().sequence;
    if (GDR_LIKELY(params_.pass == ChunkedPass::whole)) return place_of(slot);
    if (params_.pass == ChunkedPass::by_length) return place_of_long(0, others);
    const Piece piece = piece_at(params_.args, params_.layout, slot);
    const bool is_part = params_.pass == ChunkedPass::states;
    if (!piece.exists) return {};
    if (is_part && is_of_last_piece(params_, piece)) return {};  // no piece starts from it
    ChunkPlace place = place_of(piece.sequence);
    place.bounds.first_token += piece.first;
    place.bounds.length = piece.length;
    place.writes_final = place.writes_final && !is_part && piece.is_last;
    return place;
  }

  const ChunkedParams<Layer>& params_;
  ChunkPlace& shared_place_;
  ChunkPlace place_{};
};

/// Grid: slots (sequences, where all are served whole) * Hv * column blocks, all in x.
template <class Layer, class Policy>
GDR_HIDDEN __global__ void __launch_bounds__(Policy::chunked.threads(), 1)
    chunked_kernel(const __grid_constant__ ChunkedParams<Layer> params) {
  using Block = BlockChunked<Layer, Policy>;
  using Extents = typename Block::Extents;
  static_assert(!uses_warpgroups<Policy> || Extents::registers_fit,
                "gdr: ChunkedTuning::prepare_warps leaves the state's warps no registers");
  static_assert(sizeof(typename Block::TempStorage) <=
                    chunked_shared_bytes(chunked_traits<Layer>, Policy::chunked,
                                         Extents::key_stages, Extents::value_stages),
                "chunked_shared_bytes counts what a block takes");
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& storage = *reinterpret_cast<typename Block::TempStorage*>(shared_memory);

  ChunkedSpans<Layer, Policy> spans(params, storage.place);
  if (spans.problem().first_column >= params.args.shape.value_dim || !spans.begin()) return;
  if (Block::role() == ChunkRole::load) {
    if constexpr (uses_warpgroups<Policy>)
      move_registers<Extents::start_registers, Extents::load_registers>();
    do {
      const Span<Layer> span = spans.span();
      spans.block(storage).load(span, spans.source());
      spans.find_next();
    } while (spans.next());
  } else if (Block::role() == ChunkRole::prepare) {
    if constexpr (uses_warpgroups<Policy>)
      move_registers<Extents::start_registers, Extents::prepare_registers>();
    do {
      spans.block(storage).prepare(spans.span());
    } while (spans.next());
  } else {
    if constexpr (uses_warpgroups<Policy>)
      move_registers<Extents::start_registers, Extents::state_registers>();
    do {
      const Span<Layer> span = spans.span();
      Block block = spans.block(storage);
      spans.load_start(block, span);
      const auto o = spans.target();
      block.walk(span, [&](const auto& output) { store_output(o, output); });
      spans.store_end(block, span);
    } while (spans.next());
  }
  if (params.pass == ChunkedPass::states) {
    const BlockProblem problem = spans.problem();
    constexpr int channels = Layer::gate_channels;
    ScaledProduct* const products =
        params.part_products +
        (int64_t{problem.sequence} * params.args.shape.heads + problem.head) * channels;
    spans.block(storage).for_each_total([&](int channel, const ScaledProduct& product) {
      const bool is_own = Layer::Gate::axis == GateAxis::value || problem.first_column == 0;
      if (is_own && channel < channels) products[channel] = product;
    });
  }
}

GDR_NAMESPACE_END
