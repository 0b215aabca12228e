// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The preparing part of the chunked form: what of a chunk does not depend on the state, that is
/// scores q k^T, gate products and weighted values.

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

/// Works with 32 * prepare_warps threads that call each method together.
template <class Layer, class Policy>
class ChunkPreparer {
  using Extents = ChunkExtents<Layer, Policy>;
  using Operands = typename Extents::Operands;
  using Operand = typename Operands::A;
  using Storage = ChunkStorage<Extents>;
  using Prepared = PreparedChunk<Extents>;
  using Element = typename Layer::Element;
  using Stored = typename Extents::Stored;
  using GateElement = typename Layer::GateElement;
  using QTile = typename Storage::template Tile<Extents::key_width>;
  static constexpr GateAxis axis = Extents::axis;
  static constexpr int tokens = Extents::tokens;
  static constexpr int token_blocks = Extents::token_blocks;
  static constexpr int key_width = Extents::key_width;
  static constexpr int warps = Extents::tuning.prepare_warps;
  static constexpr int threads = Extents::prepare_threads;

 public:
  /// `thread`: 0 .. 32 * prepare_warps.
  GDR_DEVICE ChunkPreparer(Storage& storage, const Span<Layer>& span, int first_column, int thread)
      : storage_(storage),
        span_(span),
        first_column_(first_column),
        thread_(thread),
        warp_(thread / 32),
        lane_(thread % 32) {
    if constexpr (uses_warpgroups<Layer, Policy>) {
      // Blocks of scores with s > t: read, and not written again.
      for (int i = thread; i < 2 * tokens * tokens; i += threads) {
        const int t = i / tokens % tokens, s = i % tokens;
        if (s / 16 > t / 16) {
          storage_.prepared[i / (tokens * tokens)].scores.at(t, s) =
              from_float<typename Extents::Stored>(0.0f);
        }
      }
    }
    for (int t = thread; t < tokens; t += threads) {
      for (auto& prepared : storage_.prepared) prepared.output_scale[t] = span.scale;
    }
    if constexpr (axis == GateAxis::value) {
      for (int c = thread; c < Extents::columns; c += threads) {
        storage_.scratch.leave[1][c] = 1.0f;
        storage_.scratch.total[0][c] = storage_.scratch.total[1][c] = {};
      }
    } else if constexpr (axis == GateAxis::key) {
      for (int c = thread; c < key_width; c += threads) {
        storage_.scratch.leave[1][c] = 1.0f;
        storage_.scratch.total[c] = {};
      }
    } else if constexpr (axis == GateAxis::head) {
      if (thread == 0) storage_.scratch.total = {};
    }
  }

  /// Prepares chunk n, which is in shared memory.
  GDR_DEVICE void prepare(int n) {
    forget_places();
    Prepared& prepared = storage_.prepared[n % 2];
    if (!GDR_LIKELY(!span_.qk_l2norm)) measure_rows(n);
    ChunkMode mode = ChunkMode::divided;
    if constexpr (axis == GateAxis::key) mode = weigh_keys(n);
    if constexpr (axis == GateAxis::head) make_decays(n, prepared);
    if constexpr (axis == GateAxis::key && uses_warpgroups<Layer, Policy>) publish_to_async_proxy();
    if (axis == GateAxis::key || axis == GateAxis::head || span_.qk_l2norm) meet();
    mode = weigh_values(n, mode);
    if (thread_ == 0) prepared.mode = mode;
    const bool made_with_weights = axis == GateAxis::key && mode == ChunkMode::exact;
    if (!made_with_weights && !span_.only_state) {
#pragma unroll
      for (int block = 0; block < token_blocks; block += warps) {
        if (block + warp_ < token_blocks) make_scores(n, block + warp_);
      }
    }
    if constexpr (uses_warpgroups<Layer, Policy>) publish_to_async_proxy();
  }

 private:
  /// Addresses depend on the thread's number alone. They are to be made anew in each chunk: made
  /// once, they would take more registers than there are.
  GDR_DEVICE void forget_places() {
    thread_ = opaque(thread_);
    warp_ = static_cast<unsigned>(thread_) / 32;
    lane_ = static_cast<unsigned>(thread_) % 32;
  }

