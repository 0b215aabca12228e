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

/// `Threads` threads that copy chunks of `Tile::rows` rows; what the tensor does not have becomes 0.
/// A chunk is complete for a thread after wait_for_copies(), for the others after a barrier.
template <int Threads, class T, class Tile>
class ChunkLoader {
  using Stored = typename Tile::Element;
  static constexpr int width = 16 / static_cast<int>(sizeof(Stored));  // elements of a piece
  static constexpr int pieces_per_row = Tile::columns / width;
  static constexpr int row_step = Threads / pieces_per_row;
  /// Whether a thread has the same piece of rows at equal distances.
  static constexpr bool has_lane_places =
      Threads % (8 * pieces_per_row) == 0 && Tile::rows % row_step == 0;

 public:
  /// The tensor's rows from the first token on; `channels` of them exist from data on.
  GDR_DEVICE ChunkLoader(const Rows<const T>& tensor, int channels, int thread)
      : next_(tensor.data + lane_offset(tensor, thread)) {
    const auto address = reinterpret_cast<size_t>(tensor.data);
    const auto stride = static_cast<size_t>(tensor.time_stride) * sizeof(T);
    is_aligned_ = sizeof(T) == sizeof(Stored) && (address | stride) % 16 == 0;
    is_plain_ = has_lane_places && is_aligned_ && channels >= Tile::columns;
  }

  /// Starts the copy of the next chunk, of which `rows` rows exist.
  GDR_DEVICE void load(const Rows<const T>& tensor, int channels, int thread, Tile& tile,
                       int rows) {
    const int64_t stride = tensor.time_stride;
    if (has_lane_places && GDR_LIKELY(is_plain_ && rows == Tile::rows)) {
      const T* from = next_;
      const uint32_t to =
          shared_address(tile.data) +
          static_cast<uint32_t>(Tile::offset(thread / pieces_per_row, thread % pieces_per_row * width));
#pragma unroll
      for (int row = 0; row < Tile::rows; row += row_step) {
        copy_async_16(to + static_cast<uint32_t>(row * Tile::panel_bytes), from);
        from += row_step * stride;
      }
    } else {
      load_part(next_ - lane_offset(tensor, thread), stride, channels, thread, tile, rows);
    }
    next_ += Tile::rows * stride;
  }

 private:
  static GDR_DEVICE int64_t lane_offset(const Rows<const T>& tensor, int thread) {
    if constexpr (!has_lane_places) return 0;
    return thread / pieces_per_row * tensor.time_stride + thread % pieces_per_row * width;
  }

  GDR_DEVICE void load_part(const T* first, int64_t stride, int channels, int thread, Tile& tile,
                            int rows) const {
#pragma unroll 1
    for (int piece = thread; piece < Tile::rows * pieces_per_row; piece += Threads) {
      const int row = piece / pieces_per_row, column = piece % pieces_per_row * width;
      const int left = row < rows ? channels - column : 0;
      const int valid = left < 0 ? 0 : left < width ? left : width;
      // Without an element to read, the address is still to be a valid one.
      const T* from = valid > 0 ? first + row * stride + column : first;
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

  const T* next_;  // this thread's first piece of the next chunk
  bool is_aligned_;
  bool is_plain_;
};

GDR_NAMESPACE_END
