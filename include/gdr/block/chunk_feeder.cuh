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

  /// Loads every chunk: chunk n is there when next_turn has been called n + 1 times.
  template <class NextTurn>
  GDR_DEVICE void run(int chunks, NextTurn&& next_turn) const {
    const int value_channels = span_.value_dim - first_column_;
    const ChunkMaps* const maps = source_.maps;
    constexpr int key_ahead = Extents::key_stages - 1;  // a stage is read until the state's turn
    constexpr int value_ahead = Extents::value_stages;
    if (warp_ == 0) {
      if (span_.only_state) return rest(chunks, next_turn);
      feed<key_ahead, Element>(storage_.q, {span_.q, span_.key_dim, 0, source_.key_head},
                               maps == nullptr ? nullptr : &maps->q, chunks, next_turn);
    } else if (warp_ == 1) {
      feed<key_ahead, Element>(storage_.k, {span_.k, span_.key_dim, 0, source_.key_head},
                               maps == nullptr ? nullptr : &maps->k, chunks, next_turn);
    } else if (warp_ == 2) {
      feed<value_ahead, Element>(storage_.v, {span_.v, value_channels, first_column_, span_.head},
                                 maps == nullptr ? nullptr : &maps->v, chunks, next_turn);
    } else if constexpr (axis == GateAxis::value) {
      feed<value_ahead, GateElement>(storage_.scratch.gate,
                                     {span_.gate, value_channels, first_column_, span_.head},
                                     maps == nullptr ? nullptr : &maps->gate, chunks, next_turn);
    } else if constexpr (axis == GateAxis::key) {
      feed<value_ahead, GateElement>(storage_.scratch.gate,
                                     {span_.gate, span_.key_dim, 0, span_.head},
                                     maps == nullptr ? nullptr : &maps->gate, chunks, next_turn);
    } else if constexpr (axis == GateAxis::head) {
      make_head_gates(chunks, next_turn);
    } else {
      rest(chunks, next_turn);
    }
  }

 private:
  /// A tensor's rows, and where in its boxes they lie.
  template <class T>
  struct Source {
    Rows<const T> rows;
    int channels;  // that exist from first_channel on
    int first_channel;
    int head;
  };

  GDR_DEVICE int valid_tokens(int n) const {
    const int64_t left = span_.length - int64_t{n} * tokens;
    return left < tokens ? static_cast<int>(left) : tokens;
  }

  template <class NextTurn>
  GDR_DEVICE void rest(int chunks, NextTurn& next_turn) const {
    for (int turn = -2; turn < chunks; ++turn) next_turn();
  }

  /// In turn t, chunk t + Ahead is asked for, and chunk t + 2 waited for.
  template <int Ahead, class T, class Tile, int Stages, class NextTurn>
  GDR_DEVICE void feed(Tile (&tiles)[Stages], const Source<T>& source, const TensorMap* map,
                       int chunks, NextTurn& next_turn) const {
    uint64_t(&arrivals)[4] = storage_.arrivals[warp_];
    const bool leads = lane_ == 0;
    if (map != nullptr && leads) {
      for (uint64_t& arrival : arrivals) init_arrival(arrival);
    }
    __syncwarp();
    const auto is_boxed = [&](int n) {
      return map != nullptr && GDR_LIKELY(valid_tokens(n) == tokens);
    };
    const auto ask = [&](int n) {
      if (n < chunks) {
        Tile& tile = tiles[n % Stages];
        if (is_boxed(n)) {
          if (leads) copy_boxes(tile, source, *map, arrivals[n % Stages], n);
        } else {
          const Rows<const T> rows{source.rows.data + source.first_channel +
                                       int64_t{n} * tokens * source.rows.time_stride,
                                   source.rows.time_stride};
          ChunkLoader<T, Tile>::load(tile, rows, valid_tokens(n), source.channels, lane_);
        }
      }
      commit_copies();
    };
#pragma unroll 1
    for (int n = 0; n < Ahead - 2; ++n) ask(n);
#pragma unroll 1
    for (int n = 0; n < chunks + 2; ++n) {
      ask(n + Ahead - 2);
      if (n < chunks && is_boxed(n)) {
        if (leads) wait_for_bytes(arrivals[n % Stages], static_cast<unsigned>(n) / Stages % 2);
      } else {
        wait_for_copies<Ahead - 2>();
        publish_to_async_proxy();
      }
      __syncwarp();
      next_turn();
    }
    if (map != nullptr && leads) {
      for (uint64_t& arrival : arrivals) end_arrival(arrival);
    }
  }

  template <class T, class Tile>
  GDR_DEVICE void copy_boxes(Tile& tile, const Source<T>& source, const TensorMap& map,
                             uint64_t& arrival, int n) const {
    expect_bytes(arrival, static_cast<uint32_t>(sizeof(Tile)));
#pragma unroll
    for (int panel = 0; panel < Tile::columns / Tile::panel_columns; ++panel) {
      copy_box(
          shared_address(tile.data) + static_cast<uint32_t>(panel * Tile::rows * Tile::panel_bytes),
          map, arrival, source.first_channel + panel * Tile::panel_columns, source.head,
          source_.first_token + n * tokens, source_.batch);
    }
  }

  template <class NextTurn>
  GDR_DEVICE void make_head_gates(int chunks, NextTurn& next_turn) const {
    for (int n = 0; n < chunks + 2; ++n) {
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
  const ChunkSource& source_;
  int first_column_;
  int warp_;
  int lane_;
};

GDR_NAMESPACE_END
