// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The chunked form as a block collective: tensor cores, one chunk of tokens after another.
///
/// The state lies in the registers of the state's warps as the accumulators of S^T, 16 value
/// channels a warp. In a chunk with scores p_ts = q_t . k_s (s <= t) and weighted values w_s,
///
///     O^T = S^T Q^T + W^T P^T        S^T <- S^T + W^T K
///
/// are products of operands in registers (S^T, W^T) with tiles of tokens in shared memory; the
/// gates are scalings before and after, by the axis.

#include <gdr/block/chunk_feeder.cuh>

GDR_NAMESPACE_BEGIN

/// Runs spans of one sequence and value head over a block of `columns` value channels. The outer
/// product rule alone.
///
/// A block of `threads` threads (one-dimensional) constructs it together; all of them call each
/// method. The first `state_threads` hold the state; the others load and prepare the next chunk
/// meanwhile. The state lives in the object: spans may follow one another, and the state may be
/// read and written in between.
///
///     Block block(storage, first_column);
///     block.clear();
///     block.run(span, [&](const auto& output) { ... });
///
/// The output function is a generic one, called by each of the state's warps on its own for its 16
/// value channels, with a chunk or 16 tokens of one at a time. After `run`, `storage` may be used
/// for something else after a __syncthreads().
///
/// TempStorage is dynamic shared memory, as in kernel/chunked.cuh, aligned to 1024 bytes.
template <class Layer, class Policy>
class BlockChunked {
  static_assert(!Layer::Rule::uses_beta, "gdr: the chunked form serves the outer product rule");
  using Operands = typename ChunkExtents<Layer, Policy>::Operands;
  using Operand = typename Operands::A;
  using Prepared = PreparedChunk<ChunkExtents<Layer, Policy>>;
  static constexpr GateAxis axis = Layer::Gate::axis;
  static constexpr int token_blocks = ChunkExtents<Layer, Policy>::token_blocks;
  static constexpr int key_blocks = ChunkExtents<Layer, Policy>::key_blocks;

 public:
  using Extents = ChunkExtents<Layer, Policy>;
  static constexpr int columns = Extents::columns;
  static constexpr int tokens = Extents::tokens;
  static constexpr int threads = Extents::tuning.threads();
  static constexpr int state_threads = Extents::state_threads;
  using TempStorage = ChunkStorage<Extents>;

  /// Outputs of 16 * Blocks tokens from first_token, of which `tokens` exist, and of 16 value
  /// channels from first_column + first_channel, spread over the lanes of a warp.
  template <int Blocks>
  struct Output {
    int64_t first_token;
    int tokens;
    int first_channel;
    int lane;
    typename Extents::OutputStaging& staging;  // of the warp, for whatever use
    const Accumulator (&x)[Blocks];            // [channel][token]

