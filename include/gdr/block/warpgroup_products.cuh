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
#include <gdr/thread/warpgroup_mma.cuh>

GDR_NAMESPACE_BEGIN

/// Whether roles are whole warpgroups, between which registers can move.
template <class Policy>
inline constexpr bool moves_registers = has_warpgroup_mma &&
                                        (Policy::chunked.state_warps % 4 == 0) &&
                                        (Policy::chunked.prepare_warps % 4 == 0);

/// Whether they also multiply together: wgmma takes the operands of this type.
template <class Layer, class Policy>
inline constexpr bool uses_warpgroups = moves_registers<Policy> &&
                                        (Layer::element_type == DataType::bfloat16);

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <class Layer, class Policy>
struct WarpgroupProducts {
  using Extents = ChunkExtents<Layer, Policy>;
  using Operands = typename Extents::Operands;
  using Operand = typename Operands::A;
  static constexpr int token_blocks = Extents::token_blocks;
  static constexpr int key_blocks = Extents::key_blocks;
  using Chunk = Accumulator[token_blocks];
  using State = Accumulator[key_blocks];

  /// 16 tokens t a warp. Of a shorter chunk the last warps' rows are of whatever lies behind q, and
  /// not to be looked at.
  template <class Tile>
  static GDR_DEVICE void scores(const Tile& q, const Tile& k, Chunk& p) {
    const MatrixDescriptor<Tile> q_at(q), k_at(k);
    hold(p);
    warpgroup_fence();
#pragma unroll
    for (int b = 0; b < key_blocks; ++b) {
      warpgroup_mma<Extents::tokens>(&p[0].c[0][0], q_at.at(0, 16 * b), k_at.at(0, 16 * b));
    }
    warpgroup_commit();
    warpgroup_wait<0>();
    hold(p);
  }

  /// Of `Blocks` blocks of 16 tokens from first_block on.
  template <class Tile, int Blocks>
  static GDR_DEVICE void read(const State& state, const Tile& q, int first_block,
                              Accumulator (&o)[Blocks]) {
    const MatrixDescriptor<Tile> q_at(q);
    // Operands at a time: equal parts that fit beside the state, outputs, values and addresses.
    constexpr int most = (Extents::state_registers - 8 * key_blocks - 12 * token_blocks - 40) / 4;
    constexpr int batches = most < 1 ? key_blocks : (key_blocks + most - 1) / most;
    constexpr int batch = (key_blocks + batches - 1) / batches;
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
        warpgroup_mma<16 * Blocks, false>(&o[0].c[0][0], s[b].r,
                                          q_at.at(16 * first_block, 16 * (first + b)));
      }
      warpgroup_commit();
      if (first + batch < key_blocks) wait<0>(o);
    }
  }
  template <int Blocks>
  static GDR_DEVICE void wait_read(Accumulator (&o)[Blocks]) {
    wait<0>(o);
  }

  template <class Tile>
  static GDR_DEVICE void add(const Operand (&w)[token_blocks], const Tile& scores, Chunk& o) {
    const MatrixDescriptor<Tile> scores_at(scores);
    hold(o);
    warpgroup_fence();
    // All tokens t, as products of different widths into one set of registers would be serialised
    // by the compiler: blocks of scores with s > t are zeros.
#pragma unroll
    for (int b = 0; b < token_blocks; ++b) {
      warpgroup_mma<Extents::tokens, false>(&o[0].c[0][0], w[b].r, scores_at.at(0, 16 * b));
    }
    warpgroup_commit();
  }
  /// One later group, write's, may be under way.
  static GDR_DEVICE void wait_add(Chunk& o) { wait<1>(o); }

  /// Of `Blocks` blocks of 16 tokens from first_block on.
  template <class Tile, int Blocks>
  static GDR_DEVICE void write(const Operand (&w)[Blocks], const Tile& k, int first_block,
                               State& state) {
    const MatrixDescriptor<Tile> k_at(k);
    hold(state);
    warpgroup_fence();
#pragma unroll
    for (int t = 0; t < Blocks; ++t) write_columns<0>(w[t], k_at, first_block + t, state);
    warpgroup_commit();
  }
  static GDR_DEVICE void wait_write(State& state) { wait<0>(state); }

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

  /// S^T += W^T K of 16 tokens and the key channels from 16 * First on. Of a wide state in the widest
  /// pieces that the compiler has registers for: those of the kernel's start.
  template <int First, class Tile>
  static GDR_DEVICE void write_columns(const Operand& w, const MatrixDescriptor<Tile>& k, int t,
                                       State& state) {
    if constexpr (First < key_blocks) {
      constexpr int left = 16 * (key_blocks - First);
      constexpr int columns = key_blocks > 8 ? (left <= 192 ? left : 128)
                              : left >= 64   ? 64
                              : left >= 32   ? 32
                                             : 16;
      warpgroup_mma<columns, true>(&state[First].c[0][0], w.r, k.at(16 * t, 16 * First));
      write_columns<First + columns / 16>(w, k, t, state);
    }
  }
};

#endif

GDR_NAMESPACE_END
