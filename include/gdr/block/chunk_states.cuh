// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The chunked form for a final state alone, under a value gate. Without outputs there is neither q
/// nor a score, and with r_t the product of the gates after token t up to the chunk's end,
///
///     S^T <- r S^T + W^T K,    w_t = r_t * v_t
///
/// has no division. A warp of the state weighs the values of its own channels, in the registers from
/// which they are multiplied.

#include <gdr/block/chunk_feeder.cuh>
#include <gdr/block/chunk_spans.cuh>
#include <gdr/block/chunk_state.cuh>

GDR_NAMESPACE_BEGIN

/// Products of gates from a chunk's end, of 16 value channels, in a warp: fragments
/// [channel][token] of those after each token, and the products of all gates by upper and lower
/// channels.
template <class Layer, class Policy>
struct EndwardProducts {
  using Gates = GateProducts<Layer, Policy>;
  static constexpr int token_blocks = ChunkExtents<Layer, Policy>::token_blocks;
  static_assert(!Gates::by_sums, "gdr: states alone are of bfloat16");

  Accumulator after[token_blocks];
  float whole[2];

  /// Whether all are normal numbers. NaN is left to what they scale.
  GDR_DEVICE bool make(const Gates& gates, int channels, int lane) {
    const auto place = static_cast<int>(static_cast<unsigned>(lane) % 4);
    const typename Gates::Item item{channels, false};
    if constexpr (Gates::is_log) {
      return exponentiate(gates, item, lane, place);
    } else {
      gates.template load<false>(item, 0, after);
      return multiply(place);
    }
  }

 private:
  /// log r_t = the sum over s > t of g_s: gates [channel][s] times a triangle [s][t] of ones.
  GDR_DEVICE bool exponentiate(const Gates& gates, const typename Gates::Item& item, int lane,
                               int place) {
    constexpr uint32_t ones = 0x3f803f80u;  // in bfloat16
    const auto t = static_cast<int>(static_cast<unsigned>(lane) / 4);
    const int s = 2 * place;
    const uint32_t near = ones & ((s > t ? 0xffffu : 0u) | (s + 1 > t ? 0xffff0000u : 0u));
    whole[0] = whole[1] = 0.0f;
#pragma unroll
    for (Accumulator& sum : after) sum.clear();
#pragma unroll
    for (int i = 0; i < token_blocks; ++i) {
      Bfloat16Operands::A g[2];
      gates.load_logs(item, i, g);
#pragma unroll
      for (int part = 0; part < (Gates::is_one_operand ? 1 : 2); ++part) {
#pragma unroll
        for (int earlier = 0; earlier < i; ++earlier) {
          mma_bf16(after[earlier].c[0], g[part].r, ones, ones);
          mma_bf16(after[earlier].c[1], g[part].r, ones, ones);
        }
        mma_bf16(after[i].c[0], g[part].r, near, ones);
        mma_bf16(after[i].c[1], g[part].r, 0u, near);
        if (i == 0) {  // the first token's gate, in the lanes that have it
#pragma unroll
          for (int m8 = 0; m8 < 2; ++m8) whole[m8] += Bfloat16Operands::low(g[part].r[m8]);
        }
      }
    }
    LogDivisionRange range;
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      const float sum = whole[m8] + after[0].c[0][2 * m8];
      const float exponent = __shfl_sync(full_warp, sum, 0, 4) * log2_e;
      range.add(exponent);
      whole[m8] = fast_exp2(exponent);
    }
#pragma unroll
    for (Accumulator& x : after) {
      for_each_token(x, 0, 0, [&](float& r, int, int) {
        const float exponent = r * log2_e;
        range.add(exponent);
        r = fast_exp2(exponent);
      });
    }
    return range.are_normal();
  }

  /// Gates to products, from the last token on.
  GDR_DEVICE bool multiply(int place) {
    DivisionRange range;
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      whole[m8] = 1.0f;
#pragma unroll
      for (int eight = 2 * token_blocks - 1; eight >= 0; --eight) {
        float* const a = &after[eight / 2].c[eight % 2][2 * m8];
        const float pair = a[0] * a[1];
        const float neighbour = __shfl_xor_sync(full_warp, pair, 1);
        const float two = pair * neighbour;
        const float other_two = __shfl_xor_sync(full_warp, two, 2);
        const float later = (place & 1 ? 1.0f : neighbour) * (place & 2 ? 1.0f : other_two);
        const float second_gate = a[1];
        a[1] = whole[m8] * later;
        a[0] = a[1] * second_gate;
        whole[m8] *= two * other_two;
        range.add(a[0]);
        range.add(a[1]);
      }
      range.add(whole[m8]);
    }
    return range.are_normal();
  }
};

