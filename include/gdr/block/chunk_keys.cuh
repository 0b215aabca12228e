// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Key gate: q and k of a chunk weighted in place, so that what follows is as without a gate.
///
/// By division they become operands. Where these lie over other channels' elements, as those of two
/// numbers do, they are kept in registers until all warps have read theirs.

#include <gdr/block/chunk_gates.cuh>
#include <gdr/block/key_split.cuh>

GDR_NAMESPACE_BEGIN

template <class Layer, class Policy>
class KeyWeights {
  using Work = ChunkWork<Layer, Policy>;
  using Extents = typename Work::Extents;
  using Operands = typename Extents::Operands;
  using FiniteCheck = typename Operands::FiniteCheck;
  using Element = typename Layer::Element;
  using Gates = GateProducts<Layer, Policy>;
  using Item = typename Gates::Item;
  static constexpr int tokens = Extents::tokens;
  static constexpr int token_blocks = Extents::token_blocks;
  static constexpr int key_width = Extents::key_width;

 public:
  GDR_DEVICE explicit KeyWeights(Work& work) : work_(work), gates_(work) {}

  /// q_t by r_t and k_s by 1 / r_s, in place. Whether the range allows it.
  GDR_DEVICE bool divide() {
    bool in_range = true;
    Weighted weighted[splits_keys ? Gates::items_per_warp : 1];
    if constexpr (splits_keys) {
      gates_.for_each_item_unrolled(
          [&](const Item& item, int i) { in_range = weigh(item, weighted[i]) && in_range; });
    } else {
      gates_.for_each_item([&](const Item& item) {
        in_range = weigh(item, weighted[0]) && in_range;
        store(item, weighted[0]);
      });
    }
    if (work_.any_of_threads(!in_range)) return false;
    if constexpr (splits_keys) {
      gates_.for_each_item_unrolled([&](const Item& item, int i) { store(item, weighted[i]); });
    }
    return true;
  }
  /// What is left to do then.
  GDR_DEVICE void end_division() const {
    if (work_.thread == 0) work_.prepared().span = 0;
    publish_to_async_proxy();
  }
  /// Where the range does not allow it, thereafter: by spans without division.
  GDR_DEVICE void weigh_exactly() {
    restore();
    gates_.for_each_item([&](const Item& item) { gates_.store_nothing_due(item); });
    weigh_spans();
  }
  /// After the one, or before the other.
  GDR_DEVICE void multiply_total(bool exact) const {
    gates_.for_each_item([&](const Item& item) { gates_.multiply_total(item, exact); });
  }

 private:
  static constexpr bool splits_keys = Extents::splits_keys;
  struct Weighted {
    typename Operands::A q[Gates::half_blocks], k[Gates::half_blocks];
  };

  GDR_DEVICE bool weigh(const Item& item, Weighted& weighted) const {
    // Asked for before they are needed.
    Accumulator q[Gates::half_blocks], k[Gates::half_blocks];
#pragma unroll
    for (int i = 0; i < Gates::half_blocks; ++i) {
      q[i] = load_by_channel(work_.q().elements, 16 * (item.first_block() + i), 16 * item.channels,
                             work_.lane);
      k[i] = load_by_channel(work_.k().elements, 16 * (item.first_block() + i), 16 * item.channels,
                             work_.lane);
    }
    typename Gates::Half half;
    const bool in_range = gates_.make(item, half);
    FiniteCheck finite;
#pragma unroll
    for (int i = 0; i < Gates::half_blocks; ++i) {
      if (!item.has_block(i)) break;
      const auto scale = [&](Accumulator& x, const Accumulator& factors) {
        x.multiply(factors);
        const auto scaled = Operands::to_a(x);
        finite.add(scaled);
        return scaled;
      };
      weighted.k[i] = scale(k[i], half.inverse[i]);
      if (GDR_LIKELY(!work_.span.only_state)) weighted.q[i] = scale(q[i], half.r[i]);
    }
    gates_.store_whole(item, half);
    return in_range && finite.holds();
  }
  GDR_DEVICE void store(const Item& item, const Weighted& weighted) const {
#pragma unroll
    for (int i = 0; i < Gates::half_blocks; ++i) {
      if (!item.has_block(i)) break;
      const int token = 16 * (item.first_block() + i), channel = 16 * item.channels;
      const auto put = [&](auto& tile, const auto& x) {
        Operands::store_a_transposed(tile, token, channel, work_.lane, x);
      };
      put(work_.k().operands, weighted.k[i]);
      if (GDR_LIKELY(!work_.span.only_state)) put(work_.q().operands, weighted.q[i]);
    }
  }

  /// q and k to be weighted exactly.
  GDR_DEVICE void restore() const {
    if constexpr (!splits_keys) {
      reload();
    } else if constexpr (Extents::widens_keys) {
      KeySplit<Layer, Policy>(work_).widen();
      Work::meet();
    }
  }
  /// q and k of the chunk anew, as they came.
  GDR_DEVICE void reload() const {
    const int64_t first = int64_t{work_.n} * tokens;
    const auto from = [&](const Rows<const Element>& rows) {
      return Rows<const Element>{rows.data + first * rows.time_stride, rows.time_stride};
    };
    if (work_.warp == 1 || (work_.warp == 0 && !work_.span.only_state)) {
      auto& tile = (work_.warp == 0 ? work_.q() : work_.k()).elements;
      ChunkLoader<stdx::remove_reference_t<decltype(tile)>>::load(
          tile, from(work_.warp == 0 ? work_.span.q : work_.span.k), work_.valid_tokens(),
          work_.span.key_dim, work_.lane);
      commit_copies();
      wait_for_copies<0>();
    }
    Work::meet();
  }

