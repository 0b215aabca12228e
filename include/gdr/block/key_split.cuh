// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// float32 and float16: q and k of a chunk from elements to operands of two bfloat16 numbers, in
/// place.

#include <gdr/block/chunk_work.cuh>

GDR_NAMESPACE_BEGIN

/// Works in blocks of 32 lanes that have 8 channels of a token each.
template <class Layer, class Policy>
class KeySplit {
  using Work = ChunkWork<Layer, Policy>;
  using Extents = typename Work::Extents;
  using KeyTile = ChunkKeyTile<Extents>;
  using Elements = decltype(KeyTile::elements);
  using Floats = decltype(KeyTile::numbers);
  using Operands = decltype(KeyTile::operands);
  /// What operands are made of.
  using Source = stdx::conditional_t<Extents::axis == GateAxis::key, Floats, Elements>;
  static constexpr int warps = Work::warps;
  static constexpr int tokens = Extents::tokens;
  static constexpr int units_per_row = Extents::key_width / 8;
  static constexpr int lanes_per_row = units_per_row % 4 == 0 ? 4 : 2;
  static constexpr int rows_per_block = 32 / lanes_per_row;
  static constexpr int blocks_per_row = units_per_row / lanes_per_row;
  static constexpr int blocks = tokens / rows_per_block * blocks_per_row;
  static constexpr int blocks_per_warp = (blocks + warps - 1) / warps;
  using Values = float[blocks_per_warp][8];

 public:
  GDR_DEVICE explicit KeySplit(const Work& work) : work_(work) {}

  /// The threads have met since the elements were written, and are to meet, or to arrive at a
  /// barrier, before the operands are read. Under a key gate they are made of weighted floats.
  GDR_DEVICE void make() const {
    remake<Source>([&](KeyTile& tile, int i, const float(&x)[8]) {
      uint32_t high[4], low[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) SplitOperands::split(x[2 * e], x[2 * e + 1], high[e], low[e]);
      at<uint4>(tile, place<Operands>(i)) = make_uint4(high[0], high[1], high[2], high[3]);
      at<uint4>(tile, place<Operands>(i) + tokens * Operands::panel_bytes) =
          make_uint4(low[0], low[1], low[2], low[3]);
    });
    publish_to_async_proxy();
  }
  /// Key gate: leaves the elements as floats, to be weighted, likewise.
  GDR_DEVICE void widen() const {
    remake<Elements>([&](KeyTile& tile, int i, const float(&x)[8]) {
      at<float4>(tile, place<Floats>(i)) = make_float4(x[0], x[1], x[2], x[3]);
      at<float4>(tile, place<Floats>(i) ^ 16) = make_float4(x[4], x[5], x[6], x[7]);
    });
  }

 private:
  /// Calls store(tile, i, x) for each of the warp's blocks i of q and of k, whose channels x were in
  /// the form of a `From`.
  template <class From, class Store>
  GDR_DEVICE void remake(Store&& store) const {
    const bool has_q = !work_.span.only_state;
    Values q, k;
    if (GDR_LIKELY(has_q)) load<From>(work_.q(), q);
    load<From>(work_.k(), k);
    Work::meet();  // what is made of them lies over other rows
    const auto store_all = [&](KeyTile& tile, const Values& x) {
#pragma unroll
      for (int i = 0; i < blocks_per_warp; ++i) {
        if (exists(i)) store(tile, i, x[i]);
      }
    };
    if (GDR_LIKELY(has_q)) store_all(work_.q(), q);
    store_all(work_.k(), k);
  }
  template <class From>
  GDR_DEVICE void load(KeyTile& tile, Values& x) const {
    constexpr int width = From::piece_elements;  // 8 or 4
    using Piece = Vector<typename From::Element, width>;
#pragma unroll
    for (int i = 0; i < blocks_per_warp; ++i) {
      if (!exists(i)) continue;
#pragma unroll
      for (int first = 0; first < 8; first += width) {
        const Piece piece = at<Piece>(tile, place<From>(i) ^ first / width * 16);
#pragma unroll
        for (int e = 0; e < width; ++e) x[i][first + e] = to_float(piece.data[e]);
      }
    }
  }
  GDR_DEVICE bool exists(int i) const {
    return blocks % warps == 0 || work_.warp + i * warps < blocks;
  }
  /// Bytes from a tile's start to the lane's channels in the warp's block i.
  template <class Tile>
  GDR_DEVICE int place(int i) const {
    // Of eight lanes, which load or store together, the rows' numbers differ in bits 0 and 2: their
    // swizzles are of different parity, for floats, and of different halves, for operands.
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
  template <class T>
  static GDR_DEVICE T& at(KeyTile& tile, int offset) {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(&tile) + offset);
  }

  const Work& work_;
};

GDR_NAMESPACE_END
