// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The preparing part of the chunked form: what does not depend on the state.

#include <gdr/block/chunk_head.cuh>
#include <gdr/block/chunk_keys.cuh>
#include <gdr/block/chunk_scores.cuh>
#include <gdr/block/chunk_spans.cuh>

GDR_NAMESPACE_BEGIN

/// Works with 32 * prepare_warps threads that call each method together.
template <class Layer, class Policy>
class ChunkPreparer {
  using Work = ChunkWork<Layer, Policy>;
  using Extents = typename Work::Extents;
  using Operands = typename Extents::Operands;
  using FiniteCheck = typename Operands::FiniteCheck;
  using Storage = typename Work::Storage;
  using Prepared = typename Work::Prepared;
  using Gates = GateProducts<Layer, Policy>;
  using Scores = ChunkScores<Layer, Policy>;
  static constexpr GateAxis axis = Extents::axis;
  static constexpr int tokens = Extents::tokens;
  static constexpr int warps = Work::warps;
  static constexpr int threads = Work::threads;

 public:
  /// `thread`: 0 .. 32 * prepare_warps.
  GDR_DEVICE ChunkPreparer(Storage& storage, const Span<Layer>& span, int first_column, int thread)
      : work_(storage, span, first_column, thread) {
    for (int t = thread; t < tokens; t += threads) {
      for (auto& prepared : storage.prepared) prepared.output_scale[t] = span.scale;
    }
    auto& scratch = storage.scratch;
    if constexpr (axis == GateAxis::value || axis == GateAxis::key) {
      for (int c = thread; c < Extents::gate_width; c += threads) {
        scratch.leave[1][c] = 1.0f;
        scratch.total[0][c] = scratch.total[1][c] = {};
      }
    } else if constexpr (axis == GateAxis::head) {
      if (thread == 0) {
        scratch.leave[1] = 1.0f;
        scratch.total = {};
      }
    }
  }

  /// Prepares chunk n, which is in shared memory.
  GDR_DEVICE void prepare(int n) {
    work_.begin(n);
    if (!GDR_LIKELY(!work_.span.qk_l2norm)) {
      measure_rows();
      Work::meet();
    }
    typename Scores::Products p;
    if (makes_scores()) Scores(work_.storage, work_.warp, work_.lane).multiply(n, p);
    ChunkMode mode = ChunkMode::divided;
    if constexpr (axis == GateAxis::value) {
      mode = weigh_by_channels();
    } else if constexpr (axis == GateAxis::key) {
      mode = KeyWeights<Layer, Policy>(work_).weigh();
      publish_to_async_proxy();
      arrive_at<barrier_weighed, Extents::prepare_and_load_threads>();
      if (!store_values() && mode == ChunkMode::divided) mode = ChunkMode::causal;
    } else if constexpr (axis == GateAxis::head) {
      mode = weigh_by_tokens();
    } else {
      if (!store_values()) mode = ChunkMode::causal;
    }
    if (axis == GateAxis::head || work_.span.qk_l2norm) store_output_scale(mode);
    if (work_.thread == 0) work_.prepared().mode = mode;
    if (makes_scores()) {
      Scores(work_.storage, work_.warp, work_.lane).store(n, mode, p);
      publish_to_async_proxy();
    }
  }

 private:
  /// 1 / sqrt(sum x^2 + eps) of the rows of q and k, a warp a row.
  GDR_DEVICE void measure_rows() const {
    for (int row = work_.warp; row < 2 * tokens; row += warps) {
      const int t = row % tokens;
      const auto& tile = row < tokens ? work_.q() : work_.k();
      const float inverse = inverse_norm(Extents::key_width, work_.span.qk_l2norm_eps, work_.lane,
                                         [&](int c) { return to_float(tile.at(t, c)); });
      (row < tokens ? work_.storage.inverse_norm_q : work_.storage.inverse_norm_k)[t] = inverse;
    }
  }
  GDR_DEVICE void store_output_scale(ChunkMode mode) const {
    const int t = work_.thread;
    if (t >= tokens) return;
    float scale = work_.output_scale(t);
    if constexpr (axis == GateAxis::head) {
      if (mode == ChunkMode::divided) scale *= work_.storage.scratch.r[work_.n % 2][t];
    }
    work_.prepared().output_scale[t] = scale;
  }

  /// The first warps make scores while the others weigh values, or all do both.
  GDR_DEVICE bool makes_scores() const {
    return !Extents::load_warps_make_scores && work_.warp < Scores::warps && !work_.span.only_state;
  }
  static constexpr int first_value_warp =
      !Extents::load_warps_make_scores && warps > Scores::warps ? Scores::warps : 0;