  static GDR_DEVICE void meet() { sync_threads<barrier_prepare, threads>(); }
  /// Whether any of the preparing threads says so; they also meet.
  GDR_DEVICE bool any_of_threads(bool mine) {
    // Two sets in turn: one may still be read when the next vote begins.
    int(&votes)[warps] = storage_.votes[vote_];
    vote_ ^= 1;
    const bool any_of_warp = __any_sync(full_warp, mine) != 0;
    if (lane_ == 0) votes[warp_] = any_of_warp;
    meet();
    int any = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) any |= votes[w];
    return any != 0;
  }
  GDR_DEVICE int group() const { return static_cast<unsigned>(lane_) / 4; }
  GDR_DEVICE int place() const { return static_cast<unsigned>(lane_) % 4; }

  GDR_DEVICE int valid_tokens(int n) const { return tokens_of_tile<tokens>(span_, n); }

  GDR_DEVICE float factor(float raw, int channel) const {
    return chunk_factor(span_, raw, channel);
  }

  /// 1 / sqrt(sum x^2 + eps) of the rows of q and k, a warp a row.
  GDR_DEVICE void measure_rows(int n) {
    for (int row = warp_; row < 2 * tokens; row += warps) {
      const int t = row % tokens;
      const auto& tile =
          row < tokens ? storage_.q[n % Extents::key_stages] : storage_.k[n % Extents::key_stages];
      const float inverse = inverse_norm(key_width, span_.qk_l2norm_eps, lane_,
                                         [&](int c) { return to_float(tile.at(t, c)); });
      if (row < tokens) {
        storage_.prepared[n % 2].output_scale[t] = span_.scale * inverse;
      } else {
        storage_.inverse_norm_k[t] = inverse;
      }
    }
  }

  template <class Tile>
  GDR_DEVICE void multiply_scores(const Tile& q, const Tile& k, int t_block,
                                  Accumulator (&p)[token_blocks]) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    using Together = WarpgroupProducts<Layer, Policy>;
    constexpr bool together = uses_warpgroups<Layer, Policy> && Together::has_scores;
    if constexpr (together) Together::scores(q, k, p);
#else
    constexpr bool together = false;
