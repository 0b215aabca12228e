// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// S^T in the registers of a warp, and what a warp by itself does with it and a prepared chunk.

#include <gdr/block/chunk_work.cuh>

GDR_NAMESPACE_BEGIN

/// Outputs of 16 * Blocks tokens from first_token, of which `tokens` exist, and of 16 value
/// channels from first_column + first_channel, spread over the lanes of a warp.
template <class Extents, int Blocks>
struct ChunkOutput {
  int64_t first_token;
  int tokens;
  int first_channel;
  int lane;
  typename Extents::OutputStaging& staging;  // of the warp, for whatever use
  const Accumulator (&x)[Blocks];            // [channel][token]

  /// Calls use(token, channel, output), both counted from the first, for this lane's outputs.
  template <class Use>
  GDR_DEVICE void for_each(Use&& use) const {
#pragma unroll
    for (int b = 0; b < Blocks; ++b) {
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          use(16 * b + 8 * n8 + 2 * (lane % 4) + e % 2, lane / 4 + e / 2 * 8, x[b].c[n8][e]);
        }
      }
    }
  }
};

/// One of a block's state warps: 16 value channels and all key channels of S^T, as accumulators.
template <class Layer, class Policy>
class StateWarp {
 protected:
  using Extents = ChunkExtents<Layer, Policy>;
  using Operands = typename Extents::Operands;
  using Operand = typename Operands::A;
  using Storage = ChunkStorage<Extents>;
  using Prepared = PreparedChunk<Extents>;
  static constexpr GateAxis axis = Extents::axis;
  static constexpr int tokens = Extents::tokens;
  static constexpr int token_blocks = Extents::token_blocks;
  static constexpr int key_blocks = Extents::key_blocks;
  static constexpr int channel_groups = Extents::channel_groups;
  static constexpr bool has_idle_warps = channel_groups < Extents::tuning.state_warps;
  /// A warpgroup's products have the state in fixed registers. Unrolled loops over a wide one beside
  /// them, a warp's own products or loads, made the compiler keep it in others between the chunks,
  /// some of it in memory: 120 stores and 70 loads a chunk at 256 key channels. So it is in local
  /// memory for the time of these loops alone, and they stay loops.
  static constexpr bool parks_state = uses_warpgroups<Policy> && key_blocks > 10;
  static constexpr int own_unroll = parks_state ? 1 : key_blocks;

 public:
  GDR_DEVICE StateWarp(Storage& storage, int warp, int lane, bool split_operand)
      : storage_(storage), warp_(warp), lane_(lane), split_operand_(split_operand) {}

