// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Brings the chunks of one tensor, tiles of token rows, from global memory to swizzled tiles in
/// shared memory: asynchronously where alignment allows it.

#include <gdr/block/span.cuh>
#include <gdr/block/swizzled_tile.cuh>
#include <gdr/thread/convert.cuh>

GDR_NAMESPACE_BEGIN

/// A warp that copies a chunk of `Tile::rows` rows; what the tensor does not have becomes 0.
/// Complete for a lane after wait_for_copies(), for other threads after a barrier.
template <class Tile>
class ChunkLoader {
  using T = typename Tile::Element;
  static constexpr int width = Tile::piece_elements;
  static constexpr int pieces_per_row = Tile::columns / width;
  static constexpr int power_of_2(int x) { return x <= 1 ? 1 : 2 * power_of_2((x + 1) / 2); }
  /// A lane has the same piece of rows at equal distances. Lanes past a row's pieces rest.
  static constexpr int lanes_per_row = pieces_per_row > 16 ? 32 : power_of_2(pieces_per_row);
  static constexpr int row_step = 32 / lanes_per_row;

 public:
  /// `rows`: of the tensor, from the chunk's first token on, of which `tokens` exist, and
  /// `channels` from data on.
  static GDR_DEVICE void load(Tile& tile, const Rows<const T>& rows, int tokens, int channels,
                              int lane) {
    const int row = lane / lanes_per_row;
    const int column = lane % lanes_per_row * width;
    const auto address = reinterpret_cast<size_t>(rows.data);
    const auto stride = static_cast<size_t>(rows.time_stride) * sizeof(T);
    const bool is_aligned = (address | stride) % 16 == 0;
    if (GDR_LIKELY(is_aligned && tokens == Tile::rows && channels >= Tile::columns)) {
      load_whole(tile, rows, row, column);
    } else {
      load_part(tile, rows, tokens, channels, row, column, is_aligned);
    }
  }

 private:
  static GDR_DEVICE void load_whole(Tile& tile, const Rows<const T>& rows, int lane_row,
                                    int lane_column) {
    const T* from = rows.data + lane_row * rows.time_stride + lane_column;
    const uint32_t to = shared_address(tile.data);
    const int lane_offset = Tile::offset(lane_row, lane_column);
    const int64_t distance = row_step * rows.time_stride;
#pragma unroll
    for (int row = 0; row < Tile::rows; row += row_step) {
#pragma unroll
      for (int c = 0; c < pieces_per_row; c += lanes_per_row) {
        if (pieces_per_row % lanes_per_row == 0 || lane_column < Tile::columns - c * width) {
          copy_async_16(to + static_cast<uint32_t>(Tile::offset(row, c * width, lane_offset)),
                        from + c * width);
        }
      }
      from += distance;
    }
  }

  static GDR_DEVICE void load_part(Tile& tile, const Rows<const T>& rows, int tokens, int channels,
                                   int lane_row, int lane_column, bool is_aligned) {
#pragma unroll 1
    for (int row = lane_row; row < Tile::rows; row += row_step) {
#pragma unroll 1
      for (int column = lane_column; column < Tile::columns; column += lanes_per_row * width) {
        const int left = row < tokens ? channels - column : 0;
        const int valid = left < 0 ? 0 : left < width ? left : width;
        // Without an element to read, the address is still to be a valid one.
        const T* from = valid > 0 ? rows.data + row * rows.time_stride + column : rows.data;
        if (is_aligned) {
          copy_async_16(tile.address(row, column), from, valid * static_cast<int>(sizeof(T)));
          continue;
        }
        Vector<T, width> elements;
#pragma unroll
        for (int e = 0; e < width; ++e) elements.data[e] = e < valid ? from[e] : T{};
        *reinterpret_cast<Vector<T, width>*>(&tile.at(row, column)) = elements;
      }
    }
  }
};

GDR_NAMESPACE_END
