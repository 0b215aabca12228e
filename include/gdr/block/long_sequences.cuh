// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The long ones among the sequences of cu_seqlens, whose lengths the host does not know. They are
/// dealt out in turn to the slots of a grid, so that each slot has as many whatever lies between.

#include <gdr/block/span.cuh>
#include <gdr/thread/lanes.cuh>

GDR_NAMESPACE_BEGIN

struct LongSequences {
  int64_t least = 0;   // tokens of a long sequence
  uint32_t slots = 0;  // among which they are dealt out
};

inline constexpr unsigned no_sequence = 0xffffffffu;

namespace detail {

/// Sequences that a thread looks at together: there is a latency to hide.
inline constexpr int looked_at = 4;

/// Whether sequences first, first + stride, ... are long.
template <class Layer>
GDR_DEVICE void look_at_sequences(const ForwardArgs<Layer>& args, int64_t least, unsigned first,
                                  unsigned stride, bool (&is_long)[looked_at]) {
  const SequenceOffsets& offsets = args.cu_seqlens;
#pragma unroll
  for (int i = 0; i < looked_at; ++i) {
    const unsigned n = first + stride * i;
    is_long[i] = n < offsets.sequences && offsets[n + 1] - offsets[n] >= least;
  }
}

}  // namespace detail

/// How many there are, by all threads of a block.
template <int Threads, class Layer>
GDR_DEVICE unsigned count_long_sequences(const ForwardArgs<Layer>& args, int64_t least) {
  unsigned count = 0;
#pragma unroll 1
  for (unsigned first = 0; first < args.cu_seqlens.sequences;
       first += detail::looked_at * Threads) {
    bool is_long[detail::looked_at];
    detail::look_at_sequences(args, least, first + threadIdx.x, Threads, is_long);
#pragma unroll
    for (const bool x : is_long) count += __syncthreads_count(x);
  }
  return count;
}

/// From sequence `first` on, the long one after `others` that are long, too; or none. By a warp.
template <class Layer>
GDR_DEVICE unsigned find_long_sequence(const ForwardArgs<Layer>& args, int64_t least,
                                       unsigned first, unsigned others) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll 1
  for (; first < args.cu_seqlens.sequences; first += detail::looked_at * 32) {
    bool is_long[detail::looked_at];
    detail::look_at_sequences(args, least, first + lane, 32, is_long);
#pragma unroll
    for (int i = 0; i < detail::looked_at; ++i) {
      const unsigned lanes = __ballot_sync(full_warp, is_long[i]);
      const unsigned count = __popc(lanes);
      if (others < count) {
        const bool is_it = is_long[i] && __popc(lanes & ((1u << lane) - 1)) == others;
        return first + 32 * i + __ffs(__ballot_sync(full_warp, is_it)) - 1;
      }
      others -= count;
    }
  }
  return no_sequence;
}

GDR_NAMESPACE_END
