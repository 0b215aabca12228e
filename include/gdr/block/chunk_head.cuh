// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Head gate: one factor a token. Products outward from a chunk's centre by a loading warp, and
/// products between any two tokens by the preparing ones, where the former may not be divided by.

#include <gdr/block/chunk_work.cuh>

GDR_NAMESPACE_BEGIN

/// One warp: reads the gates of chunks and leaves factors and outward products, as GateProducts.
template <class Layer, class Policy>
class HeadGates {
  using Extents = ChunkExtents<Layer, Policy>;
  using GateElement = typename Layer::GateElement;
  static constexpr int tokens = Extents::tokens;
  static constexpr int per_lane = (tokens + 31) / 32;
  static constexpr int centre = 16 * Extents::centre_block;
  static constexpr int first_lanes = centre / per_lane;            // with the tokens before it
  static constexpr int half_lanes = (tokens - centre) / per_lane;  // with those after: no fewer
  /// Logarithms are added, which loses nothing; factors are multiplied.
  static constexpr bool by_sums = stdx::is_same<typename Layer::Space, Log>::value;
  static constexpr float one = by_sums ? 0.0f : 1.0f;

 public:
  GDR_DEVICE HeadGates(ChunkStorage<Extents>& storage, const Span<Layer>& span, int lane)
      : storage_(storage), span_(span), lane_(lane) {}

  /// Asks for the gates of chunk n.
  GDR_DEVICE void ask(int n) {
#pragma unroll
    for (int e = 0; e < per_lane; ++e) {
      const int t = per_lane * lane_ + e;
      const int64_t token = int64_t{n} * tokens + t;
      exists_[e] = t < tokens && token < span_.length;
      if (exists_[e]) raw_[e] = span_.gate.data[token * span_.gate.time_stride];
    }
  }

  /// Makes the products of chunk n, the one asked for last.
  GDR_DEVICE void make(int n) const {
    // Outward from the centre: after it upwards, before it downwards.
    const bool second = per_lane * lane_ >= centre;
    float x[per_lane];
#pragma unroll
    for (int i = 0; i < per_lane; ++i) {
      const float raw = to_float(second ? raw_[i] : raw_[per_lane - 1 - i]);
      const bool exists = second ? exists_[i] : exists_[per_lane - 1 - i];
      x[i] = exists ? span_.gate_function(raw, span_.head, 0) : one;
    }
    const int in_half = second ? lane_ - first_lanes : first_lanes - 1 - lane_;
    float all = x[0];
#pragma unroll
    for (int e = 1; e < per_lane; ++e) all = combine(all, x[e]);
#pragma unroll
    for (int distance = 1; distance < half_lanes; distance *= 2) {
      const float inner =
          __shfl_sync(full_warp, all, (second ? lane_ - distance : lane_ + distance) & 31);
      if (in_half >= distance) all = combine(all, inner);
    }
    float outward = __shfl_sync(full_warp, all, (second ? lane_ - 1 : lane_ + 1) & 31);
    if (in_half == 0) outward = one;

    DivisionRange range;
    auto& scratch = storage_.scratch;
#pragma unroll
    for (int i = 0; i < per_lane; ++i) {
      if (second) outward = combine(outward, x[i]);
      const float product = factor(outward);
      if (!second) outward = combine(outward, x[i]);
      range.add(product == product ? product : 0.0f);  // it drops NaN
      const float inverse = 1.0f / product;
      const int t = per_lane * lane_ + (second ? i : per_lane - 1 - i);
      if (t < tokens) {
        scratch.gate[n % 2][t] = factor(x[i]);
        scratch.r[n % 2][t] = second ? product : inverse;
        scratch.inverse[n % 2][t] = second ? inverse : product;
      }
    }
    const float whole = factor(all);
    range.add(whole);
    if (in_half == (second ? half_lanes : first_lanes) - 1) scratch.whole[n % 2][second] = whole;
    const bool may_divide = __all_sync(full_warp, range.holds() || per_lane * lane_ >= tokens);
    if (lane_ == 0) {
      if (centre == 0) scratch.whole[n % 2][0] = 1.0f;
      scratch.may_divide[n % 2] = may_divide;
    }
  }

 private:
  static GDR_DEVICE float combine(float x, float y) { return by_sums ? x + y : x * y; }
  static GDR_DEVICE float factor(float x) { return by_sums ? expf(x) : x; }

  ChunkStorage<Extents>& storage_;
  const Span<Layer>& span_;
  int lane_;
  GateElement raw_[per_lane] = {};  // not touched before they are needed: they take long to come
  bool exists_[per_lane] = {};
};

/// The preparing warps: products of the gates between tokens, by multiplication alone. Right for
/// any gates.
template <class Layer, class Policy>
class HeadDecays {
  using Work = ChunkWork<Layer, Policy>;
  using Extents = typename Work::Extents;
  static constexpr int tokens = Extents::tokens;
  static constexpr int token_blocks = Extents::token_blocks;

 public:
  /// By blocks of 16 tokens, then over the chunk.
  static GDR_DEVICE void make(const Work& work) {
    auto& scratch = work.storage.scratch;
    const float(&gates)[tokens] = scratch.gate[work.n % 2];
    const int block = work.thread / 16, s = work.thread % 16;
    if (work.thread < tokens) {
      float from_block = 1.0f, after = 1.0f;
#pragma unroll
      for (int t = 0; t < 16; ++t) {
        const float gate = gates[16 * block + t];
        if (t > s) after = gate_product(after, gate);
        if (t <= s) from_block = gate_product(from_block, gate);
        scratch.within[16 * block + t][s] = after;  // t < s: not used
      }
      scratch.to_block_end[work.thread] = after;
      scratch.from_block[work.thread] = from_block;
      if (s == 15) scratch.whole_block[block] = from_block;
    }
    Work::meet();
    if (work.thread < tokens) {
      float before = scratch.from_block[work.thread], after = scratch.to_block_end[work.thread];
#pragma unroll
      for (int b = 0; b < token_blocks; ++b) {
        if (b < block) before = gate_product(before, scratch.whole_block[b]);
        if (b > block) after = gate_product(after, scratch.whole_block[b]);
      }
      work.prepared().factors.from_start[work.thread] = before;
      scratch.to_end[work.thread] = after;
    }
    Work::meet();
  }
};

GDR_NAMESPACE_END
