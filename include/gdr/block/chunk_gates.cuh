// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Gates of a channel axis, value or key, as products outward from a chunk's centre.

#include <gdr/block/chunk_work.cuh>

GDR_NAMESPACE_BEGIN

/// Works on items of 16 channels and half a chunk, before its centre or after it. A warp takes an
/// item; fragments are [channel][token]. Of three blocks of 16 tokens the first half has one, and
/// the products of a second are ones.
///
///     after the centre     r_t = product of the gates from the centre up to and with t
///     before it        1 / r_t = product of the gates after t up to the centre
template <class Layer, class Policy>
class GateProducts {
  using Work = ChunkWork<Layer, Policy>;
  using Extents = typename Work::Extents;
  using GateElement = typename Layer::GateElement;
  using GateFunction = typename Layer::GateFunction;

 public:
  static constexpr bool is_log = stdx::is_same<typename Layer::Space, Log>::value;

  /// Float32 products are the exponentials of sums: a product of rounded factors would drift, as a
  /// constant gate is rounded the same way at every token (1.6e-5 at log -0.001, 1024 tokens).
  static constexpr bool by_sums = compensated_decay<Layer>;
  /// Sums of logarithms as products with triangles of ones on the tensor cores, which leave them in
  /// fragments. A gate is one bfloat16 number or the sum of two, 16 bits: enough for 16-bit tensors.
  static constexpr bool by_matrix = is_log && !by_sums;
  static constexpr bool is_one_operand = by_matrix &&
                                         data_type_of<GateElement> == DataType::bfloat16 &&
                                         stdx::is_same<GateFunction, typename Layer::Space>::value;

  static constexpr int centre_block = Extents::centre_block;
  static constexpr int half_blocks = Extents::token_blocks - centre_block;  // at most
  /// A chunk of one block is all after its centre.
  static constexpr int halves = centre_block > 0 ? 2 : 1;
  static constexpr int fewest_blocks = halves == 1 ? half_blocks : centre_block;
  static constexpr int channel_groups = Extents::gate_width / 16;
  static constexpr int items = halves * channel_groups;

  struct Item {
    int channels;  // 16 * channels on
    bool second_half;
    GDR_DEVICE int first_block() const { return second_half ? centre_block : 0; }
    GDR_DEVICE bool has_block(int i) const { return i < fewest_blocks || second_half; }
  };

  struct Half {
    Accumulator r[half_blocks];
    Accumulator inverse[half_blocks];
    float whole[2];  // product of the half's gates, by upper and lower channels: in lanes that
                     // write it
    float due[2];    // what the state is to be multiplied by after the chunk before
  };

  GDR_DEVICE explicit GateProducts(const Work& work) : work_(work) {}

  /// Calls use(item) for each of this warp's.
  template <class Use>
  GDR_DEVICE void for_each_item(Use&& use) const {
    const auto use_number = [&](int number) {
      use(Item{number / halves, number % halves == halves - 1});
    };
    if constexpr (items == Work::warps) {
      use_number(work_.warp);
    } else {
#pragma unroll 1
      for (int number = work_.warp; number < items; number += Work::warps) use_number(number);
    }
  }

  /// The same with the item's number among the warp's, for what is kept of each in registers.
  static constexpr int items_per_warp = (items + Work::warps - 1) / Work::warps;
  template <class Use>
  GDR_DEVICE void for_each_item_unrolled(Use&& use) const {
#pragma unroll
    for (int i = 0; i < items_per_warp; ++i) {
      const int number = work_.warp + i * Work::warps;
      if (items % Work::warps != 0 && number >= items) break;
      use(Item{number / halves, number % halves == halves - 1}, i);
    }
  }

