// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The shipped tuning: a constexpr selector per form, and the policy made of them.

#include <gdr/block/tuning.hpp>
#include <gdr/thread/decay.hpp>
#include <gdr/types/layer.hpp>

GDR_NAMESPACE_BEGIN

/// The shipped tunings of the recurrent form for a layer. They share lanes and rows, so that the
/// same bits come out whichever is used.
struct RecurrentTunings {
  RecurrentTuning standard;
  RecurrentTuning small_grid;  // where it has no more than a block for each multiprocessor
  /// Where sequences have few tokens, so that blocks must share a multiprocessor to hide their starts
  /// and ends; or where shared memory is small.
  RecurrentTuning compact;
};

constexpr int round_up(int x, int step) { return (x + step - 1) / step * step; }

/// What of a layer type decides its tuning.
struct RecurrentTraits {
  int key_dim;
  int value_dim;
  bool key_gate;       // one factor a row takes registers,
  bool compensated;    // and two where factors are pairs
  bool delta_rule;     // so do the prediction's sums
  bool wide_elements;  // 4 bytes: a tile on its way takes twice the registers of 2
  bool own_function;   // a gate function other than the spaces' own
};

constexpr RecurrentTunings select_recurrent_tunings(const RecurrentTraits& layer) {
  const int key_dim = layer.key_dim;
  const bool lean = !layer.key_gate && !layer.compensated && !layer.delta_rule;
  RecurrentTuning t{};
  if (key_dim <= 32) {
    // Small heads: the shared-memory reads of k and q are the bound, which two columns share.
    t.lanes = 8;
    t.columns_per_thread = 2;
    t.tokens_in_flight = layer.key_gate ? 4 : lean ? 16 : 8;
  } else {
    t.lanes = key_dim <= 64 ? 4 : key_dim <= 128 ? 8 : 16;
    t.columns_per_thread = key_dim <= 64 || (layer.key_gate && layer.compensated) ? 4 : 8;
    t.tokens_per_tile = key_dim <= 128 && !layer.wide_elements ? 16 : 8;
    t.tokens_in_flight = layer.compensated || layer.delta_rule || layer.own_function ? 1 : 2;
  }
  t.rows = (key_dim + t.lanes - 1) / t.lanes;
  const int columns_per_warp = 32 / t.lanes * t.columns_per_thread;
  const int warps = (layer.value_dim + columns_per_warp - 1) / columns_per_warp;
  t.step_warps = warps < 4 ? warps : 4;
  t.stage_warps = t.step_warps <= 2 ? 2 : key_dim <= 32 ? 6 : 4;
  if (key_dim <= 32) t.tokens_per_tile = t.stage_warps == 2 ? 32 : 64;
  t.blocks_per_sm = t.step_warps <= 2 ? 2 : 1;

  RecurrentTunings tunings{t, t, t};
  if (key_dim <= 32) {  // bound by latency: one column a thread, and many SMs share a head
    tunings.small_grid.columns_per_thread = 1;
    tunings.small_grid.step_warps = 1;
    tunings.small_grid.stage_warps = 4;
    tunings.small_grid.tokens_per_tile = 64;
    tunings.small_grid.tokens_in_flight = layer.key_gate ? 4 : 16;
  }
  if (key_dim <= 32) {
    tunings.compact.tokens_per_tile = 16;
  } else {
    RecurrentTuning& c = tunings.compact;
    c.columns_per_thread = 4;
    c.stage_warps = 2;
    c.tokens_per_tile = 4;
    c.tokens_in_flight = 1;
    c.blocks_per_sm = lean && !layer.wide_elements && !layer.own_function ? 2 : 1;
  }
  return tunings;
}

/// The shipped tunings of the chunked form for a layer.
struct ChunkedTunings {
  ChunkedTuning standard;  // for 227 KiB of shared memory a block
  ChunkedTuning compact;   // for 99 KiB
};

