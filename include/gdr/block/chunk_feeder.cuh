// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The loading part of the chunked form: four warps, one for each of q, k, v and gate.

#include <gdr/block/chunk_preparer.cuh>
#include <gdr/thread/bulk_copy.cuh>

GDR_NAMESPACE_BEGIN

/// The tensors as boxes for the copy engine, where they have such a form, and where in them a span
/// lies. Without maps the warps copy by themselves.
struct ChunkMaps {
  TensorMap q, k, v, gate;  // [B, T, heads, channels], boxes of a chunk by a panel of a tile
  bool are_valid = false;
};
struct ChunkSource {
  const ChunkMaps* maps = nullptr;
  int batch = 0;
  int first_token = 0;
  int key_head = 0;
};

/// One warp's part; `warp`: 0 .. ChunkedTuning::load_warps.
template <class Layer, class Policy>
class ChunkFeeder {
  using Extents = ChunkExtents<Layer, Policy>;
  using Storage = ChunkStorage<Extents>;
  using Element = typename Layer::Element;
  using GateElement = typename Layer::GateElement;
  static constexpr GateAxis axis = Extents::axis;
  static constexpr bool has_gate_tile = axis == GateAxis::value || axis == GateAxis::key;
  static constexpr int tokens = Extents::tokens;

 public:
  GDR_DEVICE ChunkFeeder(Storage& storage, const Span<Layer>& span, const ChunkSource& source,
                         int first_column, int warp, int lane)
      : storage_(storage),
        span_(span),
        source_(source),
        first_column_(first_column),
        warp_(warp),
        lane_(lane) {}

  /// Loads every chunk, the first two at once and each other one when `next_turn` returns.
  template <class NextTurn>
  GDR_DEVICE void run(int chunks, NextTurn&& next_turn) const {
    const bool is_leader = warp_ == 0 && lane_ == 0 && source_.maps != nullptr;
    uint32_t phase = 0;
    if (is_leader) init_arrival(storage_.arrival);
#pragma unroll 1
    for (int n = 0; n < chunks + 2; ++n) {
      if (n < chunks) {
        const int valid = valid_tokens(n);
        if (source_.maps != nullptr && GDR_LIKELY(valid == tokens)) {
          if (is_leader) {
            copy_boxes(n);
            wait_for_bytes(storage_.arrival, phase);
            phase ^= 1;
          }
        } else {
          copy_tiles(n, valid);
          commit_copies();
          wait_for_copies<0>();
          publish_to_async_proxy();
        }
        if constexpr (axis == GateAxis::head) {
          if (warp_ == 3) make_head_gates(n, valid);
        }
      }
      __syncwarp();
      next_turn();
    }
    if (is_leader) end_arrival(storage_.arrival);
  }

 private:
  GDR_DEVICE int value_channels() const { return span_.value_dim - first_column_; }
  GDR_DEVICE int valid_tokens(int n) const {
    const int64_t left = span_.length - int64_t{n} * tokens;
    return left < tokens ? static_cast<int>(left) : tokens;
  }

  GDR_DEVICE void copy_boxes(int n) const {
    using Q = stdx::remove_reference_t<decltype(storage_.q[0])>;
    using V = stdx::remove_reference_t<decltype(storage_.v[0])>;
    using Gate = SwizzledTile<GateElement, tokens, Extents::gate_width>;
    const int q_bytes = span_.only_state ? 0 : static_cast<int>(sizeof(Q));
    expect_bytes(storage_.arrival,
                 static_cast<uint32_t>(q_bytes + sizeof(Q) + sizeof(V) +
                                       (has_gate_tile ? sizeof(Gate) : 0)));
    const ChunkMaps& maps = *source_.maps;
    if (!span_.only_state) copy_box_of(storage_.q[n % 3], maps.q, 0, source_.key_head, n);
    copy_box_of(storage_.k[n % 3], maps.k, 0, source_.key_head, n);
    copy_box_of(storage_.v[n % 2], maps.v, first_column_, span_.head, n);
    if constexpr (has_gate_tile) {
      copy_box_of(storage_.scratch.gate[n % 2], maps.gate,
                  axis == GateAxis::value ? first_column_ : 0, span_.head, n);
    }
  }
  template <class Tile>
  GDR_DEVICE void copy_box_of(Tile& tile, const TensorMap& map, int channel, int head,
                              int n) const {
#pragma unroll
    for (int panel = 0; panel < Tile::columns / Tile::panel_columns; ++panel) {
      copy_box(shared_address(tile.data) +
                   static_cast<uint32_t>(panel * Tile::rows * Tile::panel_bytes),
               map, storage_.arrival, channel + panel * Tile::panel_columns, head,
               source_.first_token + n * tokens, source_.batch);
    }
  }

  /// This warp's tensor.
  GDR_DEVICE void copy_tiles(int n, int valid) const {
    if (warp_ == 0) {
      if (!span_.only_state) copy_tile(storage_.q[n % 3], span_.q, 0, span_.key_dim, n, valid);
    } else if (warp_ == 1) {
      copy_tile(storage_.k[n % 3], span_.k, 0, span_.key_dim, n, valid);
    } else if (warp_ == 2) {
      copy_tile(storage_.v[n % 2], span_.v, first_column_, value_channels(), n, valid);
    } else {
      if constexpr (axis == GateAxis::value) {
        copy_tile(storage_.scratch.gate[n % 2], span_.gate, first_column_, value_channels(), n,
                  valid);
      } else if constexpr (axis == GateAxis::key) {
        copy_tile(storage_.scratch.gate[n % 2], span_.gate, 0, span_.key_dim, n, valid);
      }
    }
  }
  template <class T, class Tile>
  GDR_DEVICE void copy_tile(Tile& tile, const Rows<const T>& rows, int channel, int channels, int n,
                            int valid) const {
    const T* const first = rows.data + int64_t{n} * tokens * rows.time_stride + channel;
    ChunkLoader<T, Tile>::load(tile, {first, rows.time_stride}, valid, channels, lane_);
  }

  GDR_DEVICE void make_head_gates(int n, int valid) const {
    for (int t = lane_; t < tokens; t += 32) {
      float a = 1.0f;
      if (t < valid) {
        const int64_t token = int64_t{n} * tokens + t;
        a = chunk_factor(span_, to_float(span_.gate.data[token * span_.gate.time_stride]), 0);
      }
      storage_.scratch.gate[n % 2][t] = a;
    }
  }

  Storage& storage_;
  const Span<Layer>& span_;
  const ChunkSource& source_;
  int first_column_;
  int warp_;
  int lane_;
};

GDR_NAMESPACE_END
