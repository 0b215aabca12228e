// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Values of a chunk as operands, where no channel's gates weigh them.

#include <gdr/block/chunk_work.cuh>

GDR_NAMESPACE_BEGIN

/// Works on blocks of 16 channels and 16 tokens, by `Warps` warps.
template <class Layer, class Policy, int Warps>
class ChunkValues {
  using Extents = ChunkExtents<Layer, Policy>;
  using Operands = typename Extents::Operands;
  using FiniteCheck = typename Operands::FiniteCheck;
  static constexpr int tokens = Extents::tokens;
  static constexpr int token_blocks = Extents::token_blocks;
  static constexpr int blocks = Extents::channel_groups * token_blocks;
  static constexpr int blocks_per_warp = (blocks + Warps - 1) / Warps;

 public:
  using Values = typename PreparedChunk<Extents>::Values;

  GDR_DEVICE ChunkValues(ChunkStorage<Extents>& storage, const Span<Layer>& span, int n, int warp,
                         int lane)
      : storage_(storage), span_(span), n_(n), warp_(warp), lane_(lane) {}

  /// Leaves v, or v_s times a factor of its token, in `target`. Whether this lane's are finite.
  GDR_DEVICE bool store(Values (&target)[Extents::channel_groups]) const {
    return store<false>(target, storage_.inverse_norm_k);
  }
  GDR_DEVICE bool store(Values (&target)[Extents::channel_groups],
                        const float (&factors)[tokens]) const {
    return store<true>(target, factors);
  }

 private:
  template <bool Weigh>
  GDR_DEVICE bool store(Values (&target)[Extents::channel_groups],
                        const float (&factors)[tokens]) const {
    FiniteCheck finite;
#pragma unroll 2
    for (int i = 0; i < blocks_per_warp; ++i) {
      const int number = warp_ * blocks_per_warp + i;
      if (number >= blocks) break;
      const int c = number / token_blocks, block = number % token_blocks;
      const auto& tile = storage_.v[n_ % Extents::value_stages];
      auto w = Operands::load_a_transposed(tile, 16 * block, 16 * c, lane_);
      if (Weigh || !GDR_LIKELY(!span_.qk_l2norm)) {
        Accumulator v = Operands::from_a(w);
        const int place = static_cast<int>(static_cast<unsigned>(lane_) % 4);
        if (!GDR_LIKELY(!span_.qk_l2norm)) {
          scale_tokens(v, 16 * block, place, storage_.inverse_norm_k);
        }
        if constexpr (Weigh) scale_tokens(v, 16 * block, place, factors);
        w = Operands::to_a(v);
      }
      finite.add(w);
      target[c].store(block, lane_, w);
    }
    return finite.holds();
  }

  ChunkStorage<Extents>& storage_;
  const Span<Layer>& span_;
  int n_;
  int warp_;
  int lane_;
};

GDR_NAMESPACE_END
