// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The recurrent form as a block collective: tokens in order, the state in registers.

#include <gdr/block/token_stager.cuh>
#include <gdr/thread/step.hpp>

GDR_NAMESPACE_BEGIN

/// Runs spans of one sequence and value head over a block of `columns` value channels.
///
/// A block of `threads` threads (one-dimensional) constructs it together; all of them call each
/// method. The first `step_threads` hold the state and step; the others stage the next tile of
/// tokens and put out the previous one meanwhile. The state lives in the object: spans may follow
/// one another, and the state may be read and written in between.
///
///     __shared__ typename Block::TempStorage storage;
///     Block block(storage, first_column);
///     block.clear();
///     block.run(span, [&](const typename Block::Output& output) { ... });
///
/// The output function is called by the staging threads alone, whole warps, in order of the tokens,
/// for at most `tokens_per_tile` of them at a time. It may use warp operations and barriers of its
/// own from number 4 on, but not __syncthreads(), for which the stepping threads do not come. After
/// `run`, `storage` may be used for something else after a __syncthreads().
///
/// A TempStorage beyond 48 KiB must be dynamic shared memory, as in kernel/recurrent.cuh.
template <class Layer, class Policy>
class BlockRecurrent {
  static constexpr RecurrentTuning tuning = Policy::recurrent;
  static constexpr int lanes = tuning.lanes;
  static constexpr int rows = tuning.rows;
  static constexpr int columns_per_thread = tuning.columns_per_thread;
  static constexpr GateAxis axis = Layer::Gate::axis;
  static constexpr bool compensated = compensated_decay<Layer>;
  static_assert(tuning.padded_key_dim() >= Layer::key_dim, "lanes * rows holds every key channel");
  static_assert(lanes >= 4 && 32 % lanes == 0, "gdr: RecurrentTuning::lanes is 4, 8, 16 or 32");
  static_assert(tuning.tokens_per_tile % tuning.tokens_in_flight == 0,
                "gdr: tokens_per_tile is a multiple of tokens_in_flight");
  static_assert(tuning.tokens_per_tile >= 4, "gdr: a tile has 4 tokens or more: turns are an int");
  static_assert(tuning.columns_per_block() % 4 == 0, "gdr: a block has a multiple of 4 columns");

  using Stager = TokenStager<Layer, Policy>;
  using Tile = typename Stager::Tile;
  using Decays = LayerDecays<Layer, rows, columns_per_thread>;

 public:
  /// Value channels a block covers.
  static constexpr int columns = tuning.columns_per_block();
  static constexpr int threads = tuning.threads();
  static constexpr int step_threads = 32 * tuning.step_warps;
  static constexpr int stage_threads = 32 * tuning.stage_warps;
  static constexpr int tokens_per_tile = tuning.tokens_per_tile;

  /// Shares of S^T q, one of each lane that holds a part of the column. Padded, so that the lanes
  /// that write the same columns of a token, and those that read neighbouring tokens, meet
  /// different banks.
  struct Shares {
    static constexpr int lane_stride = columns + 4;
    static constexpr int token_stride = lanes * lane_stride + columns % 32;
    float data[tokens_per_tile][token_stride];

    GDR_DEVICE float* at(int t, int lane, int c) { return &data[t][lane * lane_stride + c]; }
    GDR_DEVICE const float* at(int t, int lane, int c) const {
      return &data[t][lane * lane_stride + c];
    }
  };

  /// What the output function gets: the outputs of `tokens` tokens from first_token.
  struct Output {
    int64_t first_token;
    int tokens;
    int thread;  // 0 .. stage_threads
    float scale;
    const Shares& shares;

    static constexpr int warps = tuning.stage_warps;
    GDR_DEVICE int warp() const { return thread / 32; }
    GDR_DEVICE int lane() const { return thread % 32; }

    /// x[n] = scale * S^T q of token first_token + t and value channel first_column + c + n, N of
    /// 1, 2, 4 or 8 and c a multiple of N. Channels past span.value_dim are 0 while q and k are
    /// finite.
    template <int N>
    GDR_DEVICE void load(int t, int c, float (&x)[N]) const {
      load_floats(shares.at(t, 0, c), x);
#pragma unroll
      for (int lane = 1; lane < lanes; ++lane) {
        float share[N];
        load_floats(shares.at(t, lane, c), share);
#pragma unroll
        for (int n = 0; n < N; ++n) x[n] += share[n];
      }
#pragma unroll
      for (int n = 0; n < N; ++n) x[n] *= scale;
    }
  };

  /// Two of each: one is filled while the other is read.
  struct TempStorage {
    Tile tile[2];
    alignas(16) Shares shares[2];
  };

  GDR_DEVICE BlockRecurrent(TempStorage& storage, int first_column)
      : storage_(storage), first_column_(first_column) {
#if defined(GDR_DEBUG)
    assert(blockDim.x == threads && blockDim.y == 1 && blockDim.z == 1);
#endif
    const int thread = static_cast<int>(threadIdx.x);
    lane_ = thread % lanes;
    column_ = thread / lanes * columns_per_thread;
    stage_thread_ = thread - step_threads;
  }