  // --- Without division. A thread has two channels of 16 tokens, a segment. ---

  static constexpr int key_pairs = key_width / 2;

  struct Segment {
    int channel;
    int first;  // token
    bool exists;
  };
  GDR_DEVICE Segment segment() const {
    static_assert(Work::axis != GateAxis::key || key_pairs * token_blocks <= Work::threads,
                  "gdr: ChunkedTuning::prepare_warps is too small for the key gate of this extent");
    const int number = work_.thread / key_pairs;
    return {work_.thread % key_pairs * 2, 16 * number, number < token_blocks};
  }
  /// Two neighbouring elements of a tile.
  template <class Tile>
  static GDR_DEVICE float2 load_pair(const Tile& tile, int row, int column) {
    using T = stdx::remove_cv_t<stdx::remove_reference_t<decltype(tile.data[0])>>;
    PackedVector<T, 2> pair;
    memcpy(pair.word, &tile.at(row, column), sizeof(pair.word));
    return make_float2(pair.get(0), pair.get(1));
  }
  GDR_DEVICE float2 factors(int t, int channel) const {
    const float2 raw = load_pair(work_.gate(), t, channel);
    const int last = work_.span.key_dim - 1;
    float2 a = make_float2(work_.factor(raw.x, min(channel, last)),
                           work_.factor(raw.y, min(channel + 1, last)));
    const bool valid = t < work_.valid_tokens();
    if (!valid || channel > last) a.x = 1.0f;
    if (!valid || channel + 1 > last) a.y = 1.0f;
    return a;
  }
  static GDR_DEVICE float2 product(float2 x, float2 y) { return make_float2(x.x * y.x, x.y * y.y); }
  static GDR_DEVICE float2 bounded_product(float2 x, float2 y) {
    return make_float2(gate_product(x.x, y.x), gate_product(x.y, y.y));
  }

  /// For spans of at most 16 tokens: q times the gates from the span's start, k times the gates to
  /// its end, and scores with the gates between.
  GDR_DEVICE void weigh_spans() {
    auto& prepared = work_.prepared();
    const Segment own = segment();
    const int span = span_length(own);
    for (int block = work_.warp; block < token_blocks && !work_.span.only_state;
         block += Work::warps) {
      make_scores(block, span);
    }
    Work::meet();
    if (!own.exists) return;
    const int span_bits = 31 - __clz(span);
    float2 from_start = make_float2(1.0f, 1.0f);
    for (int t = own.first; t < own.first + 16; ++t) {
      if ((t & (span - 1)) == 0) from_start = make_float2(1.0f, 1.0f);
      from_start = bounded_product(from_start, factors(t, own.channel));
      const float2 q = product(load_pair(work_.q().numbers, t, own.channel), from_start);
      Operands::store_pair(&work_.q().numbers.at(t, own.channel), q.x, q.y);
      if ((t & (span - 1)) == span - 1) {
        *reinterpret_cast<float2*>(&prepared.factors.leave[t >> span_bits][own.channel]) =
            from_start;
      }
    }
    float2 to_end = make_float2(1.0f, 1.0f);
    for (int t = own.first + 15; t >= own.first; --t) {
      if ((t & (span - 1)) == span - 1) to_end = make_float2(1.0f, 1.0f);
      const float2 k = product(load_pair(work_.k().numbers, t, own.channel), to_end);
      Operands::store_pair(&work_.k().numbers.at(t, own.channel), k.x, k.y);
      to_end = bounded_product(to_end, factors(t, own.channel));
    }
    if (work_.thread == 0) prepared.span = span;
  }

  /// The longest span, 16 tokens halved, in which products of gates stay in range.
  GDR_DEVICE int span_length(const Segment& own) {
    int span = 16;
    for (; span > 2; span /= 2) {
      bool too_long = false;
      if (own.exists) {
        int weight[2] = {0, 0};
        for (int t = 0; t < 16; ++t) {
          if ((t & (span - 1)) == 0) weight[0] = weight[1] = 0;
          const float2 a = factors(own.first + t, own.channel);
          weight[0] += gate_weight(a.x);
          weight[1] += gate_weight(a.y);
          too_long = too_long || weight[0] > max_span_weight || weight[1] > max_span_weight;
        }
      }
      if (!work_.any_of_threads(too_long)) break;
    }
    return span;
  }

  /// Scores of a block of 16 tokens with itself, each with the gates between its two tokens. Lanes
  /// 0 to 15 have a token s each and the even channels, lanes 16 to 31 the odd ones.
  GDR_DEVICE void make_scores(int block, int span) const {
    const int s = work_.lane % 16;
    float p[16];
#pragma unroll
    for (int t = 0; t < 16; ++t) p[t] = 0;
    for (int i = work_.lane / 16; i < key_width; i += 2) {
      float decayed_k = to_float(work_.k().numbers.at(16 * block + s, i));
#pragma unroll
      for (int t = 0; t < 16; ++t) {
        const float2 a = factors(16 * block + t, i / 2 * 2);
        if (t > s) decayed_k *= i % 2 == 0 ? a.x : a.y;
        if (t >= s) p[t] = fmaf(to_float(work_.q().numbers.at(16 * block + t, i)), decayed_k, p[t]);
      }
    }
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      p[t] += __shfl_xor_sync(full_warp, p[t], 16);
      const bool together = t >= s && (t & -span) == (s & -span);
      if (work_.lane < 16) {
        Operands::store_element(work_.prepared().scores, 16 * block + t, 16 * block + s,
                                together ? p[t] : 0.0f);
      }
    }
  }

  Work& work_;
  Gates gates_;
};

GDR_NAMESPACE_END
