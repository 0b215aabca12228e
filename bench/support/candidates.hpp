// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Which tunings a sweep tries, as lists made at compile time, since each of them is a kernel.
/// Another form is another struct with the members of RecurrentForm.

#include <gdr/dispatch/policy.hpp>
#include <gdr/types/args.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gdr::bench {

/// A list without duplicates. What does not fit is counted, for a static_assert.
template <class T, int Capacity>
struct ConstexprList {
  T items[Capacity] = {};
  int count = 0;
  int dropped = 0;

  constexpr bool has(const T& item) const {
    for (int i = 0; i < count; ++i) {
      if (items[i] == item) return true;
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
inline constexpr int max_candidates = 64;

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

/// Key channels a lane, padded as in select_recurrent_tunings.
constexpr int rows_for(int key_dim, int lanes) {
  const int rows = (key_dim + lanes - 1) / lanes;
  return rows > 2 ? round_up(rows, 4) : rows;
}

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
  RecurrentList list;
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

/// The recurrent form as a sweep sees it.
struct RecurrentForm {
  using Tuning = RecurrentTuning;
  static constexpr const char* name = "recurrent";  // the policy's member too
  static constexpr const char* tuning_type = "gdr::RecurrentTuning";
  static constexpr Algorithm algorithm = Algorithm::recurrent;

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

}  // namespace gdr::bench