  /// Makes the products; whether they may be divided by. NaN is left to what they scale.
  GDR_DEVICE bool make(const Item& item, Half& half) const {
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) half.due[m8] = work_.leave_before()[channel(item, m8)];
    if constexpr (by_matrix) {
      sum_by_matrix(item, half);
      LogDivisionRange range;
      for (float& whole : half.whole) {
        whole *= log2_e;
        if (writes_whole(item)) range.add(whole);
        whole = fast_exp2(whole);
      }
#pragma unroll
      for (int i = 0; i < half_blocks; ++i) {
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const float x = half.r[i].c[n8][e] * log2_e;
            range.add(x);
            half.r[i].c[n8][e] = fast_exp2(x);
            half.inverse[i].c[n8][e] = fast_reciprocal(half.r[i].c[n8][e]);
          }
        }
      }
      return range.holds();
    } else {
      load<by_sums>(item, item.first_block(), half.r);
#pragma unroll
      for (int i = fewest_blocks; i < half_blocks; ++i) {
        if (item.has_block(i)) continue;
        for_each_token(half.r[i], 0, 0, [](float& x, int, int) { x = by_sums ? 0.0f : 1.0f; });
      }
      return item.second_half || halves == 1 ? combine_outward<true>(half)
                                             : combine_outward<false>(half);
    }
  }

  /// Leaves what the state is to be multiplied by before the chunk, with what is due from the one
  /// before, and after it.
  GDR_DEVICE void store_whole(const Item& item, const Half& half) const {
    if (!writes_whole(item)) return;
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      const int c = channel(item, m8);
      if (item.second_half) work_.leave()[c] = half.whole[m8];
      if (!item.second_half || halves == 1) {
        // In float's range: two halves at the range's end make 2^128, which would turn 0 to NaN.
        work_.prepared().factors.enter[c] =
            halves == 1 ? half.due[m8] : gate_product(half.due[m8], half.whole[m8]);
      }
      if (!GDR_LIKELY(!work_.span.only_state)) whole(item, m8) = half.whole[m8];
    }
  }
  /// Of a chunk that is gone through exactly: nothing is left for later.
  GDR_DEVICE void store_nothing_due(const Item& item) const {
    if (work_.place() != 0) return;
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      const int c = channel(item, m8);
      if (item.second_half) work_.leave()[c] = 1.0f;
      if (!item.second_half || halves == 1) {
        work_.prepared().factors.enter[c] = work_.leave_before()[c];
      }
    }
  }

  /// Multiplies the span's total by the gates of an item, after store_whole.
  GDR_DEVICE void multiply_total(const Item& item, bool exact) const {
    if (exact) {
      multiply_total_exactly(item);
    } else if (writes_whole(item)) {
#pragma unroll
      for (int m8 = 0; m8 < 2; ++m8) total(item, m8).multiply(whole(item, m8));
    }
  }

  /// Whether this item's gates alone surely rule division out. In fewer steps than make, to be asked
  /// where it is expected; what it does not see make sees.
  GDR_DEVICE bool rules_division_out(const Item& item) const {
    constexpr float one = is_log ? 0.0f : 1.0f;
    float product[2] = {one, one};  // or sum of logarithms
    bool has_zero = false;
#pragma unroll
    for (int i = 0; i < half_blocks; ++i) {
      if (!item.has_block(i)) break;
      Accumulator a[1];
      load<is_log>(item, item.first_block() + i, a);
      for_each_token(a[0], 0, 0, [&](float& x, int, int m8) {
        product[m8] = is_log ? product[m8] + x : product[m8] * x;
        has_zero = has_zero || x == 0.0f;
      });
    }
    bool is_out = has_zero && !is_log;
    const float nan = __int_as_float(0x7fffffff);
#pragma unroll
    for (float& p : product) {
      // Four lanes' products within these bounds make one that is not rounded to 0 or infinity; NaN
      // says nothing.
      if (!is_log && !(fabsf(p) >= 0x1p-30f && fabsf(p) <= 0x1p30f)) p = nan;
#pragma unroll
      for (int distance = 1; distance <= 2; distance *= 2) {
        const float other = __shfl_xor_sync(full_warp, p, distance);
        p = is_log ? p + other : p * other;
      }
      // By more than roundings in another order can make up for.
      is_out = is_out ||
               (is_log ? fabsf(p * log2_e) > 65.0f : fabsf(p) < 0x1p-65f || fabsf(p) > 0x1p65f);
    }
    return is_out;
  }

  /// Gates of an item's channels and some blocks of tokens, as factors or, `AsLogs`, as the gate
  /// function gives them.
  template <bool AsLogs, int Blocks>
  GDR_DEVICE void load(const Item& item, int first_block, Accumulator (&a)[Blocks]) const {
    const int last = dim() - 1;
    // Asked for channels of the tensor alone: the function may index parameters with them.
    const int of_function[2] = {min(of_tensor(item, 0), last), min(of_tensor(item, 1), last)};
#pragma unroll
    for (int i = 0; i < Blocks; ++i) {
      a[i] = load_by_channel(work_.gate(), 16 * (first_block + i), 16 * item.channels, work_.lane);
      for_each_token(a[i], 0, 0, [&](float& x, int, int m8) {
        x = AsLogs ? work_.span.gate_function(x, work_.span.head, of_function[m8])
                   : work_.factor(x, of_function[m8]);
      });
    }
    const int valid = work_.valid_tokens();
    if (GDR_LIKELY(valid == Work::tokens && of_tensor(item, 1) <= last)) return;
#pragma unroll
    for (int i = 0; i < Blocks; ++i) {
      for_each_token(a[i], 16 * (first_block + i), work_.place(), [&](float& x, int t, int m8) {
        if (t >= valid || of_tensor(item, m8) > last) x = AsLogs ? 0.0f : 1.0f;
      });
    }
  }
  /// Gates in log space as the sum of two operands, or as one.
  GDR_DEVICE void load_logs(const Item& item, int block, Bfloat16Operands::A (&gates)[2]) const {
    if constexpr (is_one_operand) {  // what the tensor does not have is 0 in the tile
      gates[0] = Bfloat16Operands::load_a_transposed(work_.gate(), 16 * block, 16 * item.channels,
                                                     work_.lane);
    } else {
      Accumulator g[1];
      load<true>(item, block, g);
      gates[0] = Bfloat16Operands::to_a(g[0]);
      gates[1] = Bfloat16Operands::rest(g[0], gates[0]);
    }
  }

 private:
  GDR_DEVICE int channel(const Item& item, int m8) const {
    return 16 * item.channels + work_.group() + 8 * m8;
  }
  GDR_DEVICE int of_tensor(const Item& item, int m8) const {
    return (Work::axis == GateAxis::value ? work_.first_column : 0) + channel(item, m8);
  }
  GDR_DEVICE int dim() const {
    return Work::axis == GateAxis::value ? work_.span.value_dim : work_.span.key_dim;
  }
  GDR_DEVICE ScaledProduct& total(const Item& item, int m8) const {
    return work_.storage.scratch.total[item.second_half][channel(item, m8)];
  }
  GDR_DEVICE float& whole(const Item& item, int m8) const {
    return work_.storage.scratch.whole[item.second_half][channel(item, m8)];
  }
  GDR_DEVICE void multiply_total_exactly(const Item& item) const {
#pragma unroll 1
    for (int i = 0; i < half_blocks && item.has_block(i); ++i) {
      Accumulator gates[1];
      load<false>(item, item.first_block() + i, gates);
#pragma unroll 1
      for (int lane = 0; lane < 4; ++lane) {  // of the four that have the channels' gates
        for_each_token(gates[0], 0, 0, [&](float& x, int, int m8) {
          const float gate = __shfl_sync(full_warp, x, lane, 4);
          if (work_.place() == 0) total(item, m8).multiply(gate);
        });
      }
    }
  }
  /// The lanes with the half's first or last token have the whole product.
  GDR_DEVICE bool writes_whole(const Item& item) const {
    return work_.place() == (item.second_half ? 3 : 0);
  }

  /// log r_t = the sum over s <= t of g_s, or minus that over s > t: gates [channel][s] times a
  /// triangle [s][t] of 1 or -1.
  GDR_DEVICE void sum_by_matrix(const Item& item, Half& half) const {
    const bool second = item.second_half;
    const uint32_t one = second ? 0x3f803f80u : 0xbf80bf80u;  // in bfloat16, of the half's sign
    const auto keep = [&](int s) { return (s <= work_.group()) == second; };
    const int s = 2 * work_.place();
    const uint32_t near = one & ((keep(s) ? 0xffffu : 0u) | (keep(s + 1) ? 0xffff0000u : 0u));
    const uint32_t earlier = second ? one : 0u, later = second ? 0u : one;  // s before or after t

#pragma unroll
    for (Accumulator& sum : half.r) sum.clear();
#pragma unroll
    for (int i = 0; i < half_blocks; ++i) {
      if (!item.has_block(i)) break;
      Bfloat16Operands::A gates[2];
      load_logs(item, item.first_block() + i, gates);
#pragma unroll
      for (int part = 0; part < (is_one_operand ? 1 : 2); ++part) {
        const auto& g = gates[part].r;
#pragma unroll
        for (int t = 0; t < half_blocks; ++t) {
          mma_bf16(half.r[t].c[0], g,
                   t == i  ? near
                   : i < t ? earlier
                           : later,
                   t <= i ? later : earlier);
          mma_bf16(half.r[t].c[1], g, t < i ? later : earlier,
                   t == i  ? near
                   : i < t ? earlier
                           : later);
        }
        if (i == 0) {  // the first token's gate
#pragma unroll
          for (int m8 = 0; m8 < 2; ++m8) {
            half.whole[m8] = Bfloat16Operands::low(g[m8]) + (part == 0 ? 0.0f : half.whole[m8]);
          }
        }
      }
    }
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      half.whole[m8] = second ? half.r[half_blocks - 1].c[1][2 * m8 + 1]
                              : half.whole[m8] - half.r[0].c[0][2 * m8];
    }
  }
  static GDR_DEVICE float combine(float x, float y) { return by_sums ? x + y : x * y; }

  /// Products over the four lanes of a group.
  struct QuadProducts {
    float before;  // of the lanes before this one
    float after;
    float all;

    GDR_DEVICE QuadProducts(float x, int place) {
      constexpr float one = by_sums ? 0.0f : 1.0f;
      const float neighbour = __shfl_xor_sync(full_warp, x, 1);
      const float two = combine(x, neighbour);
      const float other_two = __shfl_xor_sync(full_warp, two, 2);
      before = combine(place & 1 ? neighbour : one, place & 2 ? other_two : one);
      after = combine(place & 1 ? one : neighbour, place & 2 ? one : other_two);
      all = combine(two, other_two);
    }
  };

  /// Gates to products: of the tokens after one up to the half's end, or, `Second`, from the half's
  /// start up to and with a token.
  template <bool Second>
  GDR_DEVICE bool combine_outward(Half& half) const {
    constexpr int eights = 2 * half_blocks;
    DivisionRange range;
    const auto factor = [&](float x) {
      if constexpr (by_sums) x = expf(x);
      range.add(x);
      return x;
    };
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      float base = by_sums ? 0.0f : 1.0f;
#pragma unroll
      for (int i = 0; i < eights; ++i) {
        const int eight = Second ? i : eights - 1 - i;
        float* const r = &half.r[eight / 2].c[eight % 2][2 * m8];
        float* const inverse = &half.inverse[eight / 2].c[eight % 2][2 * m8];
        const QuadProducts quad(combine(r[0], r[1]), work_.place());
        float outward[2];
        if constexpr (Second) {
          outward[0] = combine(r[0], combine(base, quad.before));
          outward[1] = combine(r[1], outward[0]);
        } else {
          outward[1] = combine(base, quad.after);
          outward[0] = combine(outward[1], r[1]);
        }
        base = combine(base, quad.all);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float product = factor(outward[e]);
          (Second ? r : inverse)[e] = product;
          (Second ? inverse : r)[e] = fast_reciprocal(product);
        }
      }
      half.whole[m8] = factor(base);
    }
    return range.holds();
  }

  const Work& work_;
};

GDR_NAMESPACE_END
