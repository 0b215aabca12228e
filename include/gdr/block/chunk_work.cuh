// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What the parts of a chunk's preparation share: the chunk, the threads at work on it, and tiles
/// of tokens as fragments [channel][token].

#include <gdr/block/chunk_loader.cuh>
#include <gdr/block/warpgroup_products.cuh>
#include <gdr/thread/barrier.cuh>
#include <gdr/thread/chunk_range.hpp>
#include <gdr/thread/decay.hpp>
#include <gdr/thread/lanes.cuh>
#include <gdr/thread/special_registers.cuh>

GDR_NAMESPACE_BEGIN

/// The factor a_t of a raw gate.
template <class Layer>
GDR_DEVICE float chunk_factor(const Span<Layer>& span, float raw, int channel) {
  const float gate = span.gate_function(raw, span.head, channel);
  if constexpr (stdx::is_same<typename Layer::Space, Linear>::value) {
    return gate;
  } else if constexpr (Layer::element_type == DataType::float32) {
    return expf(gate);
  } else {
    return fast_exp(gate);
  }
}

/// Calls use(x, token, upper or lower 8 of the channels) for this lane's elements of a fragment
/// [16 channels][16 tokens] whose first token is `first`.
template <class Use>
GDR_DEVICE void for_each_token(Accumulator& x, int first, int place, Use&& use) {
#pragma unroll
  for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
    for (int e = 0; e < 4; ++e) use(x.c[n8][e], first + 8 * n8 + 2 * place + e % 2, e / 2);
  }
}

/// Such a fragment times a factor of each token.
template <int Tokens>
GDR_DEVICE void scale_tokens(Accumulator& x, int first, int place, const float (&factors)[Tokens]) {
  for_each_token(x, first, place, [&](float& y, int t, int) { y *= factors[t]; });
}

/// Chunk `n` in preparation, and one of the 32 * prepare_warps threads at work on it. They call
/// each method of it, and of the parts that work with it, together.
template <class Layer, class Policy>
struct ChunkWork {
  using Extents = ChunkExtents<Layer, Policy>;
  using Storage = ChunkStorage<Extents>;
  using Prepared = PreparedChunk<Extents>;
  static constexpr GateAxis axis = Extents::axis;
  static constexpr int tokens = Extents::tokens;
  static constexpr int warps = Extents::prepare_warps;
  static constexpr int threads = Extents::prepare_threads;

  Storage& storage;
  const Span<Layer>& span;
  int first_column;
  int thread;
  int warp;
  int lane;
  int n = 0;

  GDR_DEVICE ChunkWork(Storage& s, const Span<Layer>& of, int column, int thread_number)
      : storage(s), span(of), first_column(column), thread(thread_number) {
    begin(0);
  }
  /// Turns to chunk `number`. Addresses depend on the thread's number alone. They are to be made
  /// anew in each chunk: made once, they would take more registers than there are.
  GDR_DEVICE void begin(int number) {
    n = number;
    thread = opaque(thread);
    warp = static_cast<unsigned>(thread) / 32;
    lane = static_cast<unsigned>(thread) % 32;
  }

  GDR_DEVICE int group() const { return static_cast<unsigned>(lane) / 4; }
  GDR_DEVICE int place() const { return static_cast<unsigned>(lane) % 4; }
  GDR_DEVICE int valid_tokens() const { return tokens_of_tile<tokens>(span, n); }

  GDR_DEVICE auto& q() const { return storage.q[n % Extents::key_stages]; }
  GDR_DEVICE auto& k() const { return storage.k[n % Extents::key_stages]; }
  GDR_DEVICE auto& v() const { return storage.v[n % Extents::value_stages]; }
  GDR_DEVICE auto& gate() const { return storage.scratch.gate[n % Extents::value_stages]; }
  GDR_DEVICE Prepared& prepared() const { return storage.prepared[n % Extents::prepared_chunks]; }
  /// What the state is to be multiplied by after this chunk, and after the one before.
  GDR_DEVICE auto& leave() const { return storage.scratch.leave[n % 2]; }
  GDR_DEVICE auto& leave_before() const { return storage.scratch.leave[(n + 1) % 2]; }

  static GDR_DEVICE void meet() { sync_threads<barrier_prepare, threads>(); }
  /// Whether any of the threads says so; they also meet.
  static GDR_DEVICE bool any_of_threads(bool mine) {
    return any_of_threads_at<barrier_prepare, threads>(mine);
  }

  GDR_DEVICE float factor(float raw, int channel) const { return chunk_factor(span, raw, channel); }
  /// What output t is multiplied by, whatever the gates.
  GDR_DEVICE float output_scale(int t) const {
    return GDR_LIKELY(!span.qk_l2norm) ? span.scale : span.scale * storage.inverse_norm_q[t];
  }
};

GDR_NAMESPACE_END
