// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The loading part of the chunked form: four warps, one for each of q, k, v and gate.

#include <gdr/block/chunk_head.cuh>
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
        lane_(lane),
        chunks_(tile_count<tokens>(span)),
        boxed_(source.maps == nullptr ? 0 : static_cast<int>(span.length / tokens)),
        leads_(boxed_ > 0 && warp == 0 && (elects || lane == 0)) {}

  // In turn n - 2 chunks further ahead are asked for and chunk n is waited for.

  GDR_DEVICE void begin() const {
    lead([&] {
      for (uint64_t& arrival : storage_.arrivals) init_arrival(arrival);
    });
#pragma unroll 1
    for (int n = 0; n < key_ahead - 2; ++n) ask_keys(stdx::false_type{}, n);
#pragma unroll 1
    for (int n = 0; n < value_ahead - 2; ++n) ask_values(stdx::false_type{}, n);
  }
  /// For n below this the copy engine brings all that is asked for and waited for.
  GDR_DEVICE int boxed_turns() const { return boxed_ - max(key_ahead, value_ahead) + 2; }

  /// `Boxed`: n is below boxed_turns().
  template <class Boxed>
  GDR_DEVICE void ask(Boxed boxed, int n) const {
    ask_keys(boxed, n + key_ahead - 2);
    ask_values(boxed, n + value_ahead - 2);
    __syncwarp();
  }
  template <class Boxed>
  GDR_DEVICE void wait_for(Boxed, int n) const {
    if (Boxed::value || n < boxed_) {
      lead([&] {
        wait_for_bytes(key_arrival(n), static_cast<unsigned>(n) / Extents::key_stages % 2);
        wait_for_bytes(value_arrival(n), static_cast<unsigned>(n) / Extents::value_stages % 2);
      });
      __syncwarp();
    } else {
      if (warp_ < 2) wait_for_copies<key_ahead - 2>();
      if (warp_ >= 2) wait_for_copies<value_ahead - 2>();
      publish_to_async_proxy();
    }
  }
  GDR_DEVICE void end() const {
    lead([&] {
      for (uint64_t& arrival : storage_.arrivals) end_arrival(arrival);
    });
  }

 private:
  static constexpr int key_ahead = Extents::key_ahead;
  static constexpr int value_ahead = Extents::value_stages;

  /// Of many boxes one thread that the compiler knows to be one is to ask: 160x160 301 to 265 us. Of few
  /// it is no faster: 64x64 214 to 222.
  static constexpr bool elects = Extents::is_wide;
  template <class Use>
  GDR_DEVICE void lead(Use&& use) const {
    if (!leads_) return;
    if constexpr (elects) {
      if (!is_elected()) return;
    }
    use();
  }

  GDR_DEVICE uint64_t& key_arrival(int n) const {
    return storage_.arrivals[n % Extents::key_stages];
  }
  GDR_DEVICE uint64_t& value_arrival(int n) const {
    return storage_.arrivals[4 + n % Extents::value_stages];
  }
  GDR_DEVICE int gate_channel() const { return axis == GateAxis::value ? first_column_ : 0; }
  GDR_DEVICE int valid_tokens(int n) const { return tokens_of_tile<tokens>(span_, n); }

  template <class Boxed>
  GDR_DEVICE void ask_keys(Boxed, int n) const {
    auto& q = storage_.q[n % Extents::key_stages].elements;
    auto& k = storage_.k[n % Extents::key_stages].elements;
    if (Boxed::value || n < boxed_) {
      lead([&] {
        const auto bytes = static_cast<uint32_t>(sizeof(k));
        expect_bytes(key_arrival(n), span_.only_state ? bytes : 2 * bytes);
        if (!span_.only_state)
          copy_boxes(q, source_.maps->q, key_arrival(n), 0, source_.key_head, n);
        copy_boxes(k, source_.maps->k, key_arrival(n), 0, source_.key_head, n);
      });
    } else if (warp_ < 2) {
      if (n < chunks_ && warp_ == 0 && !span_.only_state) {
        copy_tile(q, span_.q, 0, span_.key_dim, n);
      } else if (n < chunks_ && warp_ == 1) {
        copy_tile(k, span_.k, 0, span_.key_dim, n);
      }
      commit_copies();
    }
  }

  template <class Boxed>
  GDR_DEVICE void ask_values(Boxed, int n) const {
    constexpr int stages = Extents::value_stages;
    auto& v = storage_.v[n % stages];
    if (Boxed::value || n < boxed_) {
      lead([&] {
        if constexpr (Extents::has_gate_tile) {
          auto& gate = storage_.scratch.gate[n % stages];
          expect_bytes(value_arrival(n), static_cast<uint32_t>(sizeof(v) + sizeof(gate)));
          copy_boxes(gate, source_.maps->gate, value_arrival(n), gate_channel(), span_.head, n);
        } else {
          expect_bytes(value_arrival(n), static_cast<uint32_t>(sizeof(v)));
        }
        copy_boxes(v, source_.maps->v, value_arrival(n), first_column_, span_.head, n);
      });
    } else if (warp_ >= 2) {
      const int value_channels = span_.value_dim - first_column_;
      if (n < chunks_ && warp_ == 2) {
        copy_tile(v, span_.v, first_column_, value_channels, n);
      } else if (n < chunks_ && warp_ == 3) {
        if constexpr (Extents::has_gate_tile) {
          copy_tile(storage_.scratch.gate[n % stages], span_.gate, gate_channel(),
                    axis == GateAxis::value ? value_channels : span_.key_dim, n);
        }
      }
      commit_copies();
    }
  }

  template <class Tile>
  GDR_DEVICE void copy_boxes(Tile& tile, const TensorMap& map, uint64_t& arrival, int channel,
                             int head, int n) const {
#pragma unroll
    for (int panel = 0; panel < Tile::columns / Tile::panel_columns; ++panel) {
      copy_box(
          shared_address(tile.data) + static_cast<uint32_t>(panel * Tile::rows * Tile::panel_bytes),
          map, arrival, channel + panel * Tile::panel_columns, head,
          source_.first_token + n * tokens, source_.batch);
    }
  }
  template <class T, class Tile>
  GDR_DEVICE void copy_tile(Tile& tile, const Rows<const T>& rows, int channel, int channels,
                            int n) const {
    const T* const first = rows.data + int64_t{n} * tokens * rows.time_stride + channel;
    const int lane = opaque(lane_);  // as in ChunkWork::begin
    ChunkLoader<Tile>::load(tile, {first, rows.time_stride}, valid_tokens(n), channels, lane);
  }

  Storage& storage_;
  const Span<Layer>& span_;
  const ChunkSource& source_;
  int first_column_;
  int warp_;
  int lane_;
  int chunks_;
  int boxed_;   // chunks that the copy engine brings: beyond a sequence's end it would bring the
                // next one's
  bool leads_;  // asks it
};

GDR_NAMESPACE_END
