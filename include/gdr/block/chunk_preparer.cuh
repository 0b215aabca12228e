// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The preparing part of the chunked form: what does not depend on the state.

#include <gdr/block/chunk_head.cuh>
#include <gdr/block/chunk_keys.cuh>
#include <gdr/block/chunk_scores.cuh>
#include <gdr/block/chunk_spans.cuh>
#include <gdr/block/chunk_values.cuh>
#include <gdr/block/key_split.cuh>

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
  using Item = typename Gates::Item;
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
    if (thread == 0) {  // as before the first chunk
      for (auto& prepared : storage.prepared) prepared.mode = ChunkMode::divided;
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

  /// Prepares chunk n and those after it, each in a turn that end_turn() ends, for as long as they
  /// are like most: divided as some before them, of a span without anything special. Returns the
  /// first that is not, in whose turn it is, for prepare() to go on with.
  ///
  /// A loop without other code between: instructions that are not the next ones take 60 to 90 cycles
  /// to come, and these warps are the ones that all others wait for.
  template <class EndTurn>
  GDR_DEVICE int prepare_divided(int n, int chunks, EndTurn&& end_turn) {
    const bool is_usual = !work_.span.qk_l2norm && !work_.span.only_state;
    if (!GDR_LIKELY(is_usual && since_other_ == turns_remembered)) return n;
#pragma unroll 1
    for (; n < chunks; ++n) {
      work_.begin(n);
      if constexpr (axis != GateAxis::key) split_keys();
      refused_ = !divide();
      if (refused_) break;
      end_division();
      finish(n, ChunkMode::divided);
      end_turn();
    }
    return n;
  }

  /// Prepares chunk n, which is in shared memory.
  GDR_DEVICE void prepare(int n) {
    work_.begin(n);
    if (!GDR_LIKELY(!work_.span.qk_l2norm)) {
      measure_rows();
      Work::meet();
    }
    ChunkMode mode = ChunkMode::divided;
    if constexpr (axis != GateAxis::key) {
      if (!refused_) split_keys();
    }
    if constexpr (axis == GateAxis::value) {
      mode = weigh_by_channels();
    } else if constexpr (axis == GateAxis::key) {
      mode = weigh_keys();
    } else if constexpr (axis == GateAxis::head) {
      mode = weigh_by_tokens();
    } else {
      if (refused_ || !store_values()) mode = ChunkMode::causal;
    }
    refused_ = false;
    since_other_ = mode == ChunkMode::divided ? min(since_other_ + 1, turns_remembered) : 0;
    if (axis == GateAxis::head || work_.span.qk_l2norm) store_output_scale(mode);
    if (keeps_books()) work_.prepared().mode = mode;
    finish(n, mode);
  }

 private:
  /// What follows the weights.
  GDR_DEVICE void finish(int n, ChunkMode mode) const {
    if constexpr (!Extents::load_warps_make_scores) {
      if (work_.warp < Scores::warps && !work_.span.only_state) {
        Scores(work_.storage, work_.warp, work_.lane).make(n, mode);
        publish_to_async_proxy();
      }
    }
    // Before the turn's barrier: float32 647 to 630 us, key gate 870 to 847; bfloat16 233 to 235.
    if constexpr (Extents::splits_keys) Work::meet();
  }
  /// The last threads keep the books: the first ones make scores.
  GDR_DEVICE bool keeps_books() const { return work_.thread == threads - 1; }

  GDR_DEVICE void split_keys() const {
    if constexpr (Extents::splits_keys) KeySplit<Layer, Policy>(work_).make();
    if constexpr (Extents::load_warps_wait_for_split) {
      if (!work_.span.only_state) arrive_at<barrier_split, threads + Extents::load_threads>();
    }
  }

  /// 1 / sqrt(sum x^2 + eps) of the rows of q and k, a warp a row.
  GDR_DEVICE void measure_rows() const {
    for (int row = work_.warp; row < 2 * tokens; row += warps) {
      const int t = row % tokens;
      const auto& tile = (row < tokens ? work_.q() : work_.k()).elements;
      const float inverse = inverse_norm(Extents::key_width, work_.span.qk_l2norm_eps, work_.lane,
                                         [&](int c) { return to_float(tile.at(t, c)); });
      (row < tokens ? work_.storage.inverse_norm_q : work_.storage.inverse_norm_k)[t] = inverse;
    }
  }
  GDR_DEVICE void store_output_scale(ChunkMode mode) const {
    const int t = work_.thread - (threads - tokens);
    if (t < 0) return;
    float scale = work_.output_scale(t);
    if constexpr (axis == GateAxis::head) {
      if (mode == ChunkMode::divided) scale *= work_.storage.scratch.r[work_.n % 2][t];
    }
    work_.prepared().output_scale[t] = scale;
  }

  using Values = ChunkValues<Layer, Policy, warps>;
  GDR_DEVICE Values values() const {
    return {work_.storage, work_.span, work_.n, work_.warp, work_.lane};
  }
  /// The values as they are. Whether they are finite.
  GDR_DEVICE bool store_values() {
    return !work_.any_of_threads(!values().store(work_.prepared().values));
  }

  /// Goes about a chunk without anything special by division; whether it can be divided.
  GDR_DEVICE bool divide() {
    if constexpr (axis == GateAxis::value) {
      const Gates gates(work_);
      return !any_item(gates, [&](const Item& item) { return !weigh<false>(gates, item); });
    } else if constexpr (axis == GateAxis::key) {
      return KeyWeights<Layer, Policy>(work_).divide();
    } else if constexpr (axis == GateAxis::head) {
      return divide_by_tokens();
    } else {
      return store_values();
    }
  }
  /// What is left to do then.
  GDR_DEVICE void end_division() {
    if constexpr (axis == GateAxis::value) {
      tell_weighed();
    } else if constexpr (axis == GateAxis::key) {
      KeyWeights<Layer, Policy>(work_).end_division();
    } else if constexpr (axis == GateAxis::head) {
      store_dues(ChunkMode::divided);
      store_output_scale(ChunkMode::divided);
    }
  }
  /// Value gate: those who make scores need not be waited for.
  static GDR_DEVICE void tell_weighed() {
    arrive_at<barrier_scored, threads + Extents::load_threads>();
  }

  /// Whether any of the warps' items is out.
  template <class IsOut>
  GDR_DEVICE bool any_item(const Gates& gates, IsOut&& is_out) const {
    bool any = false;
    gates.for_each_item([&](const Item& item) { any = is_out(item) || any; });
    return work_.any_of_threads(any);
  }
  /// Value gate: w_s = v_s / r_s, or spans without division.
  GDR_DEVICE ChunkMode weigh_by_channels() {
    const Gates gates(work_);
    // Exact chunks are seldom alone: for some turns the gates are asked before all is weighed in vain.
    const bool was_exact = since_other_ == 0;
    bool exact = refused_;
    if (!exact && since_other_ < turns_remembered) {
      exact = any_item(gates, [&](const Item& item) { return gates.rules_division_out(item); });
    }
    if (!exact) {
      exact = any_item(gates, [&](const Item& item) { return !weigh<true>(gates, item); });
    }
    if (exact) gates.for_each_item([&](const Item& item) { gates.store_nothing_due(item); });
    if (!GDR_LIKELY(!work_.span.only_state)) {
      gates.for_each_item([&](const Item& item) { gates.multiply_total(item, exact); });
    }
    if (!exact) {
      if (!work_.span.only_state) tell_weighed();
      return ChunkMode::divided;
    }
    ExactSpans<Layer, Policy>(work_).make(
        was_exact, [] { sync_threads<barrier_scored, threads + Extents::load_threads>(); });
    return ChunkMode::exact;
  }
  /// Whether the item may be divided. `MayNormalise`: where rows of q and k may have to be.
  template <bool MayNormalise>
  GDR_DEVICE bool weigh(const Gates& gates, const Item& item) const {
    const bool normalises = MayNormalise && work_.span.qk_l2norm;
    Prepared& prepared = work_.prepared();
    Accumulator v[Gates::half_blocks];  // asked for before they are needed
#pragma unroll
    for (int i = 0; i < Gates::half_blocks; ++i) {
      v[i] =
          load_by_channel(work_.v(), 16 * (item.first_block() + i), 16 * item.channels, work_.lane);
    }
    typename Gates::Half half;
    const bool in_range = gates.make(item, half);
    FiniteCheck finite;
#pragma unroll
    for (int i = 0; i < Gates::half_blocks; ++i) {
      if (!item.has_block(i)) break;
      const int block = item.first_block() + i;
      if (!GDR_LIKELY(!normalises)) {
        scale_tokens(v[i], 16 * block, work_.place(), work_.storage.inverse_norm_k);
      }
      v[i].multiply(half.inverse[i]);
      const auto w = Operands::to_a(v[i]);
      finite.add(w);
      prepared.values[item.channels].store(block, work_.lane, w);
      for_each_token(half.r[i], 0, 0, [&](float& r, int, int) { r *= work_.span.scale; });
      if (!GDR_LIKELY(!normalises)) {
        scale_tokens(half.r[i], 16 * block, work_.place(), work_.storage.inverse_norm_q);
      }
      prepared.factors.products[item.channels].store(block, work_.lane, half.r[i]);
    }
    gates.store_whole(item, half);
    return in_range && finite.holds();
  }

  /// Key gate: q_t by r_t and k_s by 1 / r_s, or spans without division.
  GDR_DEVICE ChunkMode weigh_keys() {
    KeyWeights<Layer, Policy> weights(work_);
    const bool exact = refused_ || !weights.divide();
    if (!GDR_LIKELY(!work_.span.only_state)) weights.multiply_total(exact);
    if (!exact) {
      weights.end_division();
    } else {
      weights.weigh_exactly();
      publish_to_async_proxy();
      if constexpr (Extents::splits_keys) {
        Work::meet();
        split_keys();
      }
    }
    ChunkMode mode = exact ? ChunkMode::exact : ChunkMode::divided;
    if (!GDR_LIKELY(Extents::load_warps_store_values(work_.span))) {
      if (!store_values() && mode == ChunkMode::divided) mode = ChunkMode::causal;
    }
    return mode;
  }

  /// Head gate: w_s = v_s / r_s, or values as they are and times the gates after them.
  GDR_DEVICE ChunkMode weigh_by_tokens() {
    ChunkMode mode = ChunkMode::divided;
    if (refused_ || !divide_by_tokens()) {
      HeadDecays<Layer, Policy>::make(work_);
      values().store(work_.prepared().factors.decayed, work_.storage.scratch.to_end);
      mode = store_values() ? ChunkMode::multiplied : ChunkMode::causal;
    }
    store_dues(mode);
    if (keeps_books() && work_.span.only_state) multiply_total(mode == ChunkMode::divided);
    return mode;
  }
  GDR_DEVICE bool divide_by_tokens() {
    const auto& scratch = work_.storage.scratch;
    const int parity = work_.n % 2;
    if (scratch.may_divide[parity] == 0) return false;
    return !work_.any_of_threads(!values().store(work_.prepared().values, scratch.inverse[parity]));
  }
  /// What the state is to be multiplied by before the chunk, and after it.
  GDR_DEVICE void store_dues(ChunkMode mode) {
    if (!keeps_books()) return;
    const bool divided = mode == ChunkMode::divided;
    const float(&whole)[2] = work_.storage.scratch.whole[work_.n % 2];
    work_.prepared().factors.enter =
        divided ? gate_product(work_.leave_before(), whole[0]) : work_.leave_before();
    work_.leave() = divided ? whole[1] : 1.0f;
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
  static constexpr int turns_remembered = 8;
  int since_other_ = turns_remembered;  // chunks since one that was not divided, or that many
  bool refused_ = false;  // prepare_divided has gone about chunk n, and it cannot be divided
};

GDR_NAMESPACE_END