    /// Calls use(token, channel, output), both counted from the first, for this lane's outputs.
    template <class Use>
    GDR_DEVICE void for_each(Use&& use) const {
#pragma unroll
      for (int b = 0; b < Blocks; ++b) {
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            use(16 * b + 8 * n8 + 2 * (lane % 4) + e % 2, lane / 4 + e / 2 * 8, x[b].c[n8][e]);
          }
        }
      }
    }
  };

  GDR_DEVICE BlockChunked(TempStorage& storage, int first_column, bool split_state_operand = false)
      : storage_(storage),
        first_column_(first_column),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32),
        split_state_operand_(split_state_operand) {}

  /// S <- 0.
  GDR_DEVICE void clear() {
    for_each([](int, int, float& s) { s = 0; });
  }

  /// Calls use(i, j, S_ij by reference) for this thread's elements, if it has any: i a key channel,
  /// j a value channel of the head. Channels past the extents are visited too; what is written
  /// there must be finite.
  template <class Use>
  GDR_DEVICE void for_each(Use&& use) {
    if (role() != ChunkRole::state) return;
#pragma unroll
    for (int b = 0; b < key_blocks; ++b) {
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          use(16 * b + 8 * n8 + 2 * place() + e % 2, first_column_ + channel() + e / 2 * 8,
              state_[b].c[n8][e]);
        }
      }
    }
  }

  /// Runs the span from the state as it is, and leaves the state after its last token.
  template <class Use>
  GDR_DEVICE void run(const Span<Layer>& span, Use&& output) {
    if (role() == ChunkRole::load) {
      load(span);
    } else if (role() == ChunkRole::prepare) {
      prepare(span);
    } else {
      walk(span, output);
    }
  }

  /// The parts of run, for a kernel that branches once: what this thread's warp does in it.
  GDR_DEVICE ChunkRole role() const {
    return warp_ < Extents::tuning.state_warps ? ChunkRole::state
           : warp_ < Extents::tuning.state_warps + Extents::tuning.prepare_warps
               ? ChunkRole::prepare
               : ChunkRole::load;
  }

  /// The product of all gates of the span that was run last, for each value channel (value gate),
  /// key channel, or the head: calls use(channel of the axis, product) for some by each thread.
  /// Only of a span with only_state; to be called by all threads.
  template <class Use>
  GDR_DEVICE void for_each_total(Use&& use) const {
    __syncthreads();
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (axis == GateAxis::value) {
      for (int c = thread; c < columns; c += threads) {
        ScaledProduct total = storage_.scratch.total[0][c];
        total.multiply(storage_.scratch.total[1][c].mantissa);
        total.exponent += storage_.scratch.total[1][c].exponent;
        use(first_column_ + c, total);
      }
    } else if constexpr (axis == GateAxis::key) {
      for (int c = thread; c < Extents::key_width; c += threads) {
        use(c, storage_.scratch.total[c]);
      }
    } else if constexpr (axis == GateAxis::head) {
      if (thread == 0) use(0, storage_.scratch.total);
    }
  }

  GDR_DEVICE void load(const Span<Layer>& span, const ChunkSource& source = {}) {
    const int chunks = tile_count<tokens>(span);
    if (chunks == 0) return;
    const int warp = warp_ - Extents::tuning.state_warps - Extents::tuning.prepare_warps;
    const ChunkFeeder<Layer, Policy> feeder(storage_, span, source, first_column_, warp, lane_);
    feeder.run(chunks, [] { end_turn(); });
    end_turn();
  }

  GDR_DEVICE void prepare(const Span<Layer>& span) {
    const int chunks = tile_count<tokens>(span);
    if (chunks == 0) return;
    ChunkPreparer<Layer, Policy> preparer(storage_, span, first_column_,
                                          static_cast<int>(threadIdx.x) - state_threads);
    end_turn();
    for (int turn = -1; turn < chunks; ++turn) {
      if (turn + 1 < chunks) preparer.prepare(turn + 1);
      end_turn();
    }
    end_turn();
  }

  template <class Use>
  GDR_DEVICE void walk(const Span<Layer>& span, Use&& output) {
    const int chunks = tile_count<tokens>(span);
    if (chunks == 0) return;
    end_turn();
    end_turn();
    for (int n = 0; n < chunks; ++n) {
      lane_ = opaque(lane_);  // as in ChunkPreparer::forget_places
      const int valid = tokens_of_tile<tokens>(span, n);
      if (GDR_LIKELY(!span.only_state)) {
        run_chunk(n, int64_t{n} * tokens, valid, output);
      } else {
        update_state(n, valid);
      }
      end_turn();
    }
    if constexpr (axis == GateAxis::value) scale_channels(storage_.scratch.leave[(chunks + 1) % 2]);
    if constexpr (axis == GateAxis::key) scale_keys(storage_.scratch.leave[(chunks + 1) % 2]);
    end_turn();
  }

 private:
  GDR_DEVICE int group() const { return lane_ / 4; }
  GDR_DEVICE int place() const { return lane_ % 4; }
  /// The first of this lane's two value channels in the block; the other is 8 after it.
  GDR_DEVICE int channel() const { return 16 * warp_ + group(); }

  // In turn n the state meets chunk n, n + 1 is prepared and n + 2 loaded; turns -2 and -1 fill the
  // pipeline. The barrier after each turn is the only one between the roles: no buffer is filled
  // and read in the same turn.
  static GDR_DEVICE void end_turn() { sync_threads<barrier_turn, threads>(); }

  template <class Use>
  GDR_DEVICE void run_chunk(int n, int64_t first, int valid, Use& output) {
    const Prepared& chunk = storage_.prepared[n % 2];
    const ChunkMode mode = chunk.mode;
    if constexpr (axis == GateAxis::value) scale_channels(chunk.factors.enter);
    if constexpr (axis == GateAxis::key) scale_keys(chunk.factors.enter);
    const auto put_out = [&](int block, auto& x) {
      constexpr int blocks = sizeof(x) / sizeof(Accumulator);
      output(Output<blocks>{first + 16 * block, min(valid - 16 * block, 16 * blocks), 16 * warp_,
                            lane_, storage_.outputs[warp_], x});
    };
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (uses_warpgroups<Layer, Policy>) {
      if (GDR_LIKELY(mode == ChunkMode::divided && !split_state_operand_)) {
        run_together(n, put_out);
        return;
      }
    }
#endif
    if constexpr (axis == GateAxis::value || axis == GateAxis::key) {
      if (mode == ChunkMode::exact) {
#pragma unroll 1
        for (int block = 0; block < token_blocks && 16 * block < valid; ++block) {
          Accumulator o[1];
          run_span_exactly(n, block, o[0]);
          scale_outputs(chunk, block, o[0]);
          put_out(block, o);
        }
        return;
      }
    }
    run_alone(n, mode == ChunkMode::causal, valid, put_out);
  }

  /// The state after a chunk, without outputs.
  GDR_DEVICE void update_state(int n, int valid) {
    const Prepared& chunk = storage_.prepared[n % 2];
    if constexpr (axis == GateAxis::value) scale_channels(chunk.factors.enter);
    if constexpr (axis == GateAxis::key) scale_keys(chunk.factors.enter);
    if constexpr (axis == GateAxis::value || axis == GateAxis::key) {
      if (!GDR_LIKELY(chunk.mode != ChunkMode::exact)) {
#pragma unroll 1
        for (int block = 0; block < token_blocks && 16 * block < valid; ++block) {
          Accumulator unused;
          run_span_exactly(n, block, unused);
        }
        return;
      }
    }
    if constexpr (axis == GateAxis::head) {
#pragma unroll
      for (Accumulator& s : state_) scale(s, chunk.factors.from_start[tokens - 1]);
    }
#pragma unroll 1
    for (int t = 0; t < token_blocks && 16 * t < valid; ++t) write_values(chunk, n, t);
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  /// A chunk as one span, by the warpgroup's products.
  template <class PutOut>
  GDR_DEVICE void run_together(int n, PutOut& put_out) {
    using Products = WarpgroupProducts<Layer, Policy>;
    const Prepared& chunk = storage_.prepared[n % 2];
    Accumulator o[token_blocks];
    Operand w[token_blocks];
#pragma unroll
    for (Accumulator& x : o) x.clear();
#pragma unroll
    for (int b = 0; b < token_blocks; ++b) w[b] = chunk.values[warp_].load(b, lane_);
    Products::read(state_, storage_.q[n % Extents::key_stages], o);
    if constexpr (axis == GateAxis::head) {
      Products::wait_read(o);
#pragma unroll
      for (int b = 0; b < token_blocks; ++b) {
        for_each_token(o[b], [&](float& x, int t) { x *= chunk.factors.from_start[16 * b + t]; });
      }
#pragma unroll
      for (Accumulator& s : state_) scale(s, chunk.factors.from_start[tokens - 1]);
    }
    Products::add(w, chunk.scores, o);
    if constexpr (axis == GateAxis::head) {
      Operand decayed[token_blocks];
#pragma unroll
      for (int b = 0; b < token_blocks; ++b) {
        decayed[b] = chunk.factors.decayed[warp_].load(b, lane_);
      }
      Products::write(decayed, storage_.k[n % Extents::key_stages], state_);
      Products::wait_add(o);
    } else {
      Products::write(w, storage_.k[n % Extents::key_stages], state_);
      Products::wait_add(o);
    }
#pragma unroll
    for (int b = 0; b < token_blocks; ++b) finish_outputs(chunk, b, o[b]);
    put_out(0, o);
    Products::wait_write(state_);
  }
#endif

  /// A chunk as one span, by the warp's own products, some blocks of 16 tokens at a time.
  template <class PutOut>
  GDR_DEVICE void run_alone(int n, bool causal, int valid, PutOut& put_out) {
    constexpr int blocks = token_blocks < 2 ? token_blocks : 2;
    const Prepared& chunk = storage_.prepared[n % 2];
#pragma unroll 1
    for (int first = 0; first < token_blocks && 16 * first < valid; first += blocks) {
      Accumulator o[blocks];
      read(n, first, o);
#pragma unroll
      for (int i = 0; i < blocks; ++i) {
        const int t = first + i;
        if constexpr (axis == GateAxis::head) {
          for_each_token(o[i], [&](float& x, int u) { x *= chunk.factors.from_start[16 * t + u]; });
        }
        if (causal) continue;
#pragma unroll 1
        for (int s = 0; s <= t; ++s) {
          Operands::multiply_add(o[i], chunk.values[warp_].load(s, lane_),
                                 Operands::load_b_transposed(chunk.scores, 16 * t, 16 * s, lane_));
        }
      }
      if (causal) {
        for (int s = 0; s < 16 * (first + blocks); ++s) add_causally(chunk, s, 16 * first, o);
      }
#pragma unroll
      for (int i = 0; i < blocks; ++i) finish_outputs(chunk, first + i, o[i]);
      put_out(first, o);
    }
    if constexpr (axis == GateAxis::head) {
#pragma unroll
      for (Accumulator& s : state_) scale(s, chunk.factors.from_start[tokens - 1]);
    }
#pragma unroll 1
    for (int t = 0; t < token_blocks && 16 * t < valid; ++t) write_values(chunk, n, t);
  }

  /// S^T += W^T K of 16 tokens with the values that the preparation left.
  GDR_DEVICE void write_values(const Prepared& chunk, int n, int t_block) {
    if constexpr (axis == GateAxis::head) {
      write(chunk.factors.decayed[warp_].load(t_block, lane_), n, t_block);
    } else {
      write(chunk.values[warp_].load(t_block, lane_), n, t_block);
    }
  }

  /// What is left to do to the outputs of a chunk that is one span.
  GDR_DEVICE void finish_outputs(const Prepared& chunk, int block, Accumulator& o) const {
    if constexpr (axis == GateAxis::value) {  // with the outputs' scale
      const Accumulator products = chunk.factors.products[warp_].load(block, lane_);
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int e = 0; e < 4; ++e) o.c[n8][e] *= products.c[n8][e];
      }
    } else {
      scale_outputs(chunk, block, o);
    }
  }

  /// o_t += p_ts w_s for one token s of the chunk and the tokens t >= s among those of `o`, which
  /// begin at first_t: where a product with scores masked to 0 would carry a NaN to earlier tokens.
  template <int Blocks>
  GDR_DEVICE void add_causally(const Prepared& chunk, int s, int first_t,
                               Accumulator (&o)[Blocks]) const {
    const Accumulator w =
        Operands::from_a(chunk.values[warp_].load(s / 16, lane_ / 4 * 4 + s % 8 / 2));
    float w_s[2];
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      const float even = s / 8 % 2 == 0 ? w.c[0][2 * m8] : w.c[1][2 * m8];
      const float odd = s / 8 % 2 == 0 ? w.c[0][2 * m8 + 1] : w.c[1][2 * m8 + 1];
      w_s[m8] = s % 2 == 0 ? even : odd;
    }