/// Runs spans of one sequence and value head over a block of `columns` value channels, without
/// outputs. As BlockChunked, but with two roles.
template <class Layer, class Policy>
class BlockStates {
 public:
  using Extents = ChunkExtents<Layer, Policy>;
  static_assert(Extents::only_states && Layer::Gate::axis == GateAxis::value);
  static constexpr int columns = Extents::columns;
  static constexpr int tokens = Extents::tokens;
  static constexpr int threads = Extents::tuning.threads();
  using TempStorage = ChunkStorage<Extents>;

  GDR_DEVICE BlockStates(TempStorage& storage, int first_column)
      : storage_(storage),
        first_column_(first_column),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32),
        state_(storage, warp_, lane_, false) {}

  GDR_DEVICE ChunkRole role() const {
    return warp_ < Extents::tuning.state_warps ? ChunkRole::state : ChunkRole::load;
  }

  GDR_DEVICE void clear() {
    for_each([](int, int, float& s) { s = 0; });
  }
  /// As BlockChunked::for_each, by the state's threads alone.
  template <class Use>
  GDR_DEVICE void for_each(Use&& use) {
    state_.for_each([&](int i, int j, float& x) { use(i, first_column_ + j, x); });
  }

  template <class Use>
  GDR_DEVICE void for_each_pair(Use&& use) {
    state_.for_each_pair(
        [&](int i, int j, float& x, float& y) { use(i, first_column_ + j, x, y); });
  }

  GDR_DEVICE void load(const Span<Layer>& span, const ChunkSource& source = {}) {
    const int chunks = tile_count<tokens>(span);
    if (chunks == 0) return;
    const ChunkFeeder<Layer, Policy> feeder(storage_, span, source, first_column_,
                                            warp_ - Extents::tuning.state_warps, lane_);
    feeder.begin();
#pragma unroll 1
    for (int n = 0; n < chunks; ++n) {
      feeder.ask(stdx::false_type{}, n);
      feeder.wait_for(stdx::false_type{}, n);
      end_turn();
    }
    feeder.end();
  }

  /// The state's threads: from the state as it is. Calls total(value channel, product of all its
  /// gates) in the threads that have one.
  template <class Total>
  GDR_DEVICE void walk(const Span<Layer>& span, Total&& total) {
    const int chunks = tile_count<tokens>(span);
    Work work(storage_, span, first_column_, static_cast<int>(threadIdx.x));
    ScaledProduct gates[2];  // of the channels of this lane, for its part of the tokens
    for (int n = 0; n < chunks; ++n) {
      end_turn();
      work.begin(n);
      if (!GDR_LIKELY(!span.qk_l2norm)) measure_keys(work);
      Values values;
      const bool is_exact = work.any_of_threads(!weigh(work, values));
      if (GDR_LIKELY(!is_exact)) {
        state_.update(n, values.gates, values.w);
#pragma unroll
        for (int m8 = 0; m8 < 2; ++m8) {
          gates[m8].multiply(work.place() == 0 ? values.gates[m8] : 1.0f);
        }
      } else {
        update_exactly(work, gates);
      }
    }
    put_out(gates, total);
  }

 private:
  using Work = ChunkWork<Layer, Policy>;
  using Operands = typename Extents::Operands;
  static constexpr int token_blocks = Extents::token_blocks;

  /// Values of the warp's channels, weighted, and the products of the chunk's gates.
  struct Values {
    typename Operands::A w[token_blocks];
    float gates[2];
  };

  static GDR_DEVICE void end_turn() { sync_threads<barrier_turn, threads>(); }

  /// The 16 value channels that the warp weighs: without its own it takes the last ones', and
  /// stores nothing.
  GDR_DEVICE int channels() const { return min(warp_, Extents::channel_groups - 1); }

  /// 1 / sqrt(sum x^2 + eps) of the rows of k, a warp a row.
  static GDR_DEVICE void measure_keys(const Work& work) {
    const auto& k = work.k().elements;
    for (int t = work.warp; t < tokens; t += Work::warps) {
      work.storage.inverse_norm_k[t] =
          inverse_norm(Extents::key_width, work.span.qk_l2norm_eps, work.lane,
                       [&](int c) { return to_float(k.at(t, c)); });
    }
    Work::meet();
  }

  /// Whether products and weighted values are in range.
  GDR_DEVICE bool weigh(const Work& work, Values& values) const {
    // Asked for before they are needed, and kept as they are until then.
#pragma unroll
    for (int i = 0; i < token_blocks; ++i) {
      values.w[i] = Operands::load_a_transposed(work.v(), 16 * i, 16 * channels(), work.lane);
    }
    EndwardProducts<Layer, Policy> products;
    const bool in_range = products.make(GateProducts<Layer, Policy>(work), channels(), work.lane);
    typename Operands::FiniteCheck finite;
#pragma unroll
    for (int i = 0; i < token_blocks; ++i) {
      Accumulator v = Operands::from_a(values.w[i]);
      if (!GDR_LIKELY(!work.span.qk_l2norm)) {
        scale_tokens(v, 16 * i, work.place(), work.storage.inverse_norm_k);
      }
      v.multiply(products.after[i]);
      values.w[i] = Operands::to_a(v);
      finite.add(values.w[i]);
    }
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) values.gates[m8] = products.whole[m8];
    return in_range && finite.holds();
  }

  /// A chunk by spans; the warp's channels alone.
  GDR_DEVICE void update_exactly(const Work& work, ScaledProduct (&gates)[2]) {
    if (warp_ >= Extents::channel_groups) return;  // their buffers are other warps'
    const int valid = work.valid_tokens();
#pragma unroll 1
    for (int block = 0; 16 * block < valid; ++block) {
      __syncwarp();  // what the block before left has been read
      ExactSpans<Layer, Policy>(work).make_block(warp_, block);
      __syncwarp();
      state_.update_by_spans(work.n, block);
    }
    multiply_all(work, gates);
  }
  /// By the gates of an exact chunk, each lane by its own tokens'.
  GDR_DEVICE void multiply_all(const Work& work, ScaledProduct (&gates)[2]) const {
#pragma unroll 1
    for (int i = 0; i < token_blocks; ++i) {
      Accumulator a[1];
      GateProducts<Layer, Policy>(work).template load<false>({channels(), false}, i, a);
      for_each_token(a[0], 0, 0, [&](float& x, int, int m8) { gates[m8].multiply(x); });
    }
  }

  /// The products of all tokens, of four lanes.
  template <class Total>
  GDR_DEVICE void put_out(ScaledProduct (&gates)[2], Total& total) const {
    const bool is_own = warp_ < Extents::channel_groups && lane_ % 4 == 0;
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
#pragma unroll
      for (int distance = 1; distance < 4; distance *= 2) {
        gates[m8].multiply(ScaledProduct{__shfl_xor_sync(full_warp, gates[m8].mantissa, distance),
                                         __shfl_xor_sync(full_warp, gates[m8].exponent, distance)});
      }
      if (is_own) total(first_column_ + 16 * warp_ + lane_ / 4 + 8 * m8, gates[m8]);
    }
  }

  TempStorage& storage_;
  int first_column_;
  int warp_;
  int lane_;
  ChunkState<Layer, Policy> state_;
};

GDR_NAMESPACE_END
