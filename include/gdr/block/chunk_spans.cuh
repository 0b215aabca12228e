// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Value gate without division: what of an exact chunk does not depend on the state.

#include <gdr/block/chunk_gates.cuh>

GDR_NAMESPACE_BEGIN

/// Works on blocks of 16 channels and 16 tokens, a warp each; a block is one span, or several of 8,
/// 4, 2 or 1 tokens. For the tokens t of a span, in order,
///
///     w_s <- a_t w_s for s < t,    w_t = v_t,    sums_t = sum over s <= t of p_ts w_s
///
/// and b_t is the product of the gates from the span's start. With S at the start, o_t is
/// b_t (S^T q_t) + sums_t, and after the span S is b S + K^T w.
///
/// A lane has one channel and eight tokens, its own: lanes 0 to 15 the first eight of the block,
/// lanes 16 to 31 the others.
template <class Layer, class Policy>
class ExactSpans {
  using Work = ChunkWork<Layer, Policy>;
  using Extents = typename Work::Extents;
  static constexpr int token_blocks = Extents::token_blocks;
  static constexpr int items = Extents::channel_groups * token_blocks;

 public:
  GDR_DEVICE explicit ExactSpans(const Work& work)
      : work_(work), channel_(work.lane % 16), upper_(work.lane >= 16) {}

  /// Leaves w, b, sums and the spans' lengths. wait_for_scores() is called once, when scores are
  /// needed; `with_diagonal`: as in ChunkScores.
  template <class Wait>
  GDR_DEVICE void make(bool with_diagonal, Wait&& wait_for_scores) const {
    bool has_scores = work_.span.only_state;
#pragma unroll 1
    for (int first = 0; first < items; first += Work::warps) {
      // A surplus warp goes through the last block, too, and stores nothing.
      const int item = min(first + work_.warp, items - 1);
      const int c = item / token_blocks, block = item % token_blocks;
      float a[8], w[8], b[8], sums[8];
      load(16 * c + channel_, 16 * block + 8 * upper_, a, w);
      const int span = span_length(a, w);
      if (!has_scores) {
        wait_for_scores();
        if (!GDR_LIKELY(with_diagonal)) copy_scores();
        has_scores = true;
      }
      walk(block, span, a, w, b, sums);
      if (first + work_.warp < items) store(c, block, span, w, b, sums);
    }
  }

  /// Of one block and the warp's own channels, where no outputs are made.
  GDR_DEVICE void make_block(int c, int block) const {
    float a[8], w[8], b[8], sums[8];
    load(16 * c + channel_, 16 * block + 8 * upper_, a, w);
    const int span = span_length(a, w);
    walk(block, span, a, w, b, sums);
    store(c, block, span, w, b, sums);
  }

 private:
  /// Scores of each 16 tokens with themselves: the sums are to lie where all scores are.
  GDR_DEVICE void copy_scores() const {
    for (int i = work_.thread; i < 4 * Extents::tokens; i += Work::threads) {
      const int t = i / 4, s = i % 4 * 4;
      float p[4];
      Extents::Operands::load_row(work_.prepared().scores, t, t / 16 * 16 + s, p);
      store_floats(&work_.storage.scratch.diagonal[t][s], p);
    }
    Work::meet();
  }