constexpr ChunkedTunings select_chunked_tunings(const ChunkedTraits& layer) {
  const int groups = (layer.value_dim + 15) / 16;
  ChunkedTuning t{};
  t.prepare_warps = 8;
  // Under a key gate a preparing thread has two channels of 16 tokens.
  const auto is_small = [&] {
    return chunked_shared_bytes(layer, t, 3, 2) <= t.shared_kib * 1024 &&
           (!layer.key_gate ||
            round_up(layer.key_dim, 16) / 2 * (t.tokens / 16) <= 32 * t.prepare_warps);
  };
  // Beside a state of more than 160 key channels there are no registers for 64 tokens' outputs where
  // the preparing warps need theirs.
  const bool is_wide = layer.key_dim > 160 && (layer.value_gate || layer.key_gate);
  const auto fit = [&](int shared_kib, int most_warps, bool has_thirds) {
    t.shared_kib = shared_kib;
    t.state_warps = groups < most_warps ? groups : most_warps;
    t.tokens = has_thirds && is_wide ? 48 : 64;
    while (t.tokens > 16 && !is_small()) t.tokens -= has_thirds ? 16 : t.tokens / 2;
    return t;
  };
  ChunkedTunings tunings{};
  // Three blocks of 16 tokens are measured with 16-bit operands and a warpgroup's products alone.
  tunings.standard = fit(227, 4, layer.operand_size == 2);
  tunings.standard.state_warps = 4;  // a warpgroup, with few value channels too
  t.prepare_warps = 4;               // such devices do not move registers between warps
  tunings.compact = fit(99, layer.key_dim > 64 ? 2 : 4, false);
  return tunings;
}

/// Blocks of the chunked form for states alone, two to a multiprocessor. Layers without such a form
/// have none: 0 tokens.
constexpr ChunkedTuning select_states_tuning(const ChunkedTraits& layer) {
  ChunkedTuning t{};
  if (!layer.value_gate || layer.operand_size != 2 || layer.key_dim > 128) return t;
  t.state_warps = 4;
  t.shared_kib = 113;
  t.blocks_per_sm = 2;
  t.tokens = 64;
  while (chunked_shared_bytes(layer, t, 3, 2) > t.shared_kib * 1024) t.tokens /= 2;
  return t;
}

template <class Layer>
struct StatesPolicy {
  static constexpr ChunkedTuning chunked = select_states_tuning(chunked_traits<Layer>);
};
template <class Layer>
inline constexpr bool has_states_form = StatesPolicy<Layer>::chunked.tokens > 0;

/// The shipped tunings of the recurrent form alone, as a policy.
template <class Layer>
struct RecurrentPolicy {
  static constexpr RecurrentTraits traits = {
      Layer::key_dim,
      Layer::value_dim,
      Layer::Gate::axis == GateAxis::key,
      compensated_decay<Layer>,
      Layer::Rule::uses_beta,
      sizeof(typename Layer::Element) == 4 ||
          (Layer::gate_channels > 1 && sizeof(typename Layer::GateElement) == 4),
      !stdx::is_same<typename Layer::GateFunction, typename Layer::Space>::value};
  static constexpr RecurrentTunings recurrent_tunings = select_recurrent_tunings(traits);
  static constexpr RecurrentTuning recurrent = recurrent_tunings.standard;
  static constexpr RecurrentTuning recurrent_small_grid = recurrent_tunings.small_grid;
  static constexpr RecurrentTuning recurrent_compact = recurrent_tunings.compact;
};

/// Those of the chunked form alone.
template <class Layer>
struct ChunkedPolicy {
  static constexpr ChunkedTunings chunked_tunings = select_chunked_tunings(chunked_traits<Layer>);
  static constexpr ChunkedTuning chunked = chunked_tunings.standard;
  static constexpr ChunkedTuning chunked_compact = chunked_tunings.compact;
};

/// The policy used where the caller names none.
template <class Layer>
struct DefaultPolicy : RecurrentPolicy<Layer>, ChunkedPolicy<Layer> {};

GDR_NAMESPACE_END
