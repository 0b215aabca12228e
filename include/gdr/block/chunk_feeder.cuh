// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The loading part of the chunked form: four warps, one for each of q, k, v and gate.

#include <gdr/block/chunk_preparer.cuh>

GDR_NAMESPACE_BEGIN

/// One warp's part; `warp`: 0 .. ChunkedTuning::load_warps.
template <class Layer, class Policy>
class ChunkFeeder {
  using Extents = ChunkExtents<Layer, Policy>;
  using Storage = ChunkStorage<Extents>;
  using Element = typename Layer::Element;
  using GateElement = typename Layer::GateElement;
  static constexpr GateAxis axis = Extents::axis;
  static constexpr int tokens = Extents::tokens;

 public:
  GDR_DEVICE ChunkFeeder(Storage& storage, const Span<Layer>& span, int first_column, int warp,
                         int lane)
      : storage_(storage), span_(span), first_column_(first_column), warp_(warp), lane_(lane) {}

  /// Loads every chunk, the first two at once and each other one when `next_turn` returns.
  template <class NextTurn>
  GDR_DEVICE void run(int chunks, NextTurn&& next_turn) const {
    const int value_channels = span_.value_dim - first_column_;
    if (warp_ == 0 && span_.only_state) {
      for (int turn = -2; turn < chunks; ++turn) next_turn();
    } else if (warp_ == 0) {
      load_all(span_.q, span_.key_dim, storage_.q, chunks, next_turn);
    } else if (warp_ == 1) {
      load_all(span_.k, span_.key_dim, storage_.k, chunks, next_turn);
    } else if (warp_ == 2) {
      load_all(from_column(span_.v), value_channels, storage_.v, chunks, next_turn);
    } else {
      if constexpr (axis == GateAxis::value) {
        load_all(from_column(span_.gate), value_channels, storage_.scratch.gate, chunks, next_turn);
      } else if constexpr (axis == GateAxis::key) {
        load_all(span_.gate, span_.key_dim, storage_.scratch.gate, chunks, next_turn);
      } else if constexpr (axis == GateAxis::head) {
        load_head_gates(chunks, next_turn);
      } else {
        for (int turn = -2; turn < chunks; ++turn) next_turn();
      }
    }
  }

 private:
  template <class T>
  GDR_DEVICE Rows<T> from_column(const Rows<T>& rows) const {
    return {rows.data + first_column_, rows.time_stride};
  }
  GDR_DEVICE int valid_tokens(int n) const {
    const int64_t left = span_.length - int64_t{n} * tokens;
    return left < tokens ? static_cast<int>(left) : tokens;
  }

  template <class T, class Tile, int Stages, class NextTurn>
  GDR_DEVICE void load_all(const Rows<const T>& rows, int channels, Tile (&tiles)[Stages],
                           int chunks, NextTurn& next_turn) const {
    ChunkLoader<T, Tile> loader(rows, channels, lane_);
    for (int turn = -2; turn < chunks; ++turn) {
      if (turn + 2 < chunks) loader.load(tiles[(turn + 2) % Stages], valid_tokens(turn + 2));
      commit_copies();
      wait_for_copies<0>();
      publish_to_async_proxy();
      next_turn();
    }
  }

  template <class NextTurn>
  GDR_DEVICE void load_head_gates(int chunks, NextTurn& next_turn) const {
    for (int turn = -2; turn < chunks; ++turn) {
      const int n = turn + 2;
      if (n < chunks) {
        const int valid = valid_tokens(n);
        for (int t = lane_; t < tokens; t += 32) {
          float a = 1.0f;
          if (t < valid) {
            const int64_t token = int64_t{n} * tokens + t;
            a = chunk_factor(span_, to_float(span_.gate.data[token * span_.gate.time_stride]), 0);
          }
          storage_.scratch.gate[n % 2][t] = a;
        }
      }
      next_turn();
    }
  }

  Storage& storage_;
  const Span<Layer>& span_;
  int first_column_;
  int warp_;
  int lane_;
};

GDR_NAMESPACE_END