#endif
    if constexpr (!together) {
#pragma unroll 2
      for (int i = 0; i < key_width; i += 16) {
        const Operand a = Operands::load_a(q, 16 * t_block, i, lane_);
#pragma unroll
        for (int s = 0; s < token_blocks; ++s) {
          if (s > t_block) break;
          Operands::multiply_add(p[s], a, Operands::load_b_transposed(k, 16 * s, i, lane_));
        }
      }
    }
  }

  /// scores[t][s] = q_t . k_s for s <= t, else 0, of 16 tokens t; under a head gate times the gates
  /// after s up to and with t.
  GDR_DEVICE void make_scores(int n, int t_block) {
    const auto& q = storage_.q[n % Extents::key_stages];
    const auto& k = storage_.k[n % Extents::key_stages];
    auto& scores = storage_.prepared[n % 2].scores;
    Accumulator p[token_blocks];
#pragma unroll
    for (Accumulator& x : p) x.clear();
    multiply_scores(q, k, t_block, p);
    const int lane_offset =
        stdx::remove_reference_t<decltype(scores)>::offset(group(), 2 * place());
#pragma unroll
    for (int s_block = 0; s_block < token_blocks; ++s_block) {
      if (s_block > t_block) break;
      if constexpr (axis == GateAxis::head) decay_scores(t_block, s_block, p[s_block]);
      if (s_block == t_block) {
        // By select: a score that is not finite must not reach an earlier token.
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int t = group() + e / 2 * 8, s = 8 * n8 + 2 * place() + e % 2;
            if (s > t) p[s_block].c[n8][e] = 0.0f;
          }
        }
      }
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int m8 = 0; m8 < 2; ++m8) {
          Operands::store_pair(
              &scores.at(16 * t_block + 8 * m8, 16 * s_block + 8 * n8, lane_offset),
              p[s_block].c[n8][2 * m8], p[s_block].c[n8][2 * m8 + 1]);
        }
      }
    }
  }

  /// Head gate: scores of two blocks of tokens times the gates after s up to and with t.
  GDR_DEVICE void decay_scores(int t_block, int s_block, Accumulator& p) const {
    const auto& scratch = storage_.scratch;
    const auto pair = [](const float* at) { return *reinterpret_cast<const float2*>(at); };
    float between = 1.0f;
    for (int b = s_block + 1; b < t_block; ++b)
      between = gate_product(between, scratch.whole_block[b]);
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      const int t = 16 * t_block + 8 * m8 + group();
      const float up_to_t = gate_product(between, scratch.from_block[t]);
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
        const int s = 8 * n8 + 2 * place();
        float2 d;
        if (s_block == t_block) {
          d = pair(&scratch.within[t][s]);
        } else {
          d = pair(&scratch.to_block_end[16 * s_block + s]);
          d = make_float2(gate_product(d.x, up_to_t), gate_product(d.y, up_to_t));
        }
        p.c[n8][2 * m8] *= d.x;
        p.c[n8][2 * m8 + 1] *= d.y;
      }
    }
  }

  /// Elements (channel 16 c + g (+ 8), token 16 b + 2 p (+ 1, + 8, + 9)) of a tile [t][channel].
  template <class Tile>
  GDR_DEVICE Accumulator load_by_channel(const Tile& tile, int t_block, int c) const {
    using T = stdx::remove_cv_t<stdx::remove_reference_t<decltype(tile.data[0])>>;
    Accumulator x;
    if constexpr (sizeof(T) == 2) {
      const auto a = Bfloat16Operands::load_a_transposed(tile, 16 * t_block, 16 * c, lane_);
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        PackedVector<T, 2> pair;
        pair.word[0] = a.r[r];
        x.c[r / 2][r % 2 * 2] = pair.get(0);
        x.c[r / 2][r % 2 * 2 + 1] = pair.get(1);
      }
    } else {
      x = Tf32Operands<false>::from_a(
          Tf32Operands<false>::load_a_transposed(tile, 16 * t_block, 16 * c, lane_));
    }
    return x;
  }

  /// Values of 16 channels and 16 tokens, [channel][token].
  GDR_DEVICE Accumulator load_values(int n, int c, int block) const {
    Accumulator v = load_by_channel(storage_.v[n % Extents::value_stages], block, c);
    if (!GDR_LIKELY(!span_.qk_l2norm)) {
      for_each_token(v, block, [&](float& x, int t, int) { x *= storage_.inverse_norm_k[t]; });
    }
    return v;
  }
  /// Value gates of 16 channels and some blocks of tokens, as factors or, `AsLogs`, their
  /// logarithms.
  template <bool AsLogs, int Blocks>
  GDR_DEVICE void load_gates(int n, int c, int first_block, Accumulator (&a)[Blocks]) const {
    const int first = first_column_ + 16 * c + group();
    const int last = span_.value_dim - 1;
    // Asked for channels of the tensor alone: the function may index parameters with them.
    const int channel[2] = {min(first, last), min(first + 8, last)};
#pragma unroll
    for (int i = 0; i < Blocks; ++i) {
      a[i] = load_by_channel(storage_.scratch.gate[n % Extents::value_stages], first_block + i, c);
      for_each_token(a[i], 0, [&](float& x, int, int m8) {
        x = AsLogs ? span_.gate_function(x, span_.head, channel[m8]) : factor(x, channel[m8]);
      });
    }
    const int valid = valid_tokens(n);
    if (GDR_LIKELY(valid == tokens && first_column_ + 16 * c + 16 <= span_.value_dim)) return;
#pragma unroll
    for (int i = 0; i < Blocks; ++i) {
      for_each_token(a[i], first_block + i, [&](float& x, int t, int m8) {
        if (t >= valid || first + 8 * m8 > last) x = AsLogs ? 0.0f : 1.0f;
      });
    }
  }
  /// Calls use(x, token in the chunk, upper or lower half of the channels) for a fragment of a
  /// block of tokens.
  template <class Use>
  GDR_DEVICE void for_each_token(Accumulator& x, int block, Use&& use) const {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        use(x.c[n8][e], 16 * block + 8 * n8 + 2 * place() + e % 2, e / 2);
      }
    }
  }

  // --- Values, in items of 16 channels and half a chunk: before its centre, and after it. ---

  static constexpr int centre_block = Extents::centre_block;
  static constexpr int half_blocks = token_blocks - centre_block;
  static constexpr int halves =
      centre_block > 0 ? 2 : 1;  // a chunk of one block is after its centre
  static constexpr int items = halves * Extents::channel_groups;
  static constexpr int items_per_warp = (items + warps - 1) / warps;

  struct Item {
    int group;
    bool second_half;
    GDR_DEVICE int first_block() const { return second_half ? centre_block : 0; }
  };
  GDR_DEVICE Item item(int i) const {
    const int number = i * warps + warp_;
    return {number / halves, number % halves == halves - 1};
  }
  GDR_DEVICE bool exists(const Item& item) const { return item.group < Extents::channel_groups; }

  /// Makes the weighted values of chunk n, and says how the state is to go through it.
  GDR_DEVICE ChunkMode weigh_values(int n, ChunkMode mode) {
    if constexpr (axis == GateAxis::value) {
      WeightedValues weighted[items_per_warp];
      bool in_range = true;
#pragma unroll
      for (int i = 0; i < items_per_warp; ++i) {
        if (exists(item(i))) in_range = weigh(n, item(i), weighted[i]) && in_range;
      }
      if (any_of_threads(!in_range)) mode = ChunkMode::exact;
#pragma unroll
      for (int i = 0; i < items_per_warp; ++i) {
        if (!exists(item(i))) continue;
        if (GDR_LIKELY(mode == ChunkMode::divided)) {
          store(n, item(i), weighted[i]);
        } else {
          store_unweighted(n, item(i));
        }
      }
      return mode;
    } else {
      float zero = 0.0f;
#pragma unroll
      for (int i = 0; i < items_per_warp; ++i) {
        if (exists(item(i))) store_plain(n, item(i), zero);
      }
      const bool finite = !any_of_threads(!(zero == 0.0f));
      return finite || mode == ChunkMode::exact ? mode : ChunkMode::causal;
    }
  }

  /// Other axes: the values as they are, and under a head gate also times the gates after them.
  /// `zero` becomes NaN where one is not finite.
  GDR_DEVICE void store_plain(int n, const Item& item, float& zero) {
    Prepared& prepared = storage_.prepared[n % 2];
#pragma unroll
    for (int i = 0; i < half_blocks; ++i) {
      const int b = item.first_block() + i;
      Accumulator v = load_values(n, item.group, b);
      for_each_token(v, b, [&](float& x, int, int) { zero = fmaf(x, 0.0f, zero); });
      prepared.values[item.group].store(b, lane_, Operands::to_a(v));
      if constexpr (axis == GateAxis::head) {
        for_each_token(v, b, [&](float& x, int t, int) { x *= storage_.scratch.to_end[t]; });
        prepared.factors.decayed[item.group].store(b, lane_, Operands::to_a(v));
      }
    }
  }

  /// Value gate: w_s = v_s / r_s with r_s the gate product outward from the chunk's centre.
  struct WeightedValues {
    Operand w[half_blocks];
    Accumulator products[half_blocks];  // r_t times the outputs' scale
    float whole[2];                     // the half's product, by upper and lower channels
    float due[2];                       // what the chunk before left to multiply the state by
  };

  /// Whether the products may be divided by, in this warp's part.
  GDR_DEVICE bool weigh(int n, const Item& item, WeightedValues& weighted) {
    Accumulator(&product)[half_blocks] = weighted.products;  // first the gates
    load_due(n, item, weighted.due);
    load_gates<by_logs>(n, item.group, item.first_block(), product);
    if (item.second_half) {
      multiply_up_to<true>(product, weighted.whole);
    } else if constexpr (halves == 2) {
      multiply_up_to<false>(product, weighted.whole);
    }
    if constexpr (by_logs) {
#pragma unroll
      for (int i = 0; i < half_blocks; ++i) {
        for_each_token(product[i], 0, [](float& x, int, int) { x = expf(x); });
      }
      for (float& whole : weighted.whole) whole = expf(whole);
    }
    DivisionRange range;
    range.add(weighted.whole[0]);
    range.add(weighted.whole[1]);
#pragma unroll
    for (int i = 0; i < half_blocks; ++i) {
      const int b = item.first_block() + i;
      Accumulator v = load_values(n, item.group, b);
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& r = product[i].c[n8][e];
          range.add(r);
          const float inverse = fast_reciprocal(r);
          v.c[n8][e] *= item.second_half ? inverse : r;
          range.add_scaled(v.c[n8][e]);
          if (!item.second_half) r = inverse;
        }
      }
      weighted.w[i] = Operands::to_a(v);
    }
    const auto& scales = storage_.prepared[n % 2].output_scale;
    const bool one_scale = !span_.qk_l2norm;
