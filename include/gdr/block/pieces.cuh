// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Sequences cut into a first piece and more of equal length, each with a slot of the workspace:
/// piece p of sequence n has slot base(n) + p.

#include <gdr/block/span.cuh>
#include <gdr/thread/chunk_range.hpp>
#include <gdr/thread/fast_divisor.hpp>

GDR_NAMESPACE_BEGIN

/// How the sequences are cut. With cu_seqlens some slots are empty.
struct PieceLayout {
  int64_t first_tokens = 0;    // of a sequence's first piece, at most those of another
  int64_t tokens = 0;          // of the others
  FastDivisor per_sequence{};  // pieces of a sequence without cu_seqlens

  /// Pieces of a sequence: at least one, be it empty.
  GDR_HOST_DEVICE int64_t pieces(int64_t length) const {
    return length <= first_tokens ? 1 : 1 + (length - first_tokens + tokens - 1) / tokens;
  }
};

struct Piece {
  unsigned sequence;
  int64_t first;  // token of the sequence
  int64_t length;
  bool exists;
  bool is_first;
  bool is_last;
};

/// The slot of a sequence's first piece.
template <class Layer>
GDR_DEVICE int64_t first_slot(const ForwardArgs<Layer>& args, const PieceLayout& layout,
                              unsigned sequence) {
  if (args.cu_seqlens.data == nullptr) return int64_t{sequence} * layout.per_sequence.divisor();
  // Rises by at least the pieces of the sequence before, and needs no sum over sequences.
  return args.cu_seqlens[sequence] / layout.tokens + 2 * int64_t{sequence};
}

template <class Layer>
GDR_DEVICE Piece piece_at(const ForwardArgs<Layer>& args, const PieceLayout& layout,
                          unsigned slot) {
  unsigned sequence;
  if (args.cu_seqlens.data == nullptr) {
    sequence = layout.per_sequence.quotient(slot);
  } else {
    sequence = last_sequence(args, [&](unsigned n) { return first_slot(args, layout, n) <= slot; });
  }
  const int64_t number = slot - first_slot(args, layout, sequence);
  const int64_t length = sequence_bounds(args, sequence).length;
  Piece piece;
  piece.sequence = sequence;
  const int64_t pieces = layout.pieces(length);
  piece.is_first = number == 0;
  piece.is_last = number == pieces - 1;
  piece.exists = number < pieces;
  piece.first = number == 0 ? 0 : layout.first_tokens + (number - 1) * layout.tokens;
  const int64_t most = number == 0 ? layout.first_tokens : layout.tokens;
  const int64_t left = length - piece.first;
  piece.length = left < most ? left : most;
  return piece;
}

GDR_NAMESPACE_END
