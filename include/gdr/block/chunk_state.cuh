// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The state's part of the chunked form: the ways through a chunk that is prepared.

#include <gdr/block/state_warp.cuh>

GDR_NAMESPACE_BEGIN

/// How a state warp goes through chunks.
template <class Layer, class Policy>
class ChunkState : public StateWarp<Layer, Policy> {
  using Base = StateWarp<Layer, Policy>;
  using Base::axis;
  using Base::token_blocks;
  using Base::tokens;
  using typename Base::Extents;
  using typename Base::Operand;
  using typename Base::Operands;
  using typename Base::Prepared;

 public:
  using Base::Base;

  /// Goes through chunk n and those after it, each in the turn that end_turn() leads to, for as long
  /// as they are divided and served by the warpgroup's products; puts out their outputs. Returns the
  /// first that is not, in whose turn it is, or `chunks`. As ChunkPreparer::prepare_divided.
  template <class EndTurn, class Use>
  GDR_DEVICE int meet_divided(const Span<Layer>& span, int n, int chunks, EndTurn&& end_turn,
                              Use& output) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (uses_warpgroups<Policy>) {
#pragma unroll 1
      while (n < chunks) {
        end_turn();
        if (mode_of(n) != ChunkMode::divided || split_operand_) break;
        begin(n);
        run_together<false>(n, put_out_to(output, span, n));
        ++n;
      }
      // Else the state is in other registers here than in the loop, and is moved in each chunk.
      if constexpr (!parks_state) this->for_each([](int, int, float& s) { s = opaque(s); });
      return n;
    }
#endif
    end_turn();
    return n;
  }
  /// Goes through chunk n, and puts out its outputs.
  template <class Use>
  GDR_DEVICE void meet(const Span<Layer>& span, int n, Use& output) {
    const Prepared& chunk = begin(n);
    const ChunkMode mode = mode_of(n);
    const int valid = tokens_of_tile<tokens>(span, n);
    const auto put_out = put_out_to(output, span, n);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (uses_warpgroups<Policy>) {
      if constexpr (axis == GateAxis::head) {
        if (mode == ChunkMode::multiplied && !split_operand_) {
          run_together<true>(n, put_out);
          return;
        }
      }
      if constexpr (axis == GateAxis::value) {
        if (mode == ChunkMode::exact && !split_operand_ && spans_are_whole(chunk)) {
          run_spans_together(n, valid, put_out);
          return;
        }
      }
    }
#endif
    begin_way(chunk);
    wait_for_scores();
    if (is_idle()) return;
    with_parked(*this, [&](ChunkState& self) { self.meet_alone(n, mode, valid, put_out); });
  }

  /// The same without outputs.
  GDR_DEVICE void update(int n, int valid) {
    const Prepared& chunk = begin(n);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (uses_warpgroups<Policy>) {
      if (GDR_LIKELY(chunk.mode == ChunkMode::divided)) {
        using Products = WarpgroupProducts<Layer, Policy>;
        begin_way(chunk);
        typename Products::Written written;
        Operand w[token_blocks];
        chunk.values[channel_group()].load(lane_, w);
        Products::write(w, storage_.k_operand(n), 0, state_, written);
        Products::wait_write(state_, written);
        return;
      }
    }
#endif
    begin_way(chunk);
    if (is_idle()) return;
    with_parked(*this, [&](ChunkState& self) { self.update_alone(n, valid); });
  }
  /// Of 16 tokens of an exact chunk.
  GDR_DEVICE void update_by_spans(int n, int block) {
    Accumulator none;
    run_spans<false>(n, block, none);
  }
  /// S^T <- gates' product times S^T, + W^T K, with the operand in registers: of the upper and the
  /// lower 8 of the warp's value channels.
  GDR_DEVICE void update(int n, const float (&gates)[2], const Operand (&w)[token_blocks]) {
    scale_state(gates[0], gates[1]);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr bool together = uses_warpgroups<Policy>;
    if constexpr (together) {
      using Products = WarpgroupProducts<Layer, Policy>;
      typename Products::Written written;
      Products::write(w, storage_.k_operand(n), 0, state_, written);
      Products::wait_write(state_, written);
    }
#else
    constexpr bool together = false;
#endif
    if constexpr (!together) {
#pragma unroll
      for (int t = 0; t < token_blocks; ++t) write(w[t], n, t);
    }
  }

  /// What is due after the last of some chunks.
  GDR_DEVICE void end(int chunks) {
    if constexpr (axis != GateAxis::none) scale_state(storage_.scratch.leave[(chunks + 1) % 2]);
  }

 private:
  /// A function that takes outputs of chunk n from some block of 16 tokens on.
  template <class Use>
  GDR_DEVICE auto put_out_to(Use& output, const Span<Layer>& span, int n) const {
    return [this, &output, &span, n](int block, auto& x) {
      if (!has_channels()) return;
      constexpr int blocks = sizeof(x) / sizeof(Accumulator);
      const int valid = tokens_of_tile<tokens>(span, n) - 16 * block;
      output(ChunkOutput<Extents, blocks>{
          int64_t{n} * tokens + 16 * block, min(valid, 16 * blocks), 16 * warp_, lane_,
          storage_.staging(storage_.prepared[n % 2], channel_group()), x});
    };
  }
  GDR_DEVICE const Prepared& begin(int n) {
    lane_ = opaque(lane_);  // as in ChunkWork::begin
    const Prepared& chunk = storage_.prepared[n % Extents::prepared_chunks];
    if constexpr (!scales_by_way) enter(chunk);
    return chunk;
  }
  /// Operands of two numbers: the ways through a chunk scale the state themselves. What the wgmma way
  /// adds to it lies in other registers, and all would be copied where ways part and meet.
  static constexpr bool scales_by_way = Extents::splits_keys;
  GDR_DEVICE void begin_way(const Prepared& chunk) {
    if constexpr (scales_by_way) enter(chunk);
  }
  GDR_DEVICE void enter(const Prepared& chunk) {
    if constexpr (axis != GateAxis::none) scale_state(chunk.factors.enter);
  }
  GDR_DEVICE ChunkMode mode_of(int n) const {
    const Prepared& chunk = storage_.prepared[n % Extents::prepared_chunks];
    ChunkMode mode = chunk.mode;
    if constexpr (axis == GateAxis::key) {
      int all = 1;
#pragma unroll
      for (const int finite : chunk.factors.values_are_finite) all &= finite;
      if (mode == ChunkMode::divided && all == 0) mode = ChunkMode::causal;
    }
    return mode;
  }
  /// The state's warps.
  static GDR_DEVICE void wait_for_scores() {
    if constexpr (axis == GateAxis::key) {
      sync_threads<barrier_scored, Extents::load_threads + Extents::state_threads, true>();
    }
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  /// A chunk as one span, by the warpgroup's products. `Multiplied`: a head gate's products are in
  /// the scores.
  template <bool Multiplied, class PutOut>
  GDR_DEVICE void run_together(int n, const PutOut& put_out) {
    using Products = WarpgroupProducts<Layer, Policy>;
    const Prepared& chunk = storage_.prepared[n % Extents::prepared_chunks];
    typename Products::Written written;
    Accumulator o[token_blocks];
    // Half of them are asked for while products are under way: registers are few.
    constexpr int early = (token_blocks + 1) / 2;
    Accumulator factors[early];
    Operand w[token_blocks];
    Products::clear(o);
    begin_way(chunk);
    chunk.values[channel_group()].load(lane_, w);
    Products::read(state_, storage_.q_operand(n), 0, o);
    if constexpr (Multiplied) {
      Products::wait_read(o);
#pragma unroll
      for (int b = 0; b < token_blocks; ++b) {
        scale_tokens(o[b], 16 * b, place(), chunk.factors.from_start);
      }
      scale_state(chunk.factors.from_start[tokens - 1]);
    }
    // What is added up outside of the state takes the registers of the read's operands; and need not
    // wait for scores where those come late.
    constexpr bool writes_first = Products::is_split && axis == GateAxis::key;
    if constexpr (writes_first) {
      Products::wait_read(o);
      Products::write(w, storage_.k_operand(n), 0, state_, written);
    }
    wait_for_scores();
    Products::add(w, chunk.scores, o);
    if constexpr (writes_first) {
      load_output_factors(chunk, factors);
      Products::template wait_add<0>(o);
    } else {
      if constexpr (Products::is_split) Products::template wait_read<1>(o);
      if constexpr (Multiplied) {
        Operand decayed[token_blocks];
        chunk.factors.decayed[channel_group()].load(lane_, decayed);
        Products::write(decayed, storage_.k_operand(n), 0, state_, written);
      } else {
        Products::write(w, storage_.k_operand(n), 0, state_, written);
      }
      load_output_factors(chunk, factors);
      Products::template wait_add<1>(o);
    }
#pragma unroll
    for (int b = 0; b < token_blocks; ++b) {
      o[b].multiply(b < early ? factors[b] : output_factors(chunk, b));
    }
    put_out(0, o);
    Products::wait_write(state_, written);
  }
  /// Value gate: whether all spans of an exact chunk are 16 tokens.
  static GDR_DEVICE bool spans_are_whole(const Prepared& chunk) {
    int all = 16;
#pragma unroll
    for (const auto& spans : chunk.factors.span) {
#pragma unroll
      for (const int span : spans) all &= span;
    }
    return all == 16;
  }
  /// Value gate: a chunk of such spans.
  template <class PutOut>
  GDR_DEVICE void run_spans_together(int n, int valid, const PutOut& put_out) {
    using Products = WarpgroupProducts<Layer, Policy>;
    const Prepared& chunk = storage_.prepared[n % Extents::prepared_chunks];
    begin_way(chunk);
#pragma unroll 1
    for (int block = 0; block < token_blocks && 16 * block < valid; ++block) {
      Accumulator o[1];
      o[0].clear();
      Products::read(state_, storage_.q_operand(n), block, o);
      Products::wait_read(o);
      finish_span(chunk, block, o[0]);
      scale_to_end(chunk, block, 15);
      const Operand w[1] = {chunk.values[channel_group()].load(block, lane_)};
      typename Products::Written written;
      Products::write(w, storage_.k_operand(n), block, state_, written);
      scale_outputs(chunk, block, o[0]);
      put_out(block, o);
      Products::wait_write(state_, written);
    }
  }
#endif

  /// A chunk by the warp's own products, with outputs and without.
  template <class PutOut>
  GDR_DEVICE void meet_alone(int n, ChunkMode mode, int valid, const PutOut& put_out) {
    if constexpr (axis == GateAxis::value || axis == GateAxis::key) {
      if (mode == ChunkMode::exact) {
#pragma unroll 1
        for (int block = 0; block < token_blocks && 16 * block < valid; ++block) {
          Accumulator o[1];
          run_spans<true>(n, block, o[0]);
          scale_outputs(storage_.prepared[n % 2], block, o[0]);
          put_out(block, o);
        }
        return;
      }
    }
    run_alone(n, mode, valid, put_out);
  }
  GDR_DEVICE void update_alone(int n, int valid) {
    const Prepared& chunk = storage_.prepared[n % 2];
    if constexpr (axis == GateAxis::value || axis == GateAxis::key) {
      if (chunk.mode == ChunkMode::exact) {
#pragma unroll 1
        for (int block = 0; block < token_blocks && 16 * block < valid; ++block) {
          update_by_spans(n, block);
        }
        return;
      }
    }
    write_values(chunk, n, valid);
  }

  /// A chunk as one span, by the warp's own products, some blocks of 16 tokens at a time.
  template <class PutOut>
  GDR_DEVICE void run_alone(int n, ChunkMode mode, int valid, const PutOut& put_out) {
    constexpr int blocks = token_blocks % 2 == 0 ? 2 : 1;
    const Prepared& chunk = storage_.prepared[n % Extents::prepared_chunks];
#pragma unroll 1
    for (int first = 0; first < token_blocks && 16 * first < valid; first += blocks) {
      Accumulator o[blocks];
      read(n, first, o);
      if constexpr (axis == GateAxis::head) {
        if (mode != ChunkMode::divided) {
#pragma unroll
          for (int i = 0; i < blocks; ++i) {
            scale_tokens(o[i], 16 * (first + i), place(), chunk.factors.from_start);
          }
        }
      }
      if (mode == ChunkMode::causal) {
        for (int s = 0; s < 16 * (first + blocks); ++s) add_causally(chunk, s, 16 * first, o);
      } else {
#pragma unroll
        for (int i = 0; i < blocks; ++i) {
          const int t = first + i;
#pragma unroll 1
          for (int s = 0; s <= t; ++s) {
            Operands::multiply_add(
                o[i], chunk.values[channel_group()].load(s, lane_),
                Operands::load_b_transposed(chunk.scores, 16 * t, 16 * s, lane_));
          }
        }
      }
#pragma unroll
      for (int i = 0; i < blocks; ++i) o[i].multiply(output_factors(chunk, first + i));
      put_out(first, o);
    }
    write_values(chunk, n, valid);
  }

  /// 16 tokens without division, in spans, with their outputs or without.
  template <bool WithOutputs>
  GDR_DEVICE void run_spans(int n, int block, Accumulator& o) {
    const Prepared& chunk = storage_.prepared[n % Extents::prepared_chunks];
    const int prepared = Extents::prepared_place(block);
    const Accumulator values =
        Operands::from_a(chunk.values[channel_group()].load(prepared, lane_));
    Accumulator sums[1];
    sums[0].clear();
    int span = chunk.span;
    if constexpr (axis == GateAxis::value) {
      span = chunk.factors.span[channel_group()][prepared];
    } else if constexpr (WithOutputs) {
      for (int s = 16 * block; s < 16 * block + 16; ++s) add_causally(chunk, s, 16 * block, sums);
    }
#pragma unroll 1
    for (int first = 0; first < 16; first += span) {
      if constexpr (WithOutputs) {
        Accumulator outputs[1];
        read(n, block, outputs);
        if constexpr (axis == GateAxis::value) {
          finish_span(chunk, block, outputs[0]);
        } else {
          outputs[0].add(sums[0]);
        }
        keep_span(first, span, outputs[0], o);
      }
      if constexpr (axis == GateAxis::value) {
        scale_to_end(chunk, block, first + span - 1);
      } else {
        scale_state(chunk.factors.leave[(16 * block + first) >> (31 - __clz(span))]);
      }
      Accumulator w = values;
      for_each_token(w, 0, place(),
                     [&](float& x, int t, int) { x = (t & -span) == first ? x : 0.0f; });
      write(Operands::to_a(w), n, block);
    }
  }

  using Base::add_causally;
  using Base::channel_group;
  using Base::finish_span;
  using Base::has_channels;
  using Base::is_idle;
  using Base::keep_span;
  using Base::lane_;
  using Base::load_output_factors;
  using Base::output_factors;
  using Base::parks_state;
  using Base::place;
  using Base::read;
  using Base::scale_outputs;
  using Base::scale_state;
  using Base::scale_to_end;
  using Base::split_operand_;
  using Base::state_;
  using Base::storage_;
  using Base::warp_;
  using Base::with_parked;
  using Base::write;
  using Base::write_values;
};

GDR_NAMESPACE_END
