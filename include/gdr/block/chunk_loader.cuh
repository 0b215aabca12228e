// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Brings the chunks of one tensor, tiles of token rows, from global memory to swizzled tiles in
/// shared memory: asynchronously where types and alignment allow it.

#include <gdr/block/span.cuh>
#include <gdr/block/swizzled_tile.cuh>
#include <gdr/thread/convert.cuh>

GDR_NAMESPACE_BEGIN

/// A warp that copies chunks of `Tile::rows` rows; what the tensor does not have becomes 0. A chunk
/// is complete for a lane after wait_for_copies(), for other threads after a barrier.
template <class T, class Tile>
class ChunkLoader {
  using Stored = typename Tile::Element;
  static constexpr int width = 16 / static_cast<int>(sizeof(Stored));  // elements of a piece
  static constexpr int pieces_per_row = Tile::columns / width;
  static constexpr int power_of_2(int x) { return x <= 1 ? 1 : 2 * power_of_2((x + 1) / 2); }
  /// A lane has the same piece of rows at equal distances. Lanes past a row's pieces rest.
  static constexpr int lanes_per_row = pieces_per_row > 16 ? 32 : power_of_2(pieces_per_row);
  static constexpr int row_step = 32 / lanes_per_row;

 public:
  /// The tensor's rows from the first token on; `channels` of them exist from data on.
  GDR_DEVICE ChunkLoader(const Rows<const T>& tensor, int channels, int lane)
      : stride_(tensor.time_stride),
        channels_(channels),
        row_(lane / lanes_per_row),
        column_(lane % lanes_per_row * width),
        next_(tensor.data + row_ * stride_ + column_) {
    const auto address = reinterpret_cast<size_t>(tensor.data);
    const auto bytes = static_cast<size_t>(stride_) * sizeof(T);
    is_aligned_ = sizeof(T) == sizeof(Stored) && (address | bytes) % 16 == 0;
  }

  /// Starts the copy of the next chunk, of which `rows` rows exist.
  GDR_DEVICE void load(Tile& tile, int rows) {
    if (GDR_LIKELY(is_aligned_ && rows == Tile::rows && channels_ >= Tile::columns)) {
      load_whole(tile);
    } else {
      load_part(tile, rows);
    }
    next_ += Tile::rows * stride_;
  }

 private:
  GDR_DEVICE void load_whole(Tile& tile) const {
    const T* from = next_;
    const uint32_t to = shared_address(tile.data);
    const int lane_offset = Tile::offset(row_, column_);
    const int64_t distance = row_step * stride_;
#pragma unroll
    for (int row = 0; row < Tile::rows; row += row_step) {
#pragma unroll
      for (int c = 0; c < pieces_per_row; c += lanes_per_row) {
        if (pieces_per_row % lanes_per_row == 0 || column_ < Tile::columns - c * width) {
          copy_async_16(to + static_cast<uint32_t>(Tile::offset(row, c * width, lane_offset)),
                        from + c * width);
        }
      }
      from += distance;
    }
  }

  GDR_DEVICE void load_part(Tile& tile, int rows) const {
    const T* const first = next_ - row_ * stride_ - column_;
#pragma unroll 1
    for (int row = row_; row < Tile::rows; row += row_step) {
#pragma unroll 1
      for (int column = column_; column < Tile::columns; column += lanes_per_row * width) {
        const int left = row < rows ? channels_ - column : 0;
        const int valid = left < 0 ? 0 : left < width ? left : width;
        // Without an element to read, the address is still to be a valid one.
        const T* from = valid > 0 ? first + row * stride_ + column : first;
        if constexpr (sizeof(T) == sizeof(Stored)) {
          if (is_aligned_) {
            copy_async_16(tile.address(row, column), from, valid * static_cast<int>(sizeof(T)));
            continue;
          }
        }
        Vector<Stored, width> elements;
#pragma unroll
        for (int e = 0; e < width; ++e) {
          if constexpr (sizeof(T) == sizeof(Stored)) {
            T x{};
            if (e < valid) x = from[e];
            memcpy(&elements.data[e], &x, sizeof(x));
          } else {
            elements.data[e] = e < valid ? to_float(from[e]) : 0.0f;
          }
        }
        *reinterpret_cast<Vector<Stored, width>*>(&tile.at(row, column)) = elements;
      }
    }
  }

  int64_t stride_;
  int channels_;
  int row_;     // of this lane's first piece in a tile
  int column_;
  const T* next_;  // that piece of the next chunk
  bool is_aligned_;
};

GDR_NAMESPACE_END
