// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Which tunings a sweep tries, as lists made at compile time, since each of them is a kernel.
/// A form is a struct like RecurrentForm, at the end.

#include <gdr/dispatch/policy.hpp>
#include <gdr/types/args.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gdr::bench {

constexpr bool same(const RecurrentTuning& a, const RecurrentTuning& b) { return a == b; }
constexpr bool same(const ChunkedTuning& a, const ChunkedTuning& b) {
  return a.tokens == b.tokens && a.prepare_warps == b.prepare_warps &&
         a.state_warps == b.state_warps && a.shared_kib == b.shared_kib &&
         a.blocks_per_sm == b.blocks_per_sm;
}

/// A list without duplicates. What does not fit is counted, for a static_assert.
template <class T, int Capacity>
struct ConstexprList {
  T items[Capacity] = {};
  int count = 0;
  int dropped = 0;

  constexpr bool has(const T& item) const {
    for (int i = 0; i < count; ++i) {
      if (same(items[i], item)) return true;
    }
    return false;
  }
  constexpr void add(const T& item) {
    if (has(item)) return;
    if (count == Capacity) {
      ++dropped;
    } else {
      items[count++] = item;
    }
  }
};

inline constexpr int min_candidates = 24;
inline constexpr int max_candidates = 80;

/// A tuning's members by name, in order of their declaration.
using TuningMembers = std::vector<std::pair<const char*, int>>;

/// What the static_asserts of the block collective and its stager ask for, and two limits of the
/// hardware: threads of a block, and a state that leaves registers for the step.
constexpr bool is_valid(const RecurrentTuning& t, const RecurrentTraits& layer) {
  const bool known_lanes = t.lanes == 4 || t.lanes == 8 || t.lanes == 16 || t.lanes == 32;
  if (!known_lanes || t.rows < 1 || t.padded_key_dim() < layer.key_dim) return false;
  if (t.columns_per_thread < 1 || t.step_warps < 1 || t.stage_warps < 2) return false;
  if (t.stage_warps % 2 != 0 || t.columns_per_block() % 4 != 0) return false;
  if (t.tokens_in_flight < 1 || t.tokens_per_tile % t.tokens_in_flight != 0) return false;
  if (t.tokens_per_tile > 16 * t.stage_warps) return false;  // beta's; harmless to ask of others
  return t.threads() <= 1024 && t.rows * t.columns_per_thread <= 128;
}

/// Key channels a lane.
constexpr int rows_for(int key_dim, int lanes) { return (key_dim + lanes - 1) / lanes; }

/// No more stepping warps than the value channels occupy, and no more than `most`.
constexpr int step_warps_for(const RecurrentTuning& t, int value_dim, int most) {
  const int columns = 32 / t.lanes * t.columns_per_thread;
  const int warps = (value_dim + columns - 1) / columns;
  return warps < most ? warps : most;
}

using RecurrentList = ConstexprList<RecurrentTuning, max_candidates>;

/// The shipped tunings; every layout of the state over the lanes; and around the shipped one, every
/// tile, every division of the warps, and every cap on the registers.
constexpr RecurrentList recurrent_candidates(const RecurrentTraits& layer) {
  RecurrentList list{};
  const RecurrentTunings shipped = select_recurrent_tunings(layer);
  const auto add = [&](const RecurrentTuning& t) {
    if (is_valid(t, layer)) list.add(t);
  };
  add(shipped.standard);
  add(shipped.small_grid);
  add(shipped.compact);

  for (const int lanes : {4, 8, 16, 32}) {
    for (const int columns : {1, 2, 4, 8}) {
      RecurrentTuning t = shipped.standard;
      t.lanes = lanes;
      t.rows = rows_for(layer.key_dim, lanes);
      t.columns_per_thread = columns;
      t.step_warps = step_warps_for(t, layer.value_dim, 4);
      add(t);
    }
  }
  for (const int tokens : {8, 16, 32}) {
    for (const int in_flight : {1, 2, 4, 8, 16}) {
      RecurrentTuning t = shipped.standard;
      t.tokens_per_tile = tokens;
      t.tokens_in_flight = in_flight;
      add(t);
    }
  }
  for (const int step_warps : {1, 2, 4, 8}) {
    for (const int stage_warps : {2, 4, 6, 8}) {
      RecurrentTuning t = shipped.standard;
      t.step_warps = step_warps_for(t, layer.value_dim, step_warps);
      t.stage_warps = stage_warps;
      add(t);
    }
  }
  for (RecurrentTuning t : {shipped.standard, shipped.small_grid, shipped.compact}) {
    for (const int blocks : {1, 2, 3}) {
      t.blocks_per_sm = blocks;
      add(t);
    }
  }
  return list;
}

// --- The chunked form. ---

/// What of a layer type decides which layouts are valid.
struct ChunkedLayer {
  int key_dim;
  int value_dim;
  bool key_gate;
};

/// Registers of a thread of the state's warps. On sm_90a, roles of whole warpgroups share them out
/// as ChunkExtents does: so many to a loading and to a preparing thread, the others to the state.
constexpr int state_registers(const ChunkedTuning& t) {
  const int each = 65536 / t.threads() / 8 * 8;
  if (t.state_warps % 4 != 0 || t.prepare_warps % 4 != 0) return each;
  const int preparing = t.prepare_warps <= 4 ? 208 : 128;
  const int left =
      each * t.threads() - 32 * ChunkedTuning::load_warps * 56 - 32 * t.prepare_warps * preparing;
  return left / (32 * t.state_warps) / 8 * 8;
}