  /// Calls use(i, j, S_ij by reference) for this lane's elements; j counts from the block's first
  /// column.
  template <class Use>
  GDR_DEVICE void for_each(Use&& use) {
    constexpr int unroll = parks_state ? 8 : key_blocks;  // asked for together
    with_parked(*this, [&](StateWarp& self) {
#pragma unroll unroll
      for (int b = 0; b < key_blocks; ++b) {
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            use(16 * b + 8 * n8 + 2 * place() + e % 2, 16 * warp_ + group() + e / 2 * 8,
                self.state_[b].c[n8][e]);
          }
        }
      }
    });
  }

  /// Calls use(i, j, S_ij, S_i+1,j) likewise.
  template <class Use>
  GDR_DEVICE void for_each_pair(Use&& use) {
#pragma unroll
    for (int b = 0; b < key_blocks; ++b) {
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int m8 = 0; m8 < 2; ++m8) {
          use(16 * b + 8 * n8 + 2 * place(), 16 * warp_ + group() + 8 * m8, state_[b].c[n8][2 * m8],
              state_[b].c[n8][2 * m8 + 1]);
        }
      }
    }
  }

 protected:
  /// Calls use(the warp, with the state where loops over it may be).
  template <class Warp, class Use>
  static GDR_DEVICE void with_parked(Warp& warp, Use&& use) {
    if constexpr (parks_state) {
      Warp parked = warp;
      use(parked);
      StateWarp& home = warp;
      const StateWarp& end = parked;
#pragma unroll
      for (int b = 0; b < key_blocks; ++b) home.state_[b] = end.state_[b];
    } else {
      use(warp);
    }
  }
  GDR_DEVICE int group() const { return lane_ / 4; }
  GDR_DEVICE int place() const { return lane_ % 4; }
  /// Whether the warp has value channels. Where a head has few, some have none, and are there for
  /// the warpgroup's products.
  GDR_DEVICE bool has_channels() const { return !has_idle_warps || warp_ < channel_groups; }
  /// Whether the warp has nothing to do: neither channels nor products to take part in.
  GDR_DEVICE bool is_idle() const { return !uses_warpgroups<Policy> && !has_channels(); }
  /// Whose values and factors the warp takes: without channels of its own the last ones'.
  GDR_DEVICE int channel_group() const {
    return has_idle_warps ? min(warp_, channel_groups - 1) : warp_;
  }
  /// The first of this lane's two value channels in the block; the other is 8 after it.
  GDR_DEVICE int channel() const { return 16 * channel_group() + group(); }

  /// S^T += W^T K of a chunk with the values that the preparation left.
  GDR_DEVICE void write_values(const Prepared& chunk, int n, int valid) {
    bool multiplied = false;
    if constexpr (axis == GateAxis::head) {
      multiplied = chunk.mode != ChunkMode::divided;
      if (multiplied) scale_state(chunk.factors.from_start[tokens - 1]);
    }
#pragma unroll 1
    for (int t = 0; t < token_blocks && 16 * t < valid; ++t) {
      if constexpr (axis == GateAxis::head) {
        if (multiplied) {
          write(chunk.factors.decayed[channel_group()].load(t, lane_), n, t);
          continue;
        }
      }
      write(chunk.values[channel_group()].load(t, lane_), n, t);
    }
  }

  /// What the outputs of a chunk that is one span are to be multiplied by.
  GDR_DEVICE Accumulator output_factors(const Prepared& chunk, int block) const {
    if constexpr (axis == GateAxis::value) {  // with the outputs' scale
      return chunk.factors.products[channel_group()].load(block, lane_);
    } else {
      Accumulator scale;
      for_each_token(scale, 16 * block, place(),
                     [&](float& x, int t, int) { x = chunk.output_scale[t]; });
      return scale;
    }
  }
  /// The same of a chunk's first blocks.
  template <int Blocks>
  GDR_DEVICE void load_output_factors(const Prepared& chunk, Accumulator (&factors)[Blocks]) const {
#pragma unroll
    for (int b = 0; b < Blocks; ++b) factors[b] = output_factors(chunk, b);
  }

  /// o_t += p_ts w_s for one token s of the chunk and the tokens t >= s among those of `o`, which
  /// begin at first_t: where a product with scores masked to 0 would carry a NaN to earlier tokens.
  template <int Blocks>
  GDR_DEVICE void add_causally(const Prepared& chunk, int s, int first_t,
                               Accumulator (&o)[Blocks]) const {
    const Accumulator w =
        Operands::from_a(chunk.values[channel_group()].load(s / 16, lane_ / 4 * 4 + s % 8 / 2));
    float w_s[2];
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      const float even = s / 8 % 2 == 0 ? w.c[0][2 * m8] : w.c[1][2 * m8];
      const float odd = s / 8 % 2 == 0 ? w.c[0][2 * m8 + 1] : w.c[1][2 * m8 + 1];
      w_s[m8] = s % 2 == 0 ? even : odd;
    }
