// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Moves a tile of token rows from global memory through registers into shared memory as floats:
/// the fetch of the next tile is in flight while the current one is worked on.

#include <gdr/block/span.cuh>
#include <gdr/thread/convert.cuh>

GDR_NAMESPACE_BEGIN

/// A tile of one tensor: which rows and channels of it exist. The rest reads as zero bits, without
/// a memory access.
template <class T>
struct TileSource {
  const T* data;        // the tile's first row, first channel
  int64_t time_stride;  // elements
  int rows;             // valid ones, from the tile's first
  int channels;
};

/// `Tokens` rows of `Width` channels, moved by `Threads` threads.
///
/// What is in flight stays as the 32-bit words that the load brings: unpacking them to elements
/// would make the thread wait for the load where it was issued.
template <class T, int Width, int Tokens, int Threads>
class TileLoader {
 public:
  /// Elements of one access.
  static constexpr int vector = vector_width(Width, sizeof(T));

  /// `thread`: 0 .. Threads.
  GDR_DEVICE explicit TileLoader(int thread) : thread_(thread) {}

  GDR_DEVICE void fetch(const TileSource<T>& source) {
    const auto address = reinterpret_cast<size_t>(source.data);
    const auto stride = static_cast<size_t>(source.time_stride) * sizeof(T);
    const bool whole_pieces = (address | stride) % sizeof(Piece) == 0 &&
                              (source.channels >= Width || source.channels % vector == 0);
    if (GDR_LIKELY(whole_pieces)) {
      for_each_piece([&](int p, int token, int channel) {
        pieces_[p] = Piece{};
        if (token < source.rows && channel < source.channels) {
          pieces_[p] =
              *reinterpret_cast<const Piece*>(source.data + token * source.time_stride + channel);
        }
      });
    } else {
      for_each_piece([&](int p, int token, int channel) {
        const T* row = source.data + token * source.time_stride + channel;
        const int valid = token < source.rows ? source.channels - channel : 0;
#pragma unroll
        for (int e = 0; e < vector; ++e) pieces_[p].set(e, e < valid ? row[e] : T{});
      });
    }
    rows_ = source.rows;
    channels_ = source.channels;
  }

  /// Calls use(token in the tile, first channel, values, valid channels) for every piece fetched:
  /// of values[0 .. vector) the first `valid channels` came from the tensor.
  template <class Use>
  GDR_DEVICE void stage(Use&& use) const {
    for_each_piece([&](int p, int token, int channel) {
      float values[vector];
#pragma unroll
      for (int e = 0; e < vector; ++e) values[e] = pieces_[p].get(e);
      use(token, channel, values, token < rows_ ? channels_ - channel : 0);
    });
  }

 private:
  static constexpr int pieces_per_row = Width / vector;
  static constexpr int pieces_of_tile = Tokens * pieces_per_row;
  static constexpr int pieces_per_thread = (pieces_of_tile + Threads - 1) / Threads;

  using Piece = PackedVector<T, vector>;

  /// Calls use(piece, token, channel) for this thread's pieces.
  template <class Use>
  GDR_DEVICE void for_each_piece(Use&& use) const {
#pragma unroll
    for (int p = 0; p < pieces_per_thread; ++p) {
      int token, channel;
      if constexpr (Threads % pieces_per_row ==
                    0) {  // one channel a thread, rows at a fixed distance
        token = thread_ / pieces_per_row + p * (Threads / pieces_per_row);
        channel = thread_ % pieces_per_row * vector;
      } else {
        const int piece = p * Threads + thread_;
        token = piece / pieces_per_row;
        channel = piece % pieces_per_row * vector;
      }
      if (pieces_of_tile % Threads == 0 || token < Tokens) use(p, token, channel);
    }
  }

  int thread_;
  int rows_ = 0;
  int channels_ = 0;
  Piece pieces_[pieces_per_thread];
};

GDR_NAMESPACE_END
