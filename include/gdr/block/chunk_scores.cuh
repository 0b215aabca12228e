// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Scores of a chunk, P = Q K^T with zeros above the diagonal, by four warps: 16 tokens t each.

#include <gdr/block/chunk_work.cuh>

GDR_NAMESPACE_BEGIN

template <class Layer, class Policy>
class ChunkScores {
  using Extents = ChunkExtents<Layer, Policy>;
  using Operands = typename Extents::Operands;
  using Storage = ChunkStorage<Extents>;
  static constexpr GateAxis axis = Extents::axis;
  static constexpr int token_blocks = Extents::token_blocks;

 public:
  /// They work together.
  static constexpr int warps = 4;
  static_assert(token_blocks <= warps, "16 tokens a warp");

  GDR_DEVICE ChunkScores(Storage& storage, int warp, int lane)
      : storage_(storage), warp_(warp), lane_(lane) {}

  /// Of chunk n, whose mode counts under a head gate: scores[t][s] = q_t . k_s for s <= t, else 0;
  /// where a head gate is multiplied along, times the gates after s up to and with t. Of exact chunks
  /// also those of each 16 tokens with themselves in float, `with_diagonal`.
  GDR_DEVICE void make(int n, ChunkMode mode, bool with_diagonal = false) {
    lane_ = opaque(lane_);  // as in ChunkWork::begin
    Accumulator p[token_blocks];
    multiply(storage_.q_operand(n), storage_.k_operand(n), p);
    auto& scores = storage_.prepared[n % 2].scores;
    if constexpr (stacks_parts) add_low_rows(scores, p);
    if (warp_ >= token_blocks) return;
#pragma unroll
    for (int s_block = 0; s_block < token_blocks; ++s_block) {
      if constexpr (axis == GateAxis::head) {
        if (!GDR_LIKELY(mode == ChunkMode::divided) && s_block <= warp_) decay(s_block, p[s_block]);
      }
      // With the blocks above the diagonal, which a warpgroup multiplies with, too.
      const auto block = Operands::lower_triangle(p[s_block], warp_ - s_block, lane_);
      Operands::store_a(scores, 16 * warp_, 16 * s_block, lane_, block);
    }
    if constexpr (axis == GateAxis::value) {
      if (GDR_LIKELY(!with_diagonal)) return;
#pragma unroll
      for (int block = 0; block < token_blocks; ++block) {
        if (block != warp_) continue;
        // As they are rounded there: results do not depend on who copies them.
        store_diagonal(Operands::from_a(Operands::lower_triangle(p[block], 0, lane_)));
      }
    }
  }

 private:
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static constexpr bool stacks_parts =
      uses_warpgroups<Policy> && WarpgroupProducts<Layer, Policy>::stacks_parts;
#else
  static constexpr bool stacks_parts = false;
#endif

  GDR_DEVICE int group() const { return static_cast<unsigned>(lane_) / 4; }
  GDR_DEVICE int place() const { return static_cast<unsigned>(lane_) % 4; }

  template <class Tile>
  GDR_DEVICE void multiply(const Tile& q, const Tile& k, Accumulator (&p)[token_blocks]) const {
#pragma unroll
    for (Accumulator& x : p) x.clear();
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    using Together = WarpgroupProducts<Layer, Policy>;
    constexpr bool together = uses_warpgroups<Policy>;
    if constexpr (together) Together::scores(q, k, p);
#else
    constexpr bool together = false;
#endif
    if constexpr (!together) {
      if (warp_ >= token_blocks) return;
#pragma unroll 2
      for (int i = 0; i < Extents::key_width; i += 16) {
        const auto a = Operands::load_a(q, 16 * warp_, i, lane_);
#pragma unroll
        for (int s = 0; s < token_blocks; ++s) {
          if (s > warp_) break;
          Operands::multiply_add(p[s], a, Operands::load_b_transposed(k, 16 * s, i, lane_));
        }
      }
    }
  }

  /// Where the rows of q's low numbers are those of the next warps, to the first ones' sums. By way
  /// of the rows in which a warp's scores are to lie.
  template <class Tile>
  GDR_DEVICE void add_low_rows(Tile& scores, Accumulator (&p)[token_blocks]) const {
    auto& rows =
        reinterpret_cast<FragmentBuffer<Accumulator, token_blocks * token_blocks>&>(scores);
    static_assert(sizeof(rows) <= sizeof(scores), "as large as the scores");
    if (warp_ >= token_blocks && warp_ < 2 * token_blocks) {
#pragma unroll
      for (int s = 0; s < token_blocks; ++s) {
        rows.store(token_blocks * s + warp_ - token_blocks, lane_, p[s]);
      }
    }
    sync_threads<barrier_scores, 32 * warps>();
    if (warp_ >= token_blocks) return;
#pragma unroll
    for (int s = 0; s < token_blocks; ++s) p[s].add(rows.load(token_blocks * s + warp_, lane_));
    __syncwarp();  // the same bytes are written next
  }

  GDR_DEVICE void store_diagonal(const Accumulator& p) const {
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
        float* const at =
            &storage_.scratch.diagonal[16 * warp_ + 8 * m8 + group()][8 * n8 + 2 * place()];
        *reinterpret_cast<float2*>(at) = make_float2(p.c[n8][2 * m8], p.c[n8][2 * m8 + 1]);
      }
    }
  }

  /// Scores with a block of tokens s times the gates after s up to and with t.
  GDR_DEVICE void decay(int s_block, Accumulator& p) const {
    const auto& scratch = storage_.scratch;
    const auto pair = [](const float* at) { return *reinterpret_cast<const float2*>(at); };
    float between = 1.0f;
    for (int b = s_block + 1; b < warp_; ++b) {
      between = gate_product(between, scratch.whole_block[b]);
    }
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      const int t = 16 * warp_ + 8 * m8 + group();
      const float up_to_t = gate_product(between, scratch.from_block[t]);
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
        const int s = 8 * n8 + 2 * place();
        float2 d;
        if (s_block == warp_) {
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

  Storage& storage_;
  int warp_;
  int lane_;
};

GDR_NAMESPACE_END
