// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The long ones among the sequences of cu_seqlens, whose lengths the host does not know: slots of
/// a grid, of which each long sequence has one.

#include <gdr/block/span.cuh>

GDR_NAMESPACE_BEGIN

/// Either a slot is a sequence; or, where sequences are many for their tokens, a multiple of `least`
/// among the tokens, which has the sequence whose first such token it is.
struct LongSequences {
  int64_t least = 0;  // tokens of a long sequence
  int64_t slots = 0;
  bool by_token = false;

  /// Among so many sequences with so many tokens together.
  static LongSequences among(int64_t sequences, int64_t tokens, int64_t least) {
    const int64_t multiples = (tokens + least - 1) / least;
    const bool by_token = multiples < sequences;
    return {least, by_token ? multiples : sequences, by_token};
  }
};

inline constexpr unsigned no_sequence = 0xffffffffu;

/// The sequence of a slot, or none.
template <class Layer>
GDR_DEVICE unsigned sequence_of_slot(const ForwardArgs<Layer>& args, const LongSequences& sequences,
                                     unsigned slot) {
  unsigned n = slot;
  if (sequences.by_token) {
    const int64_t token = slot * sequences.least;
    n = last_sequence(args, [&](unsigned i) { return args.cu_seqlens[i] <= token; });
    const int64_t before = token - args.cu_seqlens[n];
    if (before < 0 || before >= sequences.least) return no_sequence;
  }
  return sequence_bounds(args, n).length >= sequences.least ? n : no_sequence;
}

GDR_NAMESPACE_END
