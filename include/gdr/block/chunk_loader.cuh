// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Brings a tile of token rows from global memory to a swizzled tile in shared memory:
/// asynchronously where types and alignment allow it.

#include <gdr/block/swizzled_tile.cuh>
#include <gdr/block/tile_loader.cuh>

GDR_NAMESPACE_BEGIN

/// Starts (or makes) the copy of `source` to `tile` with `Threads` threads; what the source does not
/// have becomes 0. Complete for a thread after wait_for_copies(), for the others after a barrier.
template <int Threads, class T, class Stored, int Rows, int Columns>
GDR_DEVICE void load_tile(SwizzledTile<Stored, Rows, Columns>& tile, const TileSource<T>& source,
                          int thread) {
  using Tile = SwizzledTile<Stored, Rows, Columns>;
  constexpr int width = 16 / static_cast<int>(sizeof(Stored));  // elements of a piece in the tile
  constexpr int pieces_per_row = Columns / width;
  constexpr int pieces = Rows * pieces_per_row;
  constexpr int steps = (pieces + Threads - 1) / Threads;
  // Not unrolled: the general case is short of registers, not of speed.
  const auto for_each_piece = [&](auto&& use) {
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      const int piece = s * Threads + thread;
      if (pieces % Threads == 0 || piece < pieces) {
        const int row = piece / pieces_per_row, column = piece % pieces_per_row * width;
        use(row, column, Tile::offset(row, column));
      }
    }
  };
  if constexpr (sizeof(T) == sizeof(Stored)) {
    const uint32_t target = shared_address(tile.data);
    const auto address = reinterpret_cast<size_t>(source.data);
    const auto stride = static_cast<size_t>(source.time_stride) * sizeof(T);
    if (GDR_LIKELY((address | stride) % 16 == 0)) {
      constexpr int row_step = Threads / pieces_per_row;
      if constexpr (Threads % (8 * pieces_per_row) == 0 && Rows % row_step == 0) {
        // A whole tile: a lane's place, and rows at equal distances.
        if (GDR_LIKELY(source.rows == Rows && source.channels >= Columns)) {
          const int lane_row = thread / pieces_per_row;
          const int column = thread % pieces_per_row * width;
          const T* from = source.data + lane_row * source.time_stride + column;
          const int64_t distance = row_step * source.time_stride;
          const uint32_t to = target + static_cast<uint32_t>(Tile::offset(lane_row, column));
#pragma unroll
          for (int row = 0; row < Rows; row += row_step) {
            copy_async_16(to + row * Tile::panel_bytes, from, 16);
            from += distance;
          }
          return;
        }
      }
      for_each_piece([&](int row, int column, int offset) {
        const int left = row < source.rows ? source.channels - column : 0;
        const int valid = left < 0 ? 0 : left < width ? left : width;
        // Without a byte to read, the address is still to be a valid one.
        const T* from = valid > 0 ? source.data + row * source.time_stride + column : source.data;
        copy_async_16(target + static_cast<uint32_t>(offset), from,
                      valid * static_cast<int>(sizeof(T)));
      });
      return;
    }
  }
  for_each_piece([&](int row, int column, int offset) {
    const T* from = source.data + row * source.time_stride + column;
    const int left = row < source.rows ? source.channels - column : 0;
    Vector<Stored, width> piece;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      if constexpr (sizeof(T) == sizeof(Stored)) {
        T x{};
        if (e < left) x = from[e];
        memcpy(&piece.data[e], &x, sizeof(x));
      } else {
        piece.data[e] = e < left ? to_float(from[e]) : 0.0f;
      }
    }
    *reinterpret_cast<Vector<Stored, width>*>(reinterpret_cast<char*>(tile.data) + offset) = piece;
  });
}

GDR_NAMESPACE_END
