// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Writes a tile of outputs to device memory, rounded to the tensor's type.

#include <gdr/thread/convert.cuh>

GDR_NAMESPACE_BEGIN

/// Where a block's columns of an output tensor lie.
template <class T>
struct TileTarget {
  T* data;              // token 0, the block's first column
  int64_t time_stride;  // elements
  int channels;         // valid ones from there
};

/// Writes an output (a collective's Output) of `Columns` columns to the target, with `Threads`
/// threads.
template <int Columns, int Threads, class T, class Output>
GDR_DEVICE void store_output(const TileTarget<T>& target, const Output& output) {
  constexpr int vector = vector_width(Columns, sizeof(T));
  constexpr int pieces_per_row = Columns / vector;
  using Piece = PackedVector<T, vector>;
  T* const first = target.data + output.first_token * target.time_stride;
  const auto address = reinterpret_cast<size_t>(first);
  const auto stride = static_cast<size_t>(target.time_stride) * sizeof(T);
  const bool whole_pieces = (address | stride) % sizeof(Piece) == 0 &&
                            (target.channels >= Columns || target.channels % vector == 0);
  for (int piece = output.thread; piece < output.tokens * pieces_per_row; piece += Threads) {
    const int t = piece / pieces_per_row;
    const int c = piece % pieces_per_row * vector;
    T* const row = first + t * target.time_stride + c;
    float x[vector];
    output.load(t, c, x);
    Piece packed;
#pragma unroll
    for (int e = 0; e < vector; ++e) packed.set(e, from_float<T>(x[e]));
    if (GDR_LIKELY(whole_pieces)) {
      if (c < target.channels) *reinterpret_cast<Piece*>(row) = packed;
    } else {
#pragma unroll
      for (int e = 0; e < vector; ++e) {
        if (c + e < target.channels) row[e] = from_float<T>(x[e]);
      }
    }
  }
}

GDR_NAMESPACE_END