  /// S <- 0.
  GDR_DEVICE void clear() {
    for_each([](int, int, float& s) { s = 0; });
  }

  /// Calls use(i, j, S_ij by reference) for this thread's elements, if it has any: i a key channel,
  /// j a value channel of the head. Channels past the extents are visited too; what is written
  /// there must be finite.
  template <class Use>
  GDR_DEVICE void for_each(Use&& use) {
    if (is_stager()) return;
#pragma unroll
    for (int c = 0; c < columns_per_thread; ++c) {
#pragma unroll
      for (int r = 0; r < rows; ++r) use(key_channel(r), first_column_ + column_ + c, state_[c][r]);
    }
  }

  /// Runs the span from the state as it is, and leaves the state after its last token.
  template <class Use>
  GDR_DEVICE void run(const Span<Layer>& span, Use&& output) {
    run_all(OneSpan<Use>{span, output});
  }

  /// Runs spans one after another: the tokens of the next are brought while those of the one before
  /// are stepped through. `Spans` is a walk over them, of which each thread has a copy:
  ///
  ///     bool next();              // goes to the first, the second, ...; false after the last
  ///     int64_t length() const;   // tokens of the span it is at
  ///     Span<Layer> span() const;
  ///     float scale() const;      // of all spans
  ///     void begin(Block&) const; // the state before the first token; in stepping threads
  ///     void end(Block&) const;   // the state after the last one; likewise
  ///     Target target() const;    // where the span's outputs go
  ///     void put_out(const Target&, const Output&);  // the output function
  ///
  /// Outputs are put out when the walk is further on, or past its end: put_out has of it what does
  /// not change, and the Target, a plain value with a default, asked for while it is at the span.
  template <class Spans>
  GDR_DEVICE void run_all(const Spans& spans) {
    if (is_stager()) {
      stage_spans(spans);
      // These threads hold no state. Said so here, its registers are free for staging.
      for (auto& column : state_) {
        for (float& s : column) s = 0;
      }
    } else {
      step_spans(spans);
    }
  }

 private:
  GDR_DEVICE bool is_stager() const { return stage_thread_ >= 0; }

  // While a tile is stepped through, the one before is put out and the next one staged. The barrier
  // between turns is the only one: no buffer is filled and read in the same turn.
  static GDR_DEVICE void begin_turn() { sync_threads<barrier_turn, threads>(); }

  /// How many tokens the next tile has where `left` are left.
  static GDR_DEVICE int tokens_of_tile(int64_t left) {
    return left < tokens_per_tile ? static_cast<int>(left) : tokens_per_tile;
  }

  /// A walk over one span whose state is the caller's business.
  template <class Use>
  struct OneSpan {
    const Span<Layer>& one;
    Use& use;
    bool is_done = false;

    GDR_DEVICE bool next() {
      const bool is_first = !is_done;
      is_done = true;
      return is_first;
    }
    GDR_DEVICE int64_t length() const { return one.length; }
    GDR_DEVICE float scale() const { return one.scale; }
    GDR_DEVICE const Span<Layer>& span() const { return one; }
    GDR_DEVICE void begin(BlockRecurrent&) const {}
    GDR_DEVICE void end(BlockRecurrent&) const {}
    struct Target {};
    GDR_DEVICE Target target() const { return {}; }
    GDR_DEVICE void put_out(const Target&, const Output& output) { use(output); }
  };

  /// A walk over the tiles of spans.
  template <class Spans>
  struct Tiles {
    Spans spans;
    int64_t first_token = 0;
    int64_t left = 0;  // tokens of the span from there on

    GDR_DEVICE explicit Tiles(const Spans& all) : spans(all) {}
    GDR_DEVICE bool next() {
      first_token += tokens_per_tile;
      left -= tokens_per_tile;
      if (left > 0) return true;
      do {
        if (!spans.next()) return false;
        left = spans.length();
      } while (left <= 0);  // offsets that decrease are the caller's error, not a hang
      first_token = 0;
      return true;
    }
    GDR_DEVICE int tokens() const { return tokens_of_tile(left); }
  };