  GDR_DEVICE void store(int c, int block, int span, const float (&w)[8], const float (&b)[8],
                        const float (&sums)[8]) const {
    auto& prepared = work_.prepared();
    const int m8 = channel_ / 8, place = Extents::prepared_place(block);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      const int lane = channel_ % 8 * 4 + i / 2;
      prepared.values[c].store_pair(place, lane, upper_, m8, w[i], w[i + 1]);
      prepared.factors.products[c].store_pair(place, lane, upper_, m8, b[i], b[i + 1]);
      if constexpr (!Extents::only_states) {
        if (!work_.span.only_state) {
          prepared.sums[c].store_pair(block, lane, upper_, m8, sums[i], sums[i + 1]);
        }
      }
    }
    if (work_.lane == 0) prepared.factors.span[c][place] = span;
  }

  GDR_DEVICE void load(int column, int first, float (&a)[8], float (&v)[8]) const {
    const int last = work_.span.value_dim - 1, of_tensor = work_.first_column + column;
    const auto& gates = work_.gate();
    const auto& values = work_.v();
    const int gate_offset = stdx::remove_reference_t<decltype(gates)>::offset(first, column);
    const int value_offset = stdx::remove_reference_t<decltype(values)>::offset(first, column);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      // Asked for channels of the tensor alone: the function may index parameters with them.
      a[i] = work_.factor(to_float(gates.at(i, 0, gate_offset)), min(of_tensor, last));
      v[i] = to_float(values.at(i, 0, value_offset));
    }
    const int valid = of_tensor > last ? 0 : work_.valid_tokens() - first;
    if (!GDR_LIKELY(valid >= 8)) {
#pragma unroll
      for (int i = 0; i < 8; ++i) a[i] = i < valid ? a[i] : 1.0f;
    }
    if (!GDR_LIKELY(!work_.span.qk_l2norm)) {
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] *= work_.storage.inverse_norm_k[first + i];
    }
  }
  /// Scores of token t with `Count` tokens from the first of its block plus s on.
  template <int Count>
  GDR_DEVICE void load_scores(int t, int s, float (&p)[Count]) const {
    if constexpr (Extents::only_states) {
      for (float& x : p) x = 0.0f;  // the sums are not looked at
    } else {
      load_floats(&work_.storage.scratch.diagonal[t][s], p);
    }
  }

  /// A block of 16 tokens. `w` holds the values first.
  GDR_DEVICE void walk(int block, int span, const float (&a)[8], float (&w)[8], float (&b)[8],
                       float (&sums)[8]) const {
    if (GDR_LIKELY(span >= 8)) {
      walk_eight<true>(block, span, a, w, b, sums);
    } else {
      walk_eight<false>(block, span, a, w, b, sums);
    }
    if (GDR_LIKELY(span == 16)) join_eights(block, a, w, b, sums);
  }
  /// A lane's own eight tokens, as one span or, not `Whole`, several.
  template <bool Whole>
  GDR_DEVICE void walk_eight(int block, int span, const float (&a)[8], float (&w)[8], float (&b)[8],
                             float (&sums)[8]) const {
    // Two tokens are of one span where the bits in which their numbers differ are below it.
    const auto is_one_span = [&](int i, int t) { return Whole || span > (i ^ t); };
#pragma unroll
    for (int t = 0; t < 8; ++t) {
      b[t] = t > 0 && is_one_span(t - 1, t) ? b[t - 1] * a[t] : a[t];
      float p[8];
      load_scores(16 * block + 8 * upper_ + t, 8 * upper_, p);
      sums[t] = p[t] * w[t];
#pragma unroll
      for (int i = 0; i < t; ++i) {
        const bool together = is_one_span(i, t);
        w[i] *= together ? a[t] : 1.0f;
        sums[t] = fmaf(together ? p[i] : 0.0f, w[i], sums[t]);
      }
    }
  }

  /// A span of 16: the first eight tokens' weights go on through the others. Both halves of the
  /// warp take four of them.
  GDR_DEVICE void join_eights(int block, const float (&a)[8], float (&w)[8], float (&b)[8],
                              float (&sums)[8]) const {
    float early[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float fifth_on = __shfl_sync(full_warp, w[4 + i], channel_);
      early[i] = upper_ ? fifth_on : w[i];
    }
    const float from_start = __shfl_sync(full_warp, b[7], channel_);
#pragma unroll
    for (int t = 0; t < 8; ++t) {
      const float gate = __shfl_sync(full_warp, a[t], 16 + channel_);
      float p[4];
      load_scores(16 * block + 8 + t, 4 * upper_, p);
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        early[i] *= gate;
        sum = fmaf(p[i], early[i], sum);
      }
      sum += __shfl_xor_sync(full_warp, sum, 16);
      if (upper_) {
        sums[t] += sum;
        b[t] *= from_start;
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float fifth_on = __shfl_sync(full_warp, early[i], 16 + channel_);
      if (!upper_) {
        w[i] = early[i];
        w[4 + i] = fifth_on;
      }
    }
  }

  /// The longest span, 16 tokens halved, in which products of gates stay in range for all channels
  /// of the warp.
  GDR_DEVICE int span_length(const float (&a)[8], const float (&v)[8]) const {
    // Most often gates do not exceed 1, and their product is far from the range's end.
    float product = 1.0f, greatest = 0.0f;
#pragma unroll
    for (const float x : a) {
      product *= x == 0.0f ? 1.0f : x;
      greatest = fmaxf(greatest, fabsf(x));
    }
    product *= __shfl_xor_sync(full_warp, product, 16);
    // NaN is not within.
    if (__all_sync(full_warp, greatest <= 1.0f && fabsf(product) >= 0x1p-100f)) return 16;

    int largest = 0;
#pragma unroll
    for (const float x : v) largest = max(largest, value_weight(x));
    largest = max(largest, __shfl_xor_sync(full_warp, largest, 16));
    const int most = min(max_span_weight, 126 - largest);
    int weight[8];
#pragma unroll
    for (int t = 0; t < 8; ++t) weight[t] = gate_weight(a[t]);
    int longest = 1;
#pragma unroll
    for (int span = 2; span <= 8; span *= 2) {
      bool fits = true;
#pragma unroll
      for (int t = 0; t < 8; t += span) {
        weight[t] += weight[t + span / 2];
        fits = fits && weight[t] <= most;
      }
      if (__all_sync(full_warp, fits)) longest = span;
    }
    weight[0] += __shfl_xor_sync(full_warp, weight[0], 16);
    if (__all_sync(full_warp, weight[0] <= most)) longest = 16;
    return longest;
  }
  static GDR_DEVICE int value_weight(float v) {
    const int exponent = detail::exponent_of(v);
    return exponent > 0 && exponent < 128 ? exponent : 0;
  }

  const Work& work_;
  int channel_;
  int upper_;  // 0 or 1
};

GDR_NAMESPACE_END
