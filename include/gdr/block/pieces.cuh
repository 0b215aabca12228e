// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Sequences cut into pieces of equal length, each with a slot of the workspace: piece p of
/// sequence n has slot base(n) + p. Likewise the parts, of which a piece has some.

#include <gdr/block/span.cuh>
#include <gdr/thread/chunk_range.hpp>
#include <gdr/thread/fast_divisor.hpp>

GDR_NAMESPACE_BEGIN

/// How the sequences are cut, into pieces or into parts of them. With cu_seqlens some slots are
/// empty.
struct PieceLayout {
  int64_t tokens = 0;          // of a piece
  FastDivisor per_sequence{};  // pieces of a sequence without cu_seqlens
};

struct Piece {
  unsigned sequence;
  int64_t number;  // in the sequence
  int64_t first;   // token of the sequence
  int64_t length;
  bool exists;  // a sequence has at least one piece, be it empty
  bool is_last;
};

/// The slot of a sequence's first piece.
template <class Layer>
GDR_DEVICE int64_t first_slot(const ForwardArgs<Layer>& args, const PieceLayout& layout,
                              unsigned sequence) {
  if (args.cu_seqlens.data == nullptr) return int64_t{sequence} * layout.per_sequence.divisor();
  // Rises by at least the pieces of the sequence before, and needs no sum over sequences.
  return args.cu_seqlens[sequence] / layout.tokens + sequence;
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
  piece.number = number;
  piece.first = number * layout.tokens;
  piece.exists = number == 0 || piece.first < length;
  piece.is_last = piece.first + layout.tokens >= length;
  const int64_t left = length - piece.first;
  piece.length = left < layout.tokens ? left : layout.tokens;
  return piece;
}

GDR_NAMESPACE_END