#pragma unroll
    for (int i = 0; i < half_blocks; ++i) {
      if (GDR_LIKELY(one_scale)) {
        for_each_token(product[i], 0, [&](float& r, int, int) { r *= span_.scale; });
      } else {
        for_each_token(product[i], item.first_block() + i,
                       [&](float& r, int t, int) { r *= scales[t]; });
      }
    }
    return range.holds();
  }

  /// Float32 products are the exponentials of sums: a product of rounded factors would drift, as a
  /// constant gate is rounded the same way at every token (1.6e-5 at log -0.001, 1024 tokens).
  static constexpr bool by_logs = compensated_decay<Layer>;
  static GDR_DEVICE float combine(float x, float y) { return by_logs ? x + y : x * y; }

  /// Gates to products: of the tokens after one up to the half's end, or, `Forward`, from the
  /// half's start up to and with a token.
  template <bool Forward>
  GDR_DEVICE void multiply_up_to(Accumulator (&product)[half_blocks], float (&whole)[2]) const {
    constexpr int eights = 2 * half_blocks;
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      float base = by_logs ? 0.0f : 1.0f;
#pragma unroll
      for (int i = 0; i < eights; ++i) {
        const int eight = Forward ? i : eights - 1 - i;
        float* const pair = &product[eight / 2].c[eight % 2][2 * m8];
        const QuadProducts quad(combine(pair[0], pair[1]), place());
        if (Forward) {
          pair[0] = combine(pair[0], combine(base, quad.before));
          pair[1] = combine(pair[1], pair[0]);
        } else {
          const float second = pair[1];
          pair[1] = combine(base, quad.after);
          pair[0] = combine(pair[1], second);
        }
        base = combine(base, quad.all);
      }
      whole[m8] = base;
    }
  }

  GDR_DEVICE void store(int n, const Item& item, const WeightedValues& weighted) {
    Prepared& prepared = storage_.prepared[n % 2];
#pragma unroll
    for (int i = 0; i < half_blocks; ++i) {
      const int b = item.first_block() + i;
      prepared.values[item.group].store(b, lane_, weighted.w[i]);
      prepared.factors.products[item.group].store(b, lane_, weighted.products[i]);
    }
    store_whole(n, item, weighted.whole, weighted.due);
    if (span_.only_state && place() == 0) {
      total(item, 0).multiply(weighted.whole[0]);
      total(item, 1).multiply(weighted.whole[1]);
    }
  }
  /// Values and gates, for a chunk that is gone through exactly.
  GDR_DEVICE void store_unweighted(int n, const Item& item) {
    Prepared& prepared = storage_.prepared[n % 2];
#pragma unroll 1
    for (int i = 0; i < half_blocks; ++i) {
      const int b = item.first_block() + i;
      Accumulator gates[1];
      load_gates<false>(n, item.group, b, gates);
      prepared.values[item.group].store(b, lane_, Operands::to_a(load_values(n, item.group, b)));
      prepared.factors.products[item.group].store(b, lane_, gates[0]);
    }
    float due[2];
    load_due(n, item, due);
    store_whole(n, item, {1.0f, 1.0f}, due);
    if (!span_.only_state) return;
#pragma unroll 1
    for (int i = 0; i < half_blocks; ++i) {
      Accumulator gates[1];
      load_gates<false>(n, item.group, item.first_block() + i, gates);
#pragma unroll 1
      for (int lane = 0; lane < 4; ++lane) {  // of the four lanes that have the channels' gates
        for_each_token(gates[0], 0, [&](float& x, int, int m8) {
          const float gate = __shfl_sync(full_warp, x, lane, 4);
          if (place() == 0) total(item, m8).multiply(gate);
        });
      }
    }
  }
  GDR_DEVICE ScaledProduct& total(const Item& item, int m8) {
    return storage_.scratch.total[item.second_half][16 * item.group + group() + 8 * m8];
  }
  GDR_DEVICE void load_due(int n, const Item& item, float (&due)[2]) const {
    const float* const leave = &storage_.scratch.leave[(n + 1) % 2][16 * item.group + group()];
    due[0] = leave[0];
    due[1] = leave[8];
  }
  /// What the state is to be multiplied by before the chunk, with what is due from the one before;
  /// and after it.
  GDR_DEVICE void store_whole(int n, const Item& item, const float (&whole)[2],
                              const float (&due)[2]) {
    if (place() != 0) return;
    float* const enter = storage_.prepared[n % 2].factors.enter;
    float* const leave = storage_.scratch.leave[n % 2];
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      const int j = 16 * item.group + group() + 8 * m8;
      if (item.second_half) leave[j] = whole[m8];
      if (!item.second_half) enter[j] = due[m8] * whole[m8];
      if (halves == 1) enter[j] = due[m8];
    }
  }

  /// Products over the four lanes of a group.
  struct QuadProducts {
    float before;  // of the lanes before this one
    float after;
    float all;

    GDR_DEVICE QuadProducts(float x, int place) {
      constexpr float one = by_logs ? 0.0f : 1.0f;
      const float neighbour = __shfl_xor_sync(full_warp, x, 1);
      const float two = combine(x, neighbour);
      const float other_two = __shfl_xor_sync(full_warp, two, 2);
      before = combine(place & 1 ? neighbour : one, place & 2 ? other_two : one);
      after = combine(place & 1 ? one : neighbour, place & 2 ? one : other_two);
      all = place & 2 ? combine(other_two, two) : combine(two, other_two);
    }
  };

  /// Head gate: products by blocks of 16 tokens, then over the chunk.
  GDR_DEVICE void make_decays(int n, Prepared& prepared) {
    auto& scratch = storage_.scratch;
    const float(&gates)[tokens] = scratch.gate[n % 2];
    const int block = thread_ / 16, s = thread_ % 16;
    if (thread_ < tokens) {
      float from_block = 1.0f, after = 1.0f;
#pragma unroll
      for (int t = 0; t < 16; ++t) {
        const float gate = gates[16 * block + t];
        if (t > s) after = gate_product(after, gate);
        if (t <= s) from_block = gate_product(from_block, gate);
        scratch.within[16 * block + t][s] = after;  // t < s: not used
      }
      scratch.to_block_end[thread_] = after;
      scratch.from_block[thread_] = from_block;
      if (s == 15) scratch.whole_block[block] = from_block;
    }
    meet();
    if (thread_ < tokens) {
      float before = scratch.from_block[thread_], after = scratch.to_block_end[thread_];
#pragma unroll
      for (int b = 0; b < token_blocks; ++b) {
        if (b < block) before = gate_product(before, scratch.whole_block[b]);
        if (b > block) after = gate_product(after, scratch.whole_block[b]);
      }
      prepared.factors.from_start[thread_] = before;
      scratch.to_end[thread_] = after;
    }
    if (span_.only_state && thread_ == 0) {
      for (int t = 0; t < tokens; ++t) scratch.total.multiply(gates[t]);
    }
  }

  // --- Key gate. A thread has two channels of 16 tokens, a segment. ---

  static constexpr int key_pairs = key_width / 2;

  struct KeyPiece {
    int channel;
    int segment;
    bool exists;
  };
  GDR_DEVICE KeyPiece key_piece() const {
    static_assert(axis != GateAxis::key || key_pairs * token_blocks <= threads,
                  "gdr: ChunkedTuning::prepare_warps is too small for the key gate of this extent");
    const int segment = thread_ / key_pairs;
    return {thread_ % key_pairs * 2, segment, segment < token_blocks};
  }
  /// Two neighbouring elements of a tile.
  template <class Tile>
  static GDR_DEVICE float2 load_pair(const Tile& tile, int row, int lane_row, int column) {
    using T = stdx::remove_cv_t<stdx::remove_reference_t<decltype(tile.data[0])>>;
    PackedVector<T, 2> pair;
    memcpy(pair.word, &tile.at(row, 0, Tile::offset(lane_row, column)), sizeof(pair.word));
    return make_float2(pair.get(0), pair.get(1));
  }
  /// Factors of token t + lane_t; the latter is the part that differs between threads. `whole`: the
  /// chunk and the channels all exist.
  GDR_DEVICE float2 key_factors(int n, int t, int channel, int lane_t, bool whole) const {
    const float2 raw =
        load_pair(storage_.scratch.gate[n % Extents::value_stages], t, lane_t, channel);
    const int last = span_.key_dim - 1;
    float2 a =
        make_float2(factor(raw.x, min(channel, last)), factor(raw.y, min(channel + 1, last)));
    if (!whole) {
      const bool valid = t + lane_t < valid_tokens(n);
      if (!valid || channel > last) a.x = 1.0f;
      if (!valid || channel + 1 > last) a.y = 1.0f;
    }
    return a;
  }
  GDR_DEVICE float2 key_factors(int n, int t, int channel) const {
    return key_factors(n, 0, channel, t, false);
  }
  static GDR_DEVICE float2 product(float2 x, float2 y) { return make_float2(x.x * y.x, x.y * y.y); }

  /// q and k weighted in place: by division where the range allows it.
  GDR_DEVICE ChunkMode weigh_keys(int n) {
    Prepared& prepared = storage_.prepared[n % 2];
    auto& scratch = storage_.scratch;
    const KeyPiece piece = key_piece();
    const int first = 16 * piece.segment;
    const bool after_centre = piece.segment >= centre_block;
    float2 products[16];  // first the gates
    if (piece.exists) {
      if (GDR_LIKELY(valid_tokens(n) == tokens && span_.key_dim == key_width)) {
#pragma unroll
        for (int t = 0; t < 16; ++t) {
          products[t] = key_factors(n, t, piece.channel, first, true);
        }
      } else {
#pragma unroll
        for (int t = 0; t < 16; ++t) {
          products[t] = key_factors(n, t, piece.channel, first, false);
        }
      }
      // Outward from the centre: up to and with a token, or of those after it.
      float2 running = make_float2(1.0f, 1.0f);
      if (after_centre) {
#pragma unroll
        for (int t = 0; t < 16; ++t) products[t] = running = product(running, products[t]);
      } else {
#pragma unroll
        for (int t = 15; t >= 0; --t) {
          const float2 gate = products[t];
          products[t] = running;
          running = product(running, gate);
        }
      }
      *reinterpret_cast<float2*>(&scratch.segment[piece.segment][piece.channel]) = running;
    }
    meet();
    DivisionRange range;
    if (piece.exists) {
      float2 base = make_float2(1.0f, 1.0f);
      const auto segment = [&](int s) {
        return *reinterpret_cast<const float2*>(&scratch.segment[s][piece.channel]);
      };
      for (int s = centre_block; s < piece.segment; ++s) base = product(base, segment(s));
      for (int s = centre_block - 1; s > piece.segment; --s) base = product(base, segment(s));
      const float2 whole = product(base, segment(piece.segment));
      range.add(whole.x);
      range.add(whole.y);
      const int lane_offset = QTile::offset(first, piece.channel);
#pragma unroll
      for (int t = 0; t < 16; ++t) {
        const float2 along = product(base, products[t]);
        const float2 inverse = make_float2(fast_reciprocal(along.x), fast_reciprocal(along.y));
        Stored* const q_at = &storage_.q[n % Extents::key_stages].at(t, 0, lane_offset);
        Stored* const k_at = &storage_.k[n % Extents::key_stages].at(t, 0, lane_offset);
        const float2 q = product(Operands::load_pair(q_at), after_centre ? along : inverse);
        const float2 k = product(Operands::load_pair(k_at), after_centre ? inverse : along);
        Operands::store_pair(q_at, q.x, q.y);
        Operands::store_pair(k_at, k.x, k.y);
        range.add(along.x);
        range.add(along.y);
        range.add_scaled(q.x);
        range.add_scaled(q.y);
        range.add_scaled(k.x);
        range.add_scaled(k.y);
      }
    }
    const bool exact = any_of_threads(!range.holds());
    if (span_.only_state && piece.exists && piece.segment == 0) {
      for (int e = 0; e < 2; ++e) {
        ScaledProduct& total = scratch.total[piece.channel + e];
        if (exact) {
          for (int t = 0; t < tokens; ++t) {
            const float2 a = key_factors(n, t, piece.channel);
            total.multiply(e == 0 ? a.x : a.y);
          }
        } else {
          for (int s = 0; s < token_blocks; ++s) {
            total.multiply(scratch.segment[s][piece.channel + e]);
          }
        }
      }
    }
    if (exact) {
      reload_keys(n);
      weigh_keys_exactly(n, piece);
      return ChunkMode::exact;
    }
    if (piece.segment == 0) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int i = piece.channel + e;
        float enter = scratch.leave[(n + 1) % 2][i], leave = 1.0f;
#pragma unroll
        for (int s = 0; s < token_blocks; ++s) {
          (s < centre_block ? enter : leave) *= scratch.segment[s][i];
        }
        prepared.factors.enter[i] = enter;
        scratch.leave[n % 2][i] = leave;
      }
    }
    return ChunkMode::divided;
  }

  /// q and k of chunk n anew, as they were before they were weighted.
  GDR_DEVICE void reload_keys(int n) {
    const int64_t first = int64_t{n} * tokens;
    const auto from = [&](const Rows<const Element>& rows) {
      return Rows<const Element>{rows.data + first * rows.time_stride, rows.time_stride};
    };
    if (warp_ < 2) {
      ChunkLoader<Element, QTile>::load(
          warp_ == 0 ? storage_.q[n % Extents::key_stages] : storage_.k[n % Extents::key_stages],
          from(warp_ == 0 ? span_.q : span_.k), valid_tokens(n), span_.key_dim, lane_);
      commit_copies();
      wait_for_copies<0>();
    }
    meet();
  }

  /// The same without division, for spans of at most 16 tokens: q times the gates from the span's
  /// start, k times the gates to its end, and scores with the gates between.
  GDR_DEVICE void weigh_keys_exactly(int n, const KeyPiece& piece) {
    Prepared& prepared = storage_.prepared[n % 2];
    const int first = 16 * piece.segment;
    int span = 16;
    for (; span > 2; span /= 2) {
      bool too_long = false;
      if (piece.exists) {
        int weight[2] = {0, 0};
        for (int t = 0; t < 16; ++t) {
          if ((t & (span - 1)) == 0) weight[0] = weight[1] = 0;
          const float2 a = key_factors(n, first + t, piece.channel);
          weight[0] += gate_weight(a.x);
          weight[1] += gate_weight(a.y);
          too_long = too_long || weight[0] > max_span_weight || weight[1] > max_span_weight;
        }
      }
      if (!any_of_threads(too_long)) break;
    }
    for (int block = warp_; block < token_blocks && !span_.only_state; block += warps) {
      make_scores_exactly(n, block, span);
    }
    meet();
    if (!piece.exists) return;
    const int span_bits = 31 - __clz(span);
    float2 from_start = make_float2(1.0f, 1.0f);
    for (int t = first; t < first + 16; ++t) {
      if ((t & (span - 1)) == 0) from_start = make_float2(1.0f, 1.0f);
      const float2 gate = key_factors(n, t, piece.channel);
      from_start =
          make_float2(gate_product(from_start.x, gate.x), gate_product(from_start.y, gate.y));
      const float2 q =
          product(load_pair(storage_.q[n % Extents::key_stages], 0, t, piece.channel), from_start);
      Operands::store_pair(&storage_.q[n % Extents::key_stages].at(t, piece.channel), q.x, q.y);
      if ((t & (span - 1)) == span - 1) {
        *reinterpret_cast<float2*>(&prepared.factors.leave[t >> span_bits][piece.channel]) =
            from_start;
      }
    }
    float2 to_end = make_float2(1.0f, 1.0f);
    for (int t = first + 15; t >= first; --t) {
      if ((t & (span - 1)) == span - 1) to_end = make_float2(1.0f, 1.0f);
      const float2 k =
          product(load_pair(storage_.k[n % Extents::key_stages], 0, t, piece.channel), to_end);
      Operands::store_pair(&storage_.k[n % Extents::key_stages].at(t, piece.channel), k.x, k.y);
      const float2 gate = key_factors(n, t, piece.channel);
      to_end = make_float2(gate_product(to_end.x, gate.x), gate_product(to_end.y, gate.y));
    }
    if (piece.segment == 0) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int i = piece.channel + e;
        prepared.factors.enter[i] = storage_.scratch.leave[(n + 1) % 2][i];
        storage_.scratch.leave[n % 2][i] = 1.0f;
      }
    }
    if (thread_ == 0) prepared.span = span;
  }

  /// Scores of a block of 16 tokens with itself, each with the gates between its two tokens. Lanes
  /// 0 to 15 have a token s each and the even channels, lanes 16 to 31 the odd ones.
  GDR_DEVICE void make_scores_exactly(int n, int block, int span) {
    const int s = lane_ % 16;
    float p[16];
#pragma unroll
    for (int t = 0; t < 16; ++t) p[t] = 0;
    for (int i = lane_ / 16; i < key_width; i += 2) {
      float decayed_k = to_float(storage_.k[n % Extents::key_stages].at(16 * block + s, i));
#pragma unroll
      for (int t = 0; t < 16; ++t) {
        const float2 a = key_factors(n, 16 * block + t, i / 2 * 2);
        if (t > s) decayed_k *= i % 2 == 0 ? a.x : a.y;
        if (t >= s)
          p[t] = fmaf(to_float(storage_.q[n % Extents::key_stages].at(16 * block + t, i)),
                      decayed_k, p[t]);
      }
    }
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      p[t] += __shfl_xor_sync(full_warp, p[t], 16);
      const bool together = t >= s && (t & -span) == (s & -span);
      if (lane_ < 16) {
        storage_.prepared[n % 2].scores.at(16 * block + t, 16 * block + s) =
            from_float<typename Extents::Stored>(together ? p[t] : 0.0f);
      }
    }
  }

  Storage& storage_;
  const Span<Layer>& span_;
  int first_column_;
  int thread_;
  int warp_;
  int lane_;
  int vote_ = 0;
};

GDR_NAMESPACE_END
