// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// float32: q and k of a chunk from elements to operands of two bfloat16 numbers, in place.

#include <gdr/block/chunk_work.cuh>

GDR_NAMESPACE_BEGIN

/// Works in blocks of 32 lanes that have 8 channels of a token each.
template <class Layer, class Policy>
class KeySplit {
  using Work = ChunkWork<Layer, Policy>;
  using Extents = typename Work::Extents;
  using Elements = typename Work::KeyTile;
  using Operands = typename Work::Storage::KeyOperandTile;
  static constexpr int warps = Work::warps;
  static constexpr int tokens = Extents::tokens;
  static constexpr int units_per_row = Extents::key_width / 8;
  static constexpr int lanes_per_row = units_per_row % 4 == 0 ? 4 : 2;
  static constexpr int rows_per_block = 32 / lanes_per_row;
  static constexpr int blocks_per_row = units_per_row / lanes_per_row;
  static constexpr int blocks = tokens / rows_per_block * blocks_per_row;
  static constexpr int blocks_per_warp = (blocks + warps - 1) / warps;
  using Values = float[blocks_per_warp][2][4];

 public:
  GDR_DEVICE explicit KeySplit(const Work& work) : work_(work) {}

  /// The threads have met since the elements were written, and are to meet, or to arrive at a
  /// barrier, before the operands are read.
  GDR_DEVICE void make() const {
    const bool has_q = !work_.span.only_state;
    Values q, k;
    if (GDR_LIKELY(has_q)) load(work_.q(), q);
    load(work_.k(), k);
    Work::meet();  // operands lie over other rows' elements
    if (GDR_LIKELY(has_q)) store(q, work_.q());
    store(k, work_.k());
    publish_to_async_proxy();
  }

 private:
  GDR_DEVICE void load(Elements& tile, Values& x) const {
#pragma unroll
    for (int i = 0; i < blocks_per_warp; ++i) {
      if (!exists(i)) continue;
      load_floats(at(tile, place<Elements>(i)), x[i][0]);
      load_floats(at(tile, place<Elements>(i) ^ 16), x[i][1]);
    }
  }
  GDR_DEVICE void store(const Values& x, Elements& tile) const {
    const auto put = [&](int offset, const uint32_t(&pairs)[4]) {
      *reinterpret_cast<uint4*>(at(tile, offset)) =
          make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    };
#pragma unroll
    for (int i = 0; i < blocks_per_warp; ++i) {
      if (!exists(i)) continue;
      uint32_t high[4], low[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float* const pair = &x[i][e / 2][e % 2 * 2];
        SplitOperands::split(pair[0], pair[1], high[e], low[e]);
      }
      put(place<Operands>(i), high);
      put(place<Operands>(i) + tokens * Operands::panel_bytes, low);
    }
  }
  GDR_DEVICE bool exists(int i) const {
    return blocks % warps == 0 || work_.warp + i * warps < blocks;
  }
  /// Bytes from a tile's start to the lane's channels in the warp's block i.
  template <class Tile>
  GDR_DEVICE int place(int i) const {
    // Of eight lanes, which load or store together, the rows' numbers differ in bits 0 and 2: their
    // swizzles are of different parity, for elements, and of different halves, for operands.
    const auto warp = static_cast<unsigned>(work_.warp), lane = static_cast<unsigned>(work_.lane);
    const unsigned group = lane / lanes_per_row;
    const unsigned row = lanes_per_row == 4 ? group / 2 ^ group % 2 * 5 : group;
    const auto place_in = [&](unsigned block) {
      return Tile::offset(
          static_cast<int>(block / blocks_per_row * rows_per_block + row),
          static_cast<int>(8 * (block % blocks_per_row * lanes_per_row + lane % lanes_per_row)));
    };
    if constexpr (warps % blocks_per_row == 0) {  // all of them of the same channels
      constexpr int rows = warps / blocks_per_row * rows_per_block;  // a multiple of 8
      return place_in(warp) + i * rows * Tile::panel_bytes;
    } else {
      return place_in(warp + static_cast<unsigned>(i * warps));
    }
  }
  static GDR_DEVICE float* at(Elements& tile, int offset) {
    return reinterpret_cast<float*>(reinterpret_cast<char*>(tile.data) + offset);
  }

  const Work& work_;
};

GDR_NAMESPACE_END