#pragma unroll
    for (int b = 0; b < Blocks; ++b) {
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int t = first_t + 16 * b + 8 * n8 + 2 * place() + e;
          if (t < s) continue;
          float p[1];
          Operands::load_row(chunk.scores, t, s, p);
          o[b].c[n8][e] = fmaf(p[0], w_s[0], o[b].c[n8][e]);
          o[b].c[n8][2 + e] = fmaf(p[0], w_s[1], o[b].c[n8][2 + e]);
        }
      }
    }
  }

  GDR_DEVICE void scale_outputs(const Prepared& chunk, int block, Accumulator& o) const {
    scale_tokens(o, 16 * block, place(), chunk.output_scale);
  }

  /// S^T Q^T of some blocks of 16 tokens.
  template <int Blocks>
  GDR_DEVICE void read(int n, int first_block, Accumulator (&o)[Blocks]) const {
#pragma unroll
    for (Accumulator& x : o) x.clear();
    const auto add = [&](bool rest) {
#pragma unroll own_unroll
      for (int b = 0; b < key_blocks; ++b) {
        Operand s = Operands::to_a(state_[b]);
        if (rest) s = Operands::rest(state_[b], s);
#pragma unroll
        for (int i = 0; i < Blocks; ++i) {
          Operands::multiply_add(o[i], s,
                                 Operands::load_b_transposed(
                                     storage_.q_operand(n), 16 * (first_block + i), 16 * b, lane_));
        }
      }
    };
    add(false);
    if (!GDR_LIKELY(!split_operand_)) add(true);
  }
  /// S^T += W^T K of 16 tokens.
  GDR_DEVICE void write(const Operand& w, int n, int t_block) {
#pragma unroll own_unroll
    for (int b = 0; b < key_blocks; ++b) {
      const auto k = Operands::load_b(storage_.k_operand(n), 16 * t_block, 16 * b, lane_);
      if constexpr (Extents::splits_keys) {
        // Added outside of the tensor core, which truncates: it would drift.
        Accumulator sum;
        sum.clear();
        Operands::multiply_add(sum, w, k);
        state_[b].add(sum);
      } else {
        Operands::multiply_add(state_[b], w, k);
      }
    }
  }

  /// Value gate, exact: o_t = b_t past_t + sums_t.
  GDR_DEVICE void finish_span(const Prepared& chunk, int block, Accumulator& o) const {
    const Accumulator b = chunk.factors.products[channel_group()].load(block, lane_);
    const Accumulator sums = Operands::from_a(chunk.sums[channel_group()].load(block, lane_));
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) o.c[n8][e] = fmaf(b.c[n8][e], o.c[n8][e], sums.c[n8][e]);
    }
  }
  /// And S <- b_t S with the last token of a span.
  GDR_DEVICE void scale_to_end(const Prepared& chunk, int block, int last) {
    const int place = Extents::prepared_place(block);
    const auto& lanes = chunk.factors.products[channel_group()].data[place][last / 8];
    const auto* const b = reinterpret_cast<const float*>(&lanes[group() * 4 + last % 8 / 2]);
    scale_state(b[last % 2], b[2 + last % 2]);
  }

  /// o_t <- x_t for the tokens t of a span.
  GDR_DEVICE void keep_span(int first, int span, const Accumulator& x, Accumulator& o) const {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int t = 8 * n8 + 2 * place() + e % 2;
        if ((t & -span) == first) o.c[n8][e] = x.c[n8][e];
      }
    }
  }
  static GDR_DEVICE void scale_rows(Accumulator& x, float upper, float lower) {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) x.c[n8][e] *= e < 2 ? upper : lower;
    }
  }
  /// S <- S times the gates' product: for the upper and the lower 8 value channels, one for all, or
  /// one for each value channel of the block or key channel.
  GDR_DEVICE void scale_state(float upper, float lower) {
#pragma unroll
    for (Accumulator& s : state_) scale_rows(s, upper, lower);
  }
  GDR_DEVICE void scale_state(float factor) { scale_state(factor, factor); }
  template <int Width>
  GDR_DEVICE void scale_state(const float (&factor)[Width]) {
    if constexpr (axis == GateAxis::value) {
      scale_state(factor[channel()], factor[channel() + 8]);
    } else {
#pragma unroll
      for (int b = 0; b < key_blocks; ++b) {
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
          const auto f = *reinterpret_cast<const float2*>(&factor[16 * b + 8 * n8 + 2 * place()]);
#pragma unroll
          for (int e = 0; e < 4; ++e) state_[b].c[n8][e] *= e % 2 == 0 ? f.x : f.y;
        }
      }
    }
  }

  Storage& storage_;
  int warp_;
  int lane_;
  bool split_operand_;
  Accumulator state_[key_blocks];
};

GDR_NAMESPACE_END