#pragma unroll
    for (int b = 0; b < Blocks; ++b) {
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int t = first_t + 16 * b + 8 * n8 + 2 * place() + e;
          if (t < s) continue;
          const float p = to_float(chunk.scores.at(t, s));
          o[b].c[n8][e] = fmaf(p, w_s[0], o[b].c[n8][e]);
          o[b].c[n8][2 + e] = fmaf(p, w_s[1], o[b].c[n8][2 + e]);
        }
      }
    }
  }

  GDR_DEVICE void scale_outputs(const Prepared& chunk, int block, Accumulator& o) const {
    for_each_token(o, [&](float& x, int t) { x *= chunk.output_scale[16 * block + t]; });
  }

  /// S^T Q^T of some blocks of 16 tokens.
  template <int Blocks>
  GDR_DEVICE void read(int n, int first_block, Accumulator (&o)[Blocks]) const {
#pragma unroll
    for (Accumulator& x : o) x.clear();
    const auto add = [&](bool rest) {
#pragma unroll
      for (int b = 0; b < key_blocks; ++b) {
        Operand s = Operands::to_a(state_[b]);
        if (rest) s = Operands::rest(state_[b], s);
#pragma unroll
        for (int i = 0; i < Blocks; ++i) {
          Operands::multiply_add(
              o[i], s,
              Operands::load_b_transposed(storage_.q[n % Extents::key_stages],
                                          16 * (first_block + i), 16 * b, lane_));
        }
      }
    };
    add(false);
    if constexpr (Operands::has_rest) {
      if (!GDR_LIKELY(!split_state_operand_)) add(true);
    }
  }
  /// S^T += W^T K of 16 tokens.
  GDR_DEVICE void write(const Operand& w, int n, int t_block) {
#pragma unroll
    for (int b = 0; b < key_blocks; ++b) {
      const auto k =
          Operands::load_b(storage_.k[n % Extents::key_stages], 16 * t_block, 16 * b, lane_);
      if constexpr (Layer::element_type == DataType::float32) {
        // Added outside of the tensor core, which truncates: it would drift.
        Accumulator sum;
        sum.clear();
        Operands::multiply_add(sum, w, k);
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
          for (int e = 0; e < 4; ++e) state_[b].c[n8][e] += sum.c[n8][e];
        }
      } else {
        Operands::multiply_add(state_[b], w, k);
      }
    }
  }

  /// 16 tokens without division.
  GDR_DEVICE void run_span_exactly(int n, int block, Accumulator& o) {
    const Prepared& chunk = storage_.prepared[n % 2];
    if constexpr (axis == GateAxis::key) {
      Accumulator sums[1];
      sums[0].clear();
      for (int s = 16 * block; s < 16 * block + 16; ++s) add_causally(chunk, s, 16 * block, sums);
      const Accumulator values = Operands::from_a(chunk.values[warp_].load(block, lane_));
      const int span = chunk.span;
      for (int first = 0; first < 16; first += span) {
        Accumulator past[1], w = values;
        read(n, block, past);
        add_tokens(first, span, past[0], sums[0], o);
        for_each_token(w, [&](float& x, int t) { x = (t & -span) == first ? x : 0.0f; });
        scale_keys(chunk.factors.leave[(16 * block + first) >> (31 - __clz(span))]);
        write(Operands::to_a(w), n, block);
      }
    } else if constexpr (axis == GateAxis::value) {
      const Accumulator a = chunk.factors.products[warp_].load(block, lane_);
      const Accumulator v = Operands::from_a(chunk.values[warp_].load(block, lane_));
      const int span = span_length(a, v);
      for (int first = 0; first < 16; first += span) {
        Accumulator past[1], w, sums;
        float from_start[2] = {1.0f, 1.0f};
        read(n, block, past);
        walk_tokens(chunk, block, first, span, v, w, from_start, past[0], sums);
        add_tokens(first, span, past[0], sums, o);
#pragma unroll
        for (Accumulator& s : state_) scale_rows(s, from_start[0], from_start[1]);
        write(Operands::to_a(w), n, block);
      }
    }
  }

  /// o_t <- past_t + sums_t for the tokens t of a span.
  GDR_DEVICE void add_tokens(int first, int span, const Accumulator& past, const Accumulator& sums,
                             Accumulator& o) const {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int t = 8 * n8 + 2 * place() + e % 2;
        if ((t & -span) == first) o.c[n8][e] = past.c[n8][e] + sums.c[n8][e];
      }
    }
  }

  /// Value gate, the tokens t of a span in a block, in order: w_s <- a_t w_s for s < t, w_t = v_t;
  /// sums_t = p_ts w_s summed over s; past_t times the gates from the span's start.
  GDR_DEVICE void walk_tokens(const Prepared& chunk, int block, int first, int span,
                              const Accumulator& v, Accumulator& w, float (&from_start)[2],
                              Accumulator& past, Accumulator& sums) const {
    w.clear();
#pragma unroll
    for (int t8 = 0; t8 < 2; ++t8) {
      float share[2][8];  // of the sums: this lane's tokens s, [m8][t]
#pragma unroll
      for (int owner = 0; owner < 4; ++owner) {
        // Gates of tokens 8 t8 + 2 owner + e for both of this lane's channels.
        const uint4 bits = chunk.factors.products[warp_].data[block][t8][lane_ / 4 * 4 + owner];
        const float gates[4] = {__uint_as_float(bits.x), __uint_as_float(bits.y),
                                __uint_as_float(bits.z), __uint_as_float(bits.w)};
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int t = 8 * t8 + 2 * owner + e;
          const bool is_here = (t & -span) == first;
          const bool is_own = place() == owner;
#pragma unroll
          for (int m8 = 0; m8 < 2; ++m8) {
            const float gate = is_here ? gates[2 * m8 + e] : 1.0f;
            from_start[m8] *= gate;
            if (is_own) past.c[t8][2 * m8 + e] *= from_start[m8];
            share[m8][2 * owner + e] = 0.0f;
          }
#pragma unroll
          for (int s8 = 0; s8 <= t8; ++s8) {
            const float2 p = Operands::load_pair(
                &chunk.scores.at(16 * block + t, 16 * block + 8 * s8,
                                 decltype(chunk.scores)::offset(0, 2 * place())));
#pragma unroll
            for (int m8 = 0; m8 < 2; ++m8) {
              const float gate = is_here ? gates[2 * m8 + e] : 1.0f;
              float* const w_s = &w.c[s8][2 * m8];
              w_s[0] *= gate;
              w_s[1] *= gate;
              if (s8 == t8 && is_own && is_here) w_s[e] = v.c[s8][2 * m8 + e];
              // Tokens s after t have no weight yet, and a score that is 0.
              float& sum = share[m8][2 * owner + e];
              sum = fmaf(p.x, w_s[0], sum);
              sum = fmaf(p.y, w_s[1], sum);
            }
          }
        }
      }
#pragma unroll
      for (int m8 = 0; m8 < 2; ++m8) {
        // Added over the four lanes, so that each keeps the sums of its own two tokens.
        const bool upper = place() >= 2, odd = place() % 2 != 0;
        float half[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float kept = upper ? share[m8][4 + i] : share[m8][i];
          half[i] = kept + __shfl_xor_sync(full_warp, upper ? share[m8][i] : share[m8][4 + i], 2);
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float kept = odd ? half[2 + e] : half[e];
          sums.c[t8][2 * m8 + e] =
              kept + __shfl_xor_sync(full_warp, odd ? half[e] : half[2 + e], 1);
        }
      }
    }
  }

  /// The longest span, 16 tokens halved, in which products of gates stay in range for all channels
  /// of the warp.
  GDR_DEVICE int span_length(const Accumulator& a, const Accumulator& v) const {
    int weight[2][2];  // [m8][n8]: of this lane's two tokens
    int largest[2] = {0, 0};
    bool pairs_fit = true;
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
        weight[m8][n8] = gate_weight(a.c[n8][2 * m8]) + gate_weight(a.c[n8][2 * m8 + 1]);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          largest[m8] = max(largest[m8], value_weight(v.c[n8][2 * m8 + e]));
        }
      }
      largest[m8] = max(largest[m8], __shfl_xor_sync(full_warp, largest[m8], 1));
      largest[m8] = max(largest[m8], __shfl_xor_sync(full_warp, largest[m8], 2));
    }
    int longest = 1;
    const auto fits = [&](int m8, int w) { return w <= max_span_weight && w + largest[m8] <= 126; };
    bool four_fit = true, eight_fit = true, sixteen_fit = true;
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      int eights = 0;
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
        int w = weight[m8][n8];
        pairs_fit = pairs_fit && fits(m8, w);
        w += __shfl_xor_sync(full_warp, w, 1);
        four_fit = four_fit && fits(m8, w);
        w += __shfl_xor_sync(full_warp, w, 2);
        eight_fit = eight_fit && fits(m8, w);
        eights += w;
      }
      sixteen_fit = sixteen_fit && fits(m8, eights);
    }
    if (__all_sync(full_warp, pairs_fit)) longest = 2;
    if (__all_sync(full_warp, four_fit)) longest = 4;
    if (__all_sync(full_warp, eight_fit)) longest = 8;
    if (__all_sync(full_warp, sixteen_fit)) longest = 16;
    return longest;
  }
  static GDR_DEVICE int value_weight(float v) {
    const int exponent = detail::exponent_of(v);
    return exponent > 0 && exponent < 128 ? exponent : 0;
  }

  /// Calls use(x, token of the block) for this lane's elements of a [channel][token] accumulator.
  template <class Use>
  GDR_DEVICE void for_each_token(Accumulator& x, Use&& use) const {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) use(x.c[n8][e], 8 * n8 + 2 * place() + e % 2);
    }
  }
  static GDR_DEVICE void scale_rows(Accumulator& x, float upper, float lower) {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) x.c[n8][e] *= e < 2 ? upper : lower;
    }
  }
  static GDR_DEVICE void scale(Accumulator& x, float factor) { scale_rows(x, factor, factor); }
  /// S_ij <- S_ij * factor[j], j counted from the block's first column.
  GDR_DEVICE void scale_channels(const float* factor) {
    const float upper = factor[channel()], lower = factor[channel() + 8];
#pragma unroll
    for (Accumulator& s : state_) scale_rows(s, upper, lower);
  }
  /// S_ij <- S_ij * factor[i].
  GDR_DEVICE void scale_keys(const float* factor) {
#pragma unroll
    for (int b = 0; b < key_blocks; ++b) {
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
        const auto f = *reinterpret_cast<const float2*>(factor + 16 * b + 8 * n8 + 2 * place());
#pragma unroll
        for (int e = 0; e < 4; ++e) state_[b].c[n8][e] *= e % 2 == 0 ? f.x : f.y;
      }
    }
  }

  TempStorage& storage_;
  int first_column_;
  int warp_;
  int lane_;
  bool split_state_operand_;
  Accumulator state_[key_blocks];  // S^T: this warp's channels, all keys
};

GDR_NAMESPACE_END