  /// Calls use(channel group, block of tokens) for this warp's blocks of 16 channels and 16 tokens.
  template <class Use>
  GDR_DEVICE void for_each_block(Use&& use) const {
    constexpr int blocks = Extents::channel_groups * Extents::token_blocks;
    constexpr int per_warp = blocks / (warps - first_value_warp);
    const int first = work_.warp - first_value_warp;
    if (first < 0) return;
#pragma unroll 2
    for (int i = 0; i < per_warp; ++i) {
      const int number = first * per_warp + i;
      use(number / Extents::token_blocks, number % Extents::token_blocks);
    }
    for (int number = per_warp * (warps - first_value_warp) + first; number < blocks;
         number += warps - first_value_warp) {
      use(number / Extents::token_blocks, number % Extents::token_blocks);
    }
  }
  /// Values of 16 channels and 16 tokens, [channel][token].
  GDR_DEVICE Accumulator load_values(int c, int block) const {
    Accumulator v = work_.load_by_channel(work_.v(), block, c);
    if (!GDR_LIKELY(!work_.span.qk_l2norm)) {
      scale_tokens(v, block, work_.storage.inverse_norm_k);
    }
    return v;
  }
  GDR_DEVICE void scale_tokens(Accumulator& x, int block, const float (&factors)[tokens]) const {
    for_each_token(x, 16 * block, work_.place(), [&](float& y, int t, int) { y *= factors[t]; });
  }

  /// The values as they are. Whether they are finite.
  GDR_DEVICE bool store_values() {
    FiniteCheck finite;
    for_each_block([&](int c, int block) {
      const auto w = Operands::to_a(load_values(c, block));
      finite.add(w);
      work_.prepared().values[c].store(block, work_.lane, w);
    });
    return !work_.any_of_threads(!finite.holds());
  }

  /// Value gate: w_s = v_s / r_s, or spans without division.
  GDR_DEVICE ChunkMode weigh_by_channels() {
    using Item = typename Gates::Item;
    const Gates gates(work_);
    bool in_range = true;
    gates.for_each_item([&](const Item& item) { in_range = weigh(gates, item) && in_range; });
    const bool exact = work_.any_of_threads(!in_range);
    if (!GDR_LIKELY(!work_.span.only_state)) {
      gates.for_each_item([&](const Item& item) { gates.multiply_total(item, exact); });
    }
    if (GDR_LIKELY(!exact)) {
      if (!work_.span.only_state) arrive_at<barrier_scored, Extents::prepare_and_load_threads>();
      return ChunkMode::divided;
    }
    gates.for_each_item([&](const Item& item) { gates.store_nothing_due(item); });
    if (!work_.span.only_state) sync_threads<barrier_scored, Extents::prepare_and_load_threads>();
    ExactSpans<Layer, Policy>(work_).make();
    return ChunkMode::exact;
  }
  GDR_DEVICE bool weigh(const Gates& gates, const typename Gates::Item& item) const {
    Prepared& prepared = work_.prepared();
    typename Gates::Half half;
    const bool in_range = gates.make(item, half);
    FiniteCheck finite;
#pragma unroll
    for (int i = 0; i < Gates::half_blocks; ++i) {
      const int block = item.first_block() + i;
      Accumulator v = load_values(item.channels, block);
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
        for (int e = 0; e < 4; ++e) v.c[n8][e] *= half.inverse[i].c[n8][e];
      }
      const auto w = Operands::to_a(v);
      finite.add(w);
      prepared.values[item.channels].store(block, work_.lane, w);
      for_each_token(half.r[i], 0, 0, [&](float& r, int, int) { r *= work_.span.scale; });
      if (!GDR_LIKELY(!work_.span.qk_l2norm)) {
        scale_tokens(half.r[i], block, work_.storage.inverse_norm_q);
      }
      prepared.factors.products[item.channels].store(block, work_.lane, half.r[i]);
    }
    gates.store_whole(item, half.whole);
    return in_range && finite.holds();
  }

  /// Head gate: w_s = v_s / r_s, or values as they are and times the gates after them.
  GDR_DEVICE ChunkMode weigh_by_tokens() {
    auto& scratch = work_.storage.scratch;
    const int parity = work_.n % 2;
    ChunkMode mode = ChunkMode::multiplied;
    if (GDR_LIKELY(scratch.may_divide[parity] != 0)) {
      FiniteCheck finite;
      for_each_block([&](int c, int block) {
        Accumulator v = load_values(c, block);
        scale_tokens(v, block, scratch.inverse[parity]);
        const auto w = Operands::to_a(v);
        finite.add(w);
        work_.prepared().values[c].store(block, work_.lane, w);
      });
      if (GDR_LIKELY(!work_.any_of_threads(!finite.holds()))) mode = ChunkMode::divided;
    }
    if (!GDR_LIKELY(mode == ChunkMode::divided)) {
      HeadDecays<Layer, Policy>::make(work_);
      for_each_block([&](int c, int block) {
        Accumulator v = load_values(c, block);
        scale_tokens(v, block, scratch.to_end);
        work_.prepared().factors.decayed[c].store(block, work_.lane, Operands::to_a(v));
      });
      if (!store_values()) mode = ChunkMode::causal;
    }
    if (work_.thread == 0) {
      const bool divided = mode == ChunkMode::divided;
      const float(&whole)[2] = scratch.whole[parity];
      work_.prepared().factors.enter = work_.leave_before() * (divided ? whole[0] : 1.0f);
      work_.leave() = divided ? whole[1] : 1.0f;
      if (work_.span.only_state) multiply_total(divided);
    }
    return mode;
  }
  GDR_DEVICE void multiply_total(bool divided) const {
    auto& scratch = work_.storage.scratch;
    const int parity = work_.n % 2;
    if (divided) {
      for (const float whole : scratch.whole[parity]) scratch.total.multiply(whole);
    } else {
      for (const float gate : scratch.gate[parity]) scratch.total.multiply(gate);
    }
  }

  Work work_;
};

GDR_NAMESPACE_END
