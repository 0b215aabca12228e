// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Moves a tile of token rows from global memory through registers into shared memory as floats:
/// the fetch of the next tile is in flight while the current one is worked on.

#include <gdr/block/span.cuh>
#include <gdr/thread/convert.cuh>

GDR_NAMESPACE_BEGIN

/// `Tokens` rows of `Width` channels at a time, moved by `Threads` threads. What does not exist
/// reads as zero bits, without a memory access.
///
/// What is in flight stays as the 32-bit words that the load brings: unpacking them to elements
/// would make the thread wait for the load where it was issued.
template <class T, int Width, int Tokens, int Threads>
class TileLoader {
 public:
  /// Elements of one access.
  static constexpr int vector = vector_width(Width, sizeof(T));

  /// `thread`: 0 .. Threads.
  GDR_DEVICE explicit TileLoader(int thread) {
    const bool has_pieces = thread < rows_of_pass * pieces_per_row;
    token_ = has_pieces ? thread / pieces_per_row : Tokens;
    channel_ = thread % pieces_per_row * vector;
  }

  /// Goes to the rows from `rows` on, of which `channels` channels exist.
  GDR_DEVICE void begin(const Rows<const T>& rows, int channels) {
    const auto address = reinterpret_cast<size_t>(rows.data);
    const auto stride = static_cast<size_t>(rows.time_stride) * sizeof(T);
    const bool is_aligned = (address | stride) % sizeof(Piece) == 0;
    whole_pieces_ = is_aligned & ((channels >= Width) | (channels % vector == 0));  // no branches
    next_ = rows.data + token_ * rows.time_stride + channel_;
    stride_ = rows.time_stride;
    channels_ = channels - channel_;
  }

  /// Starts the loads of the next tile, of which `rows` rows exist.
  GDR_DEVICE void fetch(int rows) {
    rows_ = rows;
    if (GDR_LIKELY(whole_pieces_)) {
      for_each_piece([&](int p, int token, int offset) {
        pieces_[p] = Piece{};
        if (token < rows && offset < channels_) {
          pieces_[p] = *reinterpret_cast<const Piece*>(row_of(p) + offset);
        }
      });
    } else {
      for_each_piece([&](int p, int token, int offset) {
        const T* const row = row_of(p);
        const int valid = token < rows ? channels_ - offset : 0;
#pragma unroll
        for (int e = 0; e < vector; ++e) pieces_[p].set(e, e < valid ? row[offset + e] : T{});
      });
    }
    next_ += Tokens * stride_;
  }

  /// Calls use(token in the tile, first channel, values, valid channels) for every piece fetched of
  /// the first `tokens` tokens: of values[0 .. vector) the first `valid channels` came from the
  /// tensor.
  template <class Use>
  GDR_DEVICE void stage(int tokens, Use&& use) const {
    for_each_piece([&](int p, int token, int offset) {
      if (token >= tokens) return;
      float values[vector];
#pragma unroll
      for (int e = 0; e < vector; ++e) values[e] = pieces_[p].get(e);
      use(token, channel_ + offset, values, token < rows_ ? channels_ - offset : 0);
    });
  }

 private:
  // A pass is a piece for each thread: some rows, or a part of one.
  static constexpr int pieces_per_row = Width / vector;
  static constexpr int passes_of_row = (pieces_per_row + Threads - 1) / Threads;
  static constexpr int rows_of_pass = passes_of_row > 1 ? 1 : Threads / pieces_per_row;
  static constexpr int passes = (Tokens + rows_of_pass - 1) / rows_of_pass * passes_of_row;

  using Piece = PackedVector<T, vector>;

  GDR_DEVICE const T* row_of(int p) const {
    return next_ + p / passes_of_row * rows_of_pass * stride_;
  }

  /// Calls use(piece, token, channels from this thread's first) for this thread's pieces, of which
  /// the last ones may lie past the tile's tokens.
  template <class Use>
  GDR_DEVICE void for_each_piece(Use&& use) const {
#pragma unroll
    for (int p = 0; p < passes; ++p) {
      const int offset = p % passes_of_row * Threads * vector;
      if (passes_of_row == 1 || pieces_per_row % Threads == 0 || channel_ + offset < Width) {
        use(p, token_ + p / passes_of_row * rows_of_pass, offset);
      }
    }
  }

  // Not initialised but by begin and fetch: the first loads would wait for it.
  int token_;    // this thread's first, in the tile
  int channel_;  // and its first channel
  const T* next_;
  int64_t stride_;
  int channels_;  // from this thread's first on
  int rows_;
  bool whole_pieces_;
  Piece pieces_[passes];
};

GDR_NAMESPACE_END
