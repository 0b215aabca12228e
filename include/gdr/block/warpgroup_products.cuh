// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The matrix products of a chunk by the four warps of a warpgroup together (sm_90a):
///
///     scores   P   = Q K^T
///     read     O^T += S^T Q^T
///     add      O^T += W^T P^T
///     write    S^T += W^T K
///
/// Asynchronous: between a call and the wait named after it, the registers it was given must stay
/// as they are.

#include <gdr/block/chunk_storage.cuh>
#include <gdr/thread/lanes.cuh>
#include <gdr/thread/warpgroup_mma.cuh>

GDR_NAMESPACE_BEGIN

/// Whether roles are whole warpgroups: they multiply together, and registers move between them.
template <class Policy>
inline constexpr bool uses_warpgroups = has_warpgroup_mma &&
                                        (Policy::chunked.state_warps % 4 == 0) &&
                                        (Policy::chunked.prepare_warps % 4 == 0);

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <class Layer, class Policy>
struct WarpgroupProducts {
  using Extents = ChunkExtents<Layer, Policy>;
  using Operands = typename Extents::Operands;
  using Operand = typename Operands::A;
  static constexpr int token_blocks = Extents::token_blocks;
  static constexpr int key_blocks = Extents::key_blocks;
  static constexpr int tokens = Extents::tokens;
  using Chunk = Accumulator[token_blocks];
  using State = Accumulator[key_blocks];
  /// An operand is two numbers, high and low: a pair has four products.
  static constexpr bool is_split = Extents::splits_keys;
  /// Where one instruction takes them, scores of high and of low numbers are made together: of
  /// those of q by different warps, first the high ones.
  static constexpr bool stacks_parts = is_split && 2 * tokens <= 64;

  /// What a write adds up outside of the state: the tensor core truncates, a float32 state would
  /// drift.
  template <bool IsSplit, int None = 0>
  struct Sums {
    static constexpr int blocks = key_blocks <= 8 ? key_blocks : 4;  // registers for so many
    Accumulator x[blocks];
  };
  template <int None>
  struct Sums<false, None> {};
  using Written = Sums<is_split>;
  /// Zeros for a product to add to. In their registers before another one is under way, which the
  /// compiler would wait for.
  template <int Blocks>
  static GDR_DEVICE void clear(Accumulator (&x)[Blocks]) {
#pragma unroll
    for (Accumulator& block : x) block.clear();
    if constexpr (is_split) hold(x);
  }

  /// 16 tokens t a warp. Of a shorter chunk the last warps' rows are of whatever lies behind q, and
  /// not to be looked at.
  template <class Tile>
  static GDR_DEVICE void scores(const Tile& q, const Tile& k, Chunk& p) {
    if constexpr (stacks_parts) {
      Accumulator parts[2 * token_blocks];
      clear(parts);
      add_scores<2 * tokens>(q, k, 0, 0, parts);
      wait<0>(parts);
#pragma unroll
      for (int s = 0; s < token_blocks; ++s) {
        p[s] = parts[s];
        p[s].add(parts[token_blocks + s]);
      }
    } else {
      add_scores<tokens>(q, k, 0, 0, p);
      if constexpr (is_split) {
        add_scores<tokens>(q, k, 0, tokens, p);
        add_scores<tokens>(q, k, tokens, 0, p);
        add_scores<tokens>(q, k, tokens, tokens, p);
      }
      wait<0>(p);
    }
  }

  /// Of `Blocks` blocks of 16 tokens from first_block on.
  template <class Tile, int Blocks>
  static GDR_DEVICE void read(const State& state, const Tile& q, int first_block,
                              Accumulator (&o)[Blocks]) {
    const auto q_at = describe(q);
    // Operands at a time: equal parts that fit beside the state, outputs, values and addresses.
    constexpr int most = (Extents::state_registers - 8 * key_blocks - 12 * token_blocks - 40) / 4;
    constexpr int batches = most < 1 ? key_blocks : (key_blocks + most - 1) / most;
    constexpr int batch = !is_split        ? (key_blocks + batches - 1) / batches
                          : key_blocks < 8 ? key_blocks
                          : key_blocks > 8 ? 4
                                           : 8;
#pragma unroll
    for (int first = 0; first < key_blocks; first += batch) {
      Operand s[batch];
#pragma unroll
      for (int b = 0; b < batch && first + b < key_blocks; ++b) {
        s[b] = Operands::to_a(state[first + b]);
      }
      hold(o);
      warpgroup_fence();
#pragma unroll
      for (int b = 0; b < batch && first + b < key_blocks; ++b) {
        multiply<16 * Blocks, false>(&o[0].c[0][0], s[b], q_at, 16 * first_block, 16 * (first + b));
      }
      warpgroup_commit();
      if (first + batch < key_blocks) wait<0>(o);
    }
  }
  /// `Later` groups of those that follow may be under way.
  template <int Later = 0, int Blocks>
  static GDR_DEVICE void wait_read(Accumulator (&o)[Blocks]) {
    wait<Later>(o);
  }

  template <class Tile>
  static GDR_DEVICE void add(const Operand (&w)[token_blocks], const Tile& scores, Chunk& o) {
    const auto scores_at = describe(scores);
    hold(o);
    warpgroup_fence();
    // All tokens t, as products of different widths into one set of registers would be serialised
    // by the compiler: blocks of scores with s > t are zeros.
#pragma unroll
    for (int b = 0; b < token_blocks; ++b) {
      multiply<tokens, false>(&o[0].c[0][0], w[b], scores_at, 0, 16 * b);
    }
    warpgroup_commit();
  }
  /// `Later` groups of those that follow may be under way.
  template <int Later>
  static GDR_DEVICE void wait_add(Chunk& o) {
    wait<Later>(o);
  }

