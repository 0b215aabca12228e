// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A tile of token rows in shared memory, laid out so that tensor-core fragments load without bank
/// conflicts by rows and by columns.

#include <gdr/thread/mma.cuh>

GDR_NAMESPACE_BEGIN

/// `Rows` x `Columns` elements; a row is whole units of 32 bytes. Columns are cut into panels of
/// 128, 64 or 32 bytes, one after another; in a panel, the 16-byte pieces of a row are permuted by
/// the row's number: the swizzle that the hardware knows by the panel's width, counted from
/// addresses that are multiples of 8 rows.
template <class T, int Rows, int Columns>
struct alignas(8 * (Columns * sizeof(T) % 128 == 0  ? 128
                    : Columns * sizeof(T) % 64 == 0 ? 64
                                                    : 32)) SwizzledTile {
  using Element = T;
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr int row_bytes = Columns * static_cast<int>(sizeof(T));
  static_assert(row_bytes % 32 == 0, "a row is whole units of 32 bytes");
  static constexpr int panel_bytes = row_bytes % 128 == 0 ? 128 : row_bytes % 64 == 0 ? 64 : 32;
  static constexpr int panel_columns = panel_bytes / static_cast<int>(sizeof(T));
  static constexpr int piece_elements = 16 / static_cast<int>(sizeof(T));

  T data[Rows * Columns];

  /// Bytes from the tile's start to element (row, column).
  static GDR_DEVICE int offset(int row, int column) {
    constexpr int rows_per_128 = 128 / panel_bytes;
    const int panel = column / panel_columns;
    const int byte = column % panel_columns * static_cast<int>(sizeof(T));
    const int swizzle = row / rows_per_128 % (panel_bytes / 16) * 16;
    return panel * (Rows * panel_bytes) + row * panel_bytes + (byte ^ swizzle);
  }
  GDR_DEVICE T& at(int row, int column) {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(data) + offset(row, column));
  }
  GDR_DEVICE const T& at(int row, int column) const {
    return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(data) + offset(row, column));
  }
  /// offset(row + lane_row, column + lane_column) of a place that is the same for all lanes and one
  /// that is a lane's, offset(lane_row, lane_column), where the two share no bit: row and column of
  /// the former are then immediates of the instruction, but for a few bits of the column.
  static GDR_DEVICE int offset(int row, int column, int lane_offset) {
    const int place = offset(row, column);
    return (place & ~(panel_bytes - 1)) + (lane_offset ^ (place & (panel_bytes - 1)));
  }
  GDR_DEVICE T& at(int row, int column, int lane_offset) {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(data) + offset(row, column, lane_offset));
  }
  GDR_DEVICE const T& at(int row, int column, int lane_offset) const {
    return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(data) +
                                       offset(row, column, lane_offset));
  }
  GDR_DEVICE uint32_t address(int row, int column, int lane_offset = 0) const {
    return shared_address(data) + static_cast<uint32_t>(offset(row, column, lane_offset));
  }
};

GDR_NAMESPACE_END
