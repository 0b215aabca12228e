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
#include <gdr/block/chunk_state.cuh>

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
  using Prepared = PreparedChunk<ChunkExtents<Layer, Policy>>;
  static constexpr GateAxis axis = Layer::Gate::axis;

 public:
  using Extents = ChunkExtents<Layer, Policy>;
  static constexpr int columns = Extents::columns;
  static constexpr int tokens = Extents::tokens;
  static constexpr int threads = Extents::tuning.threads();
  static constexpr int state_threads = Extents::state_threads;
  using TempStorage = ChunkStorage<Extents>;

  GDR_DEVICE BlockChunked(TempStorage& storage, int first_column, bool split_state_operand = false)
      : storage_(storage),
        first_column_(first_column),
        thread_(thread_index_x()),
        warp_(thread_ / 32),
        lane_(thread_ % 32),
        state_(storage, warp_, lane_, split_state_operand) {}

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
    state_.for_each([&](int i, int j, float& x) { use(i, first_column_ + j, x); });
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
  GDR_DEVICE static ChunkRole role() {
    const int thread = thread_index_x();
    return thread < state_threads                              ? ChunkRole::state
           : thread < state_threads + Extents::prepare_threads ? ChunkRole::prepare
                                                               : ChunkRole::load;
  }

  /// The product of all gates of the span that was run last, for each value channel (value gate),
  /// key channel, or the head: calls use(channel of the axis, product) for some by each thread.
  /// Only of a span of some tokens with only_state; to be called by all threads.
  template <class Use>
  GDR_DEVICE void for_each_total(Use&& use) const {
    __syncthreads();
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (axis == GateAxis::value || axis == GateAxis::key) {
      const int first = axis == GateAxis::value ? first_column_ : 0;
      for (int c = thread; c < Extents::gate_width; c += threads) {
        ScaledProduct total = storage_.scratch.total[0][c];
        total.multiply(storage_.scratch.total[1][c]);
        use(first + c, total);
      }
    } else if constexpr (axis == GateAxis::head) {
      if (thread == 0) use(0, storage_.scratch.total);
    }
    __syncthreads();  // before the next span begins anew
  }

  GDR_DEVICE void load(const Span<Layer>& span, const ChunkSource& source = {}) {
    const int chunks = tile_count<tokens>(span);
    if (chunks == 0) return;
    const int warp = warp_ - Extents::tuning.state_warps - Extents::tuning.prepare_warps;
    const ChunkFeeder<Layer, Policy> feeder(storage_, span, source, first_column_, warp, lane_);
    ChunkScores<Layer, Policy> scores(storage_, warp, lane_);
    HeadGates<Layer, Policy> head_gates(storage_, span, lane_);
    const bool has_head_gates = axis == GateAxis::head && warp == Extents::tuning.load_warps - 1;
    // Turn n - 2, but for the barrier at its end. `Boxed`: it is between the first and those in which
    // the copy engine does not bring all.
    const auto turn = [&](auto boxed, int n) {
      feeder.ask(boxed, n);  // first: with three stages of q and k there is a turn's time for them
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
      feeder.wait_for(boxed, n);
    };
    feeder.begin();
    if (has_head_gates) head_gates.ask(0);
    const int boxed_turns = feeder.boxed_turns();
#pragma unroll 1
    for (int n = 0; n < chunks + 2; ++n) {
      turn(stdx::false_type{}, n);
      if (n == 0) {
        begin_turns();
      } else {
        end_turn();
      }
      // As ChunkPreparer::prepare_divided.
#pragma unroll 1
      while (n + 1 < boxed_turns) {
        // 1x8192x64x128: 258 us without uniform, 221 so, 230 with it in the state's warps too, 238 in
        // all roles.
        turn(stdx::true_type{}, uniform(++n));
        end_turn();
      }
    }
    feeder.end();
  }

  GDR_DEVICE void prepare(const Span<Layer>& span) {
    const int chunks = tile_count<tokens>(span);
    if (chunks == 0) return;
    ChunkPreparer<Layer, Policy> preparer(storage_, span, first_column_, thread_ - state_threads);
    begin_turns();
    for (int n = 0; n < chunks;) {  // in turn n - 1
      n = preparer.prepare_divided(n, chunks, [] { end_turn(); });
      if (n == chunks) break;
      preparer.prepare(n++);
      end_turn();
    }
    end_turn();
  }

  template <class Use>
  GDR_DEVICE void walk(const Span<Layer>& span, Use&& output) {
    const int chunks = tile_count<tokens>(span);
    if (chunks == 0) return;
    if (!GDR_LIKELY(!span.only_state)) {
      for (int n = 0; n < chunks; ++n) {
        end_turn();
        state_.update(n, tokens_of_tile<tokens>(span, n));
      }
    } else {
      for (int n = 0; n < chunks; ++n) {
        n = state_.meet_divided(
            span, n, chunks, [] { end_turn(); }, output);
        if (n < chunks) state_.meet(span, n, output);
      }
    }
    state_.end(chunks);
    end_turn();
  }

 private:
  // In turn n the state meets chunk n, n + 1 is prepared and n + 2 loaded; turns -2 and -1 fill the
  // pipeline. The barrier after each turn is between all roles: but for scores, no buffer is filled
  // and read in the same turn. Turn -2 does not concern the state.
  static GDR_DEVICE void begin_turns() {
    sync_threads<barrier_loaded, Extents::load_threads + Extents::prepare_threads>();
  }
  static GDR_DEVICE void end_turn() { sync_threads<barrier_turn, threads>(); }

  /// Loading warps, turn t: scores of the chunk that is prepared or, under a key gate, of the one
  /// that the state meets. Those that wait for them are told.
  GDR_DEVICE void make_scores(const Span<Layer>& span, ChunkScores<Layer, Policy>& scores, int t,
                              int chunks) {
    constexpr bool is_key = axis == GateAxis::key;
    const int n = is_key ? t : t + 1;
    if (n < 0 || n >= chunks || span.only_state) return;
    if constexpr (Extents::load_warps_wait_for_split) {
      sync_threads<barrier_split, Extents::load_threads + Extents::prepare_threads>();
    }
    if (!is_key || storage_.prepared[n % 2].span == 0) {
      // Exact chunks are seldom alone.
      scores.make(n, ChunkMode::divided,
                  !is_key && storage_.prepared[(n + 1) % 2].mode == ChunkMode::exact);
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
  TempStorage& storage_;
  int first_column_;
  int thread_;
  int warp_;
  int lane_;
  ChunkState<Layer, Policy> state_;
};

GDR_NAMESPACE_END