  /// Of `Blocks` blocks of 16 tokens from first_block on.
  template <class Tile, int Blocks>
  static GDR_DEVICE void write(const Operand (&w)[Blocks], const Tile& k, int first_block,
                               State& state, Written& written) {
    const auto k_at = describe(k);
    if constexpr (is_split) {
      write_sums<0>(w, k_at, first_block, state, written);
    } else {
      hold(state);
      warpgroup_fence();
#pragma unroll
      for (int t = 0; t < Blocks; ++t) write_columns<0, 0>(w[t], k_at, first_block + t, state);
      warpgroup_commit();
    }
  }
  static GDR_DEVICE void wait_write(State& state, Written& written) {
    if constexpr (is_split) {
      add_sums<(key_blocks - 1) / Written::blocks * Written::blocks>(state, written);
    } else {
      wait<0>(state);
    }
  }

 private:
  template <int Blocks>
  static GDR_DEVICE void hold(Accumulator (&x)[Blocks]) {
#pragma unroll
    for (int b = 0; b < Blocks; ++b) {
      gdr::hold(x[b].c[0]);
      gdr::hold(x[b].c[1]);
    }
  }
  template <int Pending, int Blocks>
  static GDR_DEVICE void wait(Accumulator (&x)[Blocks]) {
    warpgroup_wait<Pending>();
    hold(x);
  }

  template <class Tile>
  static GDR_DEVICE MatrixDescriptor<Tile> describe(const Tile& tile) {
    uint32_t address = shared_address(tile.data);
    // From a shuffle the compiler knows that it is the same for all lanes, and makes the descriptors
    // of four products a pair by uniform instructions: elsewise they took 60 registers.
    if constexpr (is_split) address = __shfl_sync(full_warp, address, 0);
    return MatrixDescriptor<Tile>(address);
  }
  /// d += a b, b from element (row, column) of a tile on.
  template <int N, bool ByRows, class Tile>
  static GDR_DEVICE void multiply(float* d, const Operand& a, const MatrixDescriptor<Tile>& b,
                                  int row, int column) {
    if constexpr (is_split) {
      constexpr int low = Tile::rows / 2;
      warpgroup_mma<N, ByRows>(d, a.low.r, b.at(low + row, column));
      warpgroup_mma<N, ByRows>(d, a.low.r, b.at(row, column));
      warpgroup_mma<N, ByRows>(d, a.high.r, b.at(low + row, column));
      warpgroup_mma<N, ByRows>(d, a.high.r, b.at(row, column));
    } else {
      warpgroup_mma<N, ByRows>(d, a.r, b.at(row, column));
    }
  }

  /// Scores of rows of the two tiles from the given ones on.
  template <int N, class Tile, int Blocks>
  static GDR_DEVICE void add_scores(const Tile& q, const Tile& k, int q_row, int k_row,
                                    Accumulator (&p)[Blocks]) {
    const auto q_at = describe(q), k_at = describe(k);
    hold(p);
    warpgroup_fence();
#pragma unroll
    for (int b = 0; b < key_blocks; ++b) {
      warpgroup_mma<N>(&p[0].c[0][0], q_at.at(q_row, 16 * b), k_at.at(k_row, 16 * b));
    }
    warpgroup_commit();
  }

  /// A write's sums of the key channels from 16 * First on, some after others.
  template <int First, class Tile, int Blocks>
  static GDR_DEVICE void write_sums(const Operand (&w)[Blocks], const MatrixDescriptor<Tile>& k,
                                    int first_block, State& state, Written& written) {
    clear(written.x);
    warpgroup_fence();
#pragma unroll
    for (int t = 0; t < Blocks; ++t) {
      write_columns<First, First>(w[t], k, first_block + t, written.x);
    }
    warpgroup_commit();
    if constexpr (First + Written::blocks < key_blocks) {
      add_sums<First>(state, written);
      write_sums<First + Written::blocks>(w, k, first_block, state, written);
    }
  }
  template <int First>
  static GDR_DEVICE void add_sums(State& state, Written& written) {
    wait<0>(written.x);
#pragma unroll
    for (int b = 0; b < Written::blocks && First + b < key_blocks; ++b) {
      state[First + b].add(written.x[b]);
    }
  }

  /// W^T K of 16 tokens, added to `target`, which begins with the key channels from 16 * Start on:
  /// those from 16 * First on, in the widest pieces that end on a panel. Of a wide state that is added to
  /// in place, in the widest that the compiler has registers for: those of the kernel's start.
  template <int Start, int First, class Tile, int Blocks>
  static GDR_DEVICE void write_columns(const Operand& w, const MatrixDescriptor<Tile>& k, int t,
                                       Accumulator (&target)[Blocks]) {
    constexpr int end = Start + Blocks < key_blocks ? Start + Blocks : key_blocks;
    if constexpr (First < end) {
      constexpr int left = 16 * (end - First);
      constexpr int columns = !is_split && key_blocks > 8 ? (left <= 192 ? left : 128)
                              : left >= 64                ? 64
                              : left >= 32                ? 32
                                                          : 16;
      multiply<columns, true>(&target[First - Start].c[0][0], w, k, 16 * t, 16 * First);
      write_columns<Start, First + columns / 16>(w, k, t, target);
    }
  }
};

#endif

GDR_NAMESPACE_END
