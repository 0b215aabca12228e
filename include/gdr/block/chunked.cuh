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
#include <gdr/block/chunk_preparer.cuh>
#include <gdr/block/chunk_scores.cuh>

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
    if constexpr (axis == GateAxis::value || axis == GateAxis::key) {
      const int first = axis == GateAxis::value ? first_column_ : 0;
      for (int c = thread; c < Extents::gate_width; c += threads) {
        ScaledProduct total = storage_.scratch.total[0][c];
        total.multiply(storage_.scratch.total[1][c].mantissa);
        total.exponent += storage_.scratch.total[1][c].exponent;
        use(first + c, total);
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
    ChunkScores<Layer, Policy> scores(storage_, warp, lane_);
    HeadGates<Layer, Policy> head_gates(storage_, span, lane_);
    const bool has_head_gates = axis == GateAxis::head && warp == Extents::tuning.load_warps - 1;
    feeder.begin();
    if (has_head_gates) head_gates.ask(0);
#pragma unroll 1
    for (int n = 0; n < chunks + 2; ++n) {  // in turn n - 2
      feeder.ask(n);  // first: with three stages of q and k there is a turn's time for them
      if constexpr (Extents::load_warps_make_scores) make_scores(span, scores, n - 2, chunks);
      if constexpr (axis == GateAxis::head) {
        if (has_head_gates && n < chunks) {
          head_gates.make(n);
          head_gates.ask(n + 1);
        }
      }
      if constexpr (axis == GateAxis::key) {
        if (n >= 1 && n <= chunks) store_values(span, n - 1, warp);
      }
      feeder.wait_for(n);
      end_turn();
    }
    feeder.end();
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
    if constexpr (axis != GateAxis::none) scale_state(storage_.scratch.leave[(chunks + 1) % 2]);
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

  /// Loading warps, turn t: scores of the chunk that is prepared or, under a key gate, of the one
  /// that the state meets. Those that wait for them are told.
  GDR_DEVICE void make_scores(const Span<Layer>& span, ChunkScores<Layer, Policy>& scores, int t,
                              int chunks) {
    constexpr bool is_key = axis == GateAxis::key;
    const int n = is_key ? t : t + 1;
    if (n < 0 || n >= chunks || span.only_state) return;
    if (!is_key || storage_.prepared[n % 2].span == 0) {
      // Exact chunks are seldom alone.
      scores.make(n, ChunkMode::divided, storage_.prepared[(n + 1) % 2].mode == ChunkMode::exact);
      publish_to_async_proxy();
    }
    arrive_at<barrier_scored,
              Extents::load_threads + (is_key ? state_threads : Extents::prepare_threads)>();
  }
  /// Loading warps, key gate: values of the chunk that is prepared.
  GDR_DEVICE void store_values(const Span<Layer>& span, int n, int warp) {
    constexpr int warps = Extents::tuning.load_warps;
    Prepared& chunk = storage_.prepared[n % 2];
    bool finite = true;
    if (GDR_LIKELY(Extents::load_warps_store_values(span))) {
      const int lane = opaque(lane_);
      finite = ChunkValues<Layer, Policy, warps>(storage_, span, n, warp, lane).store(chunk.values);
    }
    finite = __all_sync(full_warp, finite);
    if (lane_ == 0) chunk.factors.values_are_finite[warp] = finite;
  }
  /// How the state goes through a chunk.
  GDR_DEVICE ChunkMode mode_of(const Prepared& chunk) const {
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
      sync_threads<barrier_scored, Extents::load_threads + state_threads, true>();
    }
  }

  template <class Use>
  GDR_DEVICE void run_chunk(int n, int64_t first, int valid, Use& output) {
    const Prepared& chunk = storage_.prepared[n % 2];
    const ChunkMode mode = mode_of(chunk);
    if constexpr (axis != GateAxis::none) scale_state(chunk.factors.enter);
    const auto put_out = [&](int block, auto& x) {
      constexpr int blocks = sizeof(x) / sizeof(Accumulator);
      output(Output<blocks>{first + 16 * block, min(valid - 16 * block, 16 * blocks), 16 * warp_,
                            lane_, storage_.outputs[warp_], x});
    };
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (uses_warpgroups<Layer, Policy>) {
      if (GDR_LIKELY(mode == ChunkMode::divided && !split_state_operand_)) {
        run_together<false>(n, put_out);
        return;
      }
      if constexpr (axis == GateAxis::head) {
        if (mode == ChunkMode::multiplied && !split_state_operand_) {
          run_together<true>(n, put_out);
          return;
        }
      }
      if constexpr (axis == GateAxis::value) {
        if (mode == ChunkMode::exact && !split_state_operand_ && spans_are_whole(chunk)) {
          run_spans_together(n, valid, put_out);
          return;
        }
      }
    }
#endif
    wait_for_scores();
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
    run_alone(n, mode, valid, put_out);
  }

  /// The state after a chunk, without outputs.
  GDR_DEVICE void update_state(int n, int valid) {
    const Prepared& chunk = storage_.prepared[n % 2];
    if constexpr (axis != GateAxis::none) scale_state(chunk.factors.enter);
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
    write_values(chunk, n, valid);
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  /// A chunk as one span, by the warpgroup's products. `Multiplied`: a head gate's products are in
  /// the scores.
  template <bool Multiplied, class PutOut>
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
    if constexpr (Multiplied) {
      Products::wait_read(o);
#pragma unroll
      for (int b = 0; b < token_blocks; ++b) {
        for_each_token(o[b], 16 * b, place(),
                       [&](float& x, int t, int) { x *= chunk.factors.from_start[t]; });
      }
      scale_state(chunk.factors.from_start[tokens - 1]);
    }
    wait_for_scores();
    Products::add(w, chunk.scores, o);
    if constexpr (Multiplied) {
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
  GDR_DEVICE void run_spans_together(int n, int valid, PutOut& put_out) {
    using Products = WarpgroupProducts<Layer, Policy>;
    const Prepared& chunk = storage_.prepared[n % 2];
#pragma unroll 1
    for (int block = 0; block < token_blocks && 16 * block < valid; ++block) {
      Accumulator o[1];
      Products::read_block(state_, storage_.q[n % Extents::key_stages], block, o);
      finish_span(chunk, block, o[0]);
      scale_to_end(chunk, block, 15);
      Products::write_block(chunk.values[warp_].load(block, lane_),
                            storage_.k[n % Extents::key_stages], block, state_);
      scale_outputs(chunk, block, o[0]);
      put_out(block, o);
      Products::wait_write(state_);
    }
  }
#endif

  /// Value gate, exact: o_t = b_t past_t + sums_t.
  GDR_DEVICE void finish_span(const Prepared& chunk, int block, Accumulator& o) const {
    const Accumulator b = chunk.factors.products[warp_].load(block, lane_);
    const Accumulator sums = Operands::from_a(chunk.sums[warp_].load(block, lane_));
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) o.c[n8][e] = fmaf(b.c[n8][e], o.c[n8][e], sums.c[n8][e]);
    }
  }
  /// And S <- b_t S with the last token of a span.
  GDR_DEVICE void scale_to_end(const Prepared& chunk, int block, int last) {
    const auto& lanes = chunk.factors.products[warp_].data[block][last / 8];
    const auto* const b = reinterpret_cast<const float*>(&lanes[group() * 4 + last % 8 / 2]);
    const float upper = b[last % 2], lower = b[2 + last % 2];
#pragma unroll
    for (Accumulator& s : state_) scale_rows(s, upper, lower);
  }

  /// A chunk as one span, by the warp's own products, some blocks of 16 tokens at a time.
  template <class PutOut>
  GDR_DEVICE void run_alone(int n, ChunkMode mode, int valid, PutOut& put_out) {
    constexpr int blocks = token_blocks < 2 ? token_blocks : 2;
    const Prepared& chunk = storage_.prepared[n % 2];
#pragma unroll 1
    for (int first = 0; first < token_blocks && 16 * first < valid; first += blocks) {
      Accumulator o[blocks];
      read(n, first, o);
      if constexpr (axis == GateAxis::head) {
        if (mode != ChunkMode::divided) {
#pragma unroll
          for (int i = 0; i < blocks; ++i) {
            for_each_token(o[i], 16 * (first + i), place(),
                           [&](float& x, int t, int) { x *= chunk.factors.from_start[t]; });
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
                o[i], chunk.values[warp_].load(s, lane_),
                Operands::load_b_transposed(chunk.scores, 16 * t, 16 * s, lane_));
          }
        }
      }
#pragma unroll
      for (int i = 0; i < blocks; ++i) finish_outputs(chunk, first + i, o[i]);
      put_out(first, o);
    }
    write_values(chunk, n, valid);
  }

  /// S^T += W^T K of a chunk with the values that the preparation left.
  GDR_DEVICE void write_values(const Prepared& chunk, int n, int valid) {
    bool multiplied = false;
    if constexpr (axis == GateAxis::head) {
      multiplied = chunk.mode != ChunkMode::divided;
      if (multiplied) scale_state(chunk.factors.from_start[tokens - 1]);
    }
#pragma unroll 1
    for (int t = 0; t < token_blocks && 16 * t < valid; ++t) {
      if constexpr (axis == GateAxis::head) {
        if (multiplied) {
          write(chunk.factors.decayed[warp_].load(t, lane_), n, t);
          continue;
        }
      }
      write(chunk.values[warp_].load(t, lane_), n, t);
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
    for_each_token(o, 16 * block, place(),
                   [&](float& x, int t, int) { x *= chunk.output_scale[t]; });
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
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
          for (int e = 0; e < 4; ++e) past[0].c[n8][e] += sums[0].c[n8][e];
        }
        keep_span(first, span, past[0], o);
        for_each_token(w, 0, place(),
                       [&](float& x, int t, int) { x = (t & -span) == first ? x : 0.0f; });
        scale_state(chunk.factors.leave[(16 * block + first) >> (31 - __clz(span))]);
        write(Operands::to_a(w), n, block);
      }
    } else if constexpr (axis == GateAxis::value) {
      const Accumulator values = Operands::from_a(chunk.values[warp_].load(block, lane_));
      const int span = chunk.factors.span[warp_][block];
#pragma unroll 1
      for (int first = 0; first < 16; first += span) {
        Accumulator outputs[1], w = values;
        read(n, block, outputs);
        finish_span(chunk, block, outputs[0]);
        keep_span(first, span, outputs[0], o);
        scale_to_end(chunk, block, first + span - 1);
        for_each_token(w, 0, place(),
                       [&](float& x, int t, int) { x = (t & -span) == first ? x : 0.0f; });
        write(Operands::to_a(w), n, block);
      }
    }
  }

  /// o_t <- x_t for the tokens t of a span.
  GDR_DEVICE void keep_span(int first, int span, const Accumulator& x, Accumulator& o) const {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int t = 8 * n8 + 2 * place() + e % 2;
        if ((t & -span) == first) o.c[n8][e] = x.c[n8][e];
      }
    }
  }
  static GDR_DEVICE void scale_rows(Accumulator& x, float upper, float lower) {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) x.c[n8][e] *= e < 2 ? upper : lower;
    }
  }
  /// S <- S times the gates' product: one for each value channel of the block, key channel, or one.
  GDR_DEVICE void scale_state(float factor) {
#pragma unroll
    for (Accumulator& s : state_) scale_rows(s, factor, factor);
  }
  template <int Width>
  GDR_DEVICE void scale_state(const float (&factor)[Width]) {
    if constexpr (axis == GateAxis::value) {
      const float upper = factor[channel()], lower = factor[channel() + 8];
#pragma unroll
      for (Accumulator& s : state_) scale_rows(s, upper, lower);
    } else {
#pragma unroll
      for (int b = 0; b < key_blocks; ++b) {
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
          const auto f = *reinterpret_cast<const float2*>(&factor[16 * b + 8 * n8 + 2 * place()]);
#pragma unroll
          for (int e = 0; e < 4; ++e) state_[b].c[n8][e] *= e % 2 == 0 ? f.x : f.y;
        }
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