/// What the static_asserts of the block collective and its preparer ask for, and the hardware:
/// threads of a block, and a state that leaves registers for operands.
constexpr bool is_valid(const ChunkedTuning& t, const ChunkedLayer& layer) {
  if (t.tokens % 16 != 0 || t.tokens < 16 || t.tokens > 64) return false;
  if (t.state_warps < 1 || t.prepare_warps < 2) return false;  // two load q and k anew
  if (t.threads() > 1024) return false;
  const int key_width = round_up(layer.key_dim, 16);
  const int segments = key_width / 2 * (t.tokens / 16);  // of 16 tokens, a thread each
  if (layer.key_gate && segments > 32 * t.prepare_warps) return false;
  return state_registers(t) >= key_width / 2 + 40;
}

using ChunkedList = ConstexprList<ChunkedTuning, max_candidates>;

/// The shipped tunings; every chunk with whole warpgroups that prepare and up to eight of the
/// state's warps, no more than the value channels occupy. Where these are few, other numbers of
/// preparing warps too.
constexpr ChunkedList chunked_candidates(const ChunkedLayer& layer, const ChunkedTunings& shipped) {
  ChunkedList list{};
  const auto add = [&](const ChunkedTuning& t) {
    if (is_valid(t, layer)) list.add(t);
  };
  add(shipped.standard);
  add(shipped.compact);
  const auto add_layout = [&](int tokens, int prepare_warps, int state_warps) {
    ChunkedTuning t = shipped.standard;
    t.tokens = tokens;
    t.prepare_warps = prepare_warps;
    t.state_warps = state_warps;
    add(t);
  };

  const int groups = (layer.value_dim + 15) / 16;
  const int most_state_warps = groups < 8 ? groups : 8;
  for (const int tokens : {64, 32, 16}) {
    for (const int prepare_warps : {4, 8, 12}) {
      for (int state_warps = 1; state_warps <= most_state_warps; ++state_warps) {
        add_layout(tokens, prepare_warps, state_warps);
      }
    }
  }
  for (int prepare_warps = 2; prepare_warps <= 27; ++prepare_warps) {
    for (const int tokens : {64, 32, 16}) {
      for (int state_warps = 1; state_warps <= most_state_warps; ++state_warps) {
        if (list.count >= min_candidates) return list;
        add_layout(tokens, prepare_warps, state_warps);
      }
    }
  }
  return list;
}

// --- The forms as a sweep sees them. ---

struct RecurrentForm {
  using Tuning = RecurrentTuning;
  static constexpr const char* name = "recurrent";  // the policy's member too
  static constexpr const char* tuning_type = "gdr::RecurrentTuning";
  static constexpr Algorithm algorithm = Algorithm::recurrent;
  static constexpr bool is_whole_policy = true;  // the member alone serves as one

  template <class Layer>
  static constexpr RecurrentList candidates = recurrent_candidates(DefaultPolicy<Layer>::traits);

  /// A user's policy: it has this member alone.
  template <class Layer, int Index>
  struct Policy {
    static constexpr RecurrentTuning recurrent = candidates<Layer>.items[Index];
  };

  static TuningMembers members(const RecurrentTuning& t) {
    return {{"lanes", t.lanes},
            {"rows", t.rows},
            {"columns_per_thread", t.columns_per_thread},
            {"step_warps", t.step_warps},
            {"stage_warps", t.stage_warps},
            {"tokens_per_tile", t.tokens_per_tile},
            {"tokens_in_flight", t.tokens_in_flight},
            {"blocks_per_sm", t.blocks_per_sm}};
  }
};

struct ChunkedForm {
  using Tuning = ChunkedTuning;
  static constexpr const char* name = "chunked";
  static constexpr const char* tuning_type = "gdr::ChunkedTuning";
  static constexpr Algorithm algorithm = Algorithm::chunked;
  static constexpr bool is_whole_policy = false;

  template <class Layer>
  static constexpr ChunkedLayer layer = {Layer::key_dim, Layer::value_dim,
                                         Layer::Gate::axis == GateAxis::key};

  /// None for the delta rule, which has no such form.
  template <class Layer>
  static constexpr ChunkedList candidates =
      Layer::Rule::uses_beta
          ? ChunkedList{}
          : chunked_candidates(layer<Layer>, DefaultPolicy<Layer>::chunked_tunings);

  template <class Layer, int Index>
  struct Policy {
    static constexpr RecurrentTuning recurrent = DefaultPolicy<Layer>::recurrent;
    static constexpr ChunkedTuning chunked = candidates<Layer>.items[Index];
  };

  static TuningMembers members(const ChunkedTuning& t) {
    return {{"tokens", t.tokens},
            {"prepare_warps", t.prepare_warps},
            {"state_warps", t.state_warps},
            {"shared_kib", t.shared_kib},
            {"blocks_per_sm", t.blocks_per_sm}};
  }
};

}  // namespace gdr::bench