  // In turn n tile n is brought and tile n - 2 put out, while n - 1 is stepped through. Each part is
  // there once, also for the first tile and the last: code that runs for the first time takes about
  // 4 cycles an instruction, which a problem of a few microseconds feels.
  template <class Spans>
  GDR_DEVICE void stage_spans(const Spans& spans) {
    struct Pending {  // a tile that is to be put out
      typename Spans::Target target;
      int64_t first_token;
      int tokens;
    };
    Pending next, after_next;
    Tiles<Spans> tiles(spans);
    Stager stager(first_column_, stage_thread_);
    int turns = 0x7fffffff;  // until the last tile is known
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
      const bool brings = turn + 2 < turns && tiles.next();
      if (brings) {
        stager.fetch(tiles.first_token == 0, [&] { return tiles.spans.span(); });
      } else if (turn == 0) {
        return;
      } else if (turn + 2 < turns) {
        turns = turn + 2;
      }
      if (turn >= 2) {
        tiles.spans.put_out(next.target, Output{next.first_token, next.tokens, stage_thread_,
                                                tiles.spans.scale(), storage_.shares[turn % 2]});
      }
      next = after_next;
      if (brings) {
        after_next = {tiles.spans.target(), tiles.first_token, tiles.tokens()};
        stager.stage(storage_.tile[turn % 2]);
      }
      begin_turn();  // the last time, the block leaves together: storage is done with
    }
  }

  // The barriers of stage_spans: one before each tile and two after the last.
  template <class Spans>
  GDR_DEVICE void step_spans(Spans spans) {
    int turn = 0;
    while (spans.next()) {
      spans.begin(*this);
      for (int64_t left = spans.length(); left > 0; left -= tokens_per_tile, ++turn) {
        begin_turn();
        run_tile(storage_.tile[turn % 2], storage_.shares[turn % 2], tokens_of_tile(left));
      }
      spans.end(*this);
    }
    if (turn == 0) return;
    begin_turn();
    begin_turn();
  }

  /// One token as a thread needs it, in registers.
  struct Token {
    float q[rows];
    float k[rows];
    float v[columns_per_thread];
    float beta;
    Decays a;
  };

  /// Steps through `count` tokens of a tile, rounded up to tokens_in_flight: tokens past the end
  /// leave a finite state as it is. A group's loads come first and its stores last, as the compiler
  /// must assume that a load after a store reads what was stored.
  GDR_DEVICE void run_tile(const Tile& tile, Shares& shares, int count) {
    constexpr int in_flight = tuning.tokens_in_flight;
#pragma unroll 1
    for (int t = 0; t < count; t += in_flight) {
      Token token[in_flight];
      float o[in_flight][columns_per_thread] = {};
#pragma unroll
      for (int n = 0; n < in_flight; ++n) load_token(tile, t + n, token[n]);
#pragma unroll
      for (int n = 0; n < in_flight; ++n) {
        const Token& x = token[n];
        step<typename Layer::Rule>(
            state_, x.a, x.k, x.q, x.v, x.beta,
            [](float(&sums)[columns_per_thread]) { sum_over_lanes<lanes>(sums); }, o[n]);
      }
#pragma unroll
      for (int n = 0; n < in_flight; ++n) {
        store_floats(shares.at(t + n, lane_, column_), o[n]);
      }
    }
  }

  GDR_DEVICE void load_token(const Tile& tile, int t, Token& token) const {
    load_rows(tile.q[t], token.q);
    load_rows(tile.k[t], token.k);
    load_floats(&tile.v[t][column_], token.v);
    if constexpr (Layer::Rule::uses_beta) token.beta = tile.beta[t];
    if constexpr (axis != GateAxis::none) {
      float factor[Decays::count];
      load_factors(tile.gate_high[t], factor);
#pragma unroll
      for (int n = 0; n < Decays::count; ++n) token.a.factor[n].high = factor[n];
      if constexpr (compensated) {
        load_factors(tile.gate_low[t], factor);
#pragma unroll
        for (int n = 0; n < Decays::count; ++n) token.a.factor[n].low = factor[n];
      }
    }
  }

  template <int N>
  GDR_DEVICE void load_factors(const float* row, float (&x)[N]) const {
    if constexpr (axis == GateAxis::key) {
      load_rows(row, x);
    } else {
      load_floats(row + (axis == GateAxis::value ? column_ : 0), x);
    }
  }

  /// This thread's rows of a key-wide row. Neighbouring lanes read neighbouring vectors, so that a
  /// warp's read meets every bank once.
  GDR_DEVICE void load_rows(const float* row, float (&x)[rows]) const {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (r != first_of_vector(r)) continue;
      const float* const vector = row + key_channel(r);
      if (vector_of(r) == 4) load_vector<4>(vector, x, r);
      if (vector_of(r) == 2) load_vector<2>(vector, x, r);
      if (vector_of(r) == 1) load_vector<1>(vector, x, r);
    }
  }
  template <int N>
  static GDR_DEVICE void load_vector(const float* vector, float (&x)[rows], int r) {
    const auto piece = *reinterpret_cast<const Vector<float, N>*>(vector);
#pragma unroll
    for (int e = 0; e < N; ++e) {
      if (r + e < rows) x[r + e] = piece.data[e];  // the other widths' calls do not run
    }
  }

  // A lane's rows lie in vectors of 4, then of 2 and 1 for what is left. By formulas: the compiler
  // would leave a loop to the device.
  GDR_HOST_DEVICE static constexpr int vector_of(int r) {
    return r < rows / 4 * 4 ? 4 : r < rows / 2 * 2 ? 2 : 1;
  }
  GDR_HOST_DEVICE static constexpr int first_of_vector(int r) {
    return r / vector_of(r) * vector_of(r);
  }

  GDR_DEVICE int key_channel(int r) const {
    const int first = first_of_vector(r);
    return first * lanes + lane_ * vector_of(r) + r - first;
  }

  TempStorage& storage_;
  int first_column_;
  int lane_;          // among the lanes that share a column
  int column_;        // this thread's first one, within the block's
  int stage_thread_;  // negative in threads that step
  float state_[columns_per_thread][rows];
};

GDR_NAMESPACE_END
