// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Tuning of the block collectives as plain aggregates. A policy is a type with a static constexpr
/// member per form (`recurrent`); it changes speed, and results by no more than rounding.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

/// How a block of the recurrent form is laid out. A thread holds `rows` key channels of
/// `columns_per_thread` value channels; `lanes` neighbouring threads share a column.
///
/// `lanes` and `rows` decide the order of the sums and so the last bits of a result; the others do
/// not enter it.
struct RecurrentTuning {
  int lanes;               // 4, 8, 16 or 32
  int rows;                // key channels a thread: lanes * rows >= K
  int columns_per_thread;  // value channels a thread
  int step_warps;          // warps that hold the state and step
  int stage_warps;         // warps that stage the next tile and put out the previous one; even
  int tokens_per_tile;     // tokens staged in shared memory at a time, a multiple of the next
  int tokens_in_flight;    // tokens loaded to registers together
  int blocks_per_sm;       // at least so many are to fit: caps the registers

  GDR_HOST_DEVICE constexpr int threads() const { return 32 * (step_warps + stage_warps); }
  GDR_HOST_DEVICE constexpr int padded_key_dim() const { return lanes * rows; }
  GDR_HOST_DEVICE constexpr int columns_per_block() const {
    return step_warps * (32 / lanes) * columns_per_thread;
  }
};

constexpr bool operator==(const RecurrentTuning& a, const RecurrentTuning& b) {
  return a.lanes == b.lanes && a.rows == b.rows && a.columns_per_thread == b.columns_per_thread &&
         a.step_warps == b.step_warps && a.stage_warps == b.stage_warps &&
         a.tokens_per_tile == b.tokens_per_tile && a.tokens_in_flight == b.tokens_in_flight &&
         a.blocks_per_sm == b.blocks_per_sm;
}

/// Whether two tunings add in the same order, and so give the same bits.
constexpr bool has_same_sums(const RecurrentTuning& a, const RecurrentTuning& b) {
  return a.lanes == b.lanes && a.rows == b.rows;
}

/// How a block of the chunked form is laid out: `state_warps` warps hold 16 value channels each and
/// walk over the chunks; `prepare_warps` warps make what does not depend on the state, one chunk
/// ahead; a few more load the chunk after that.
///
/// `tokens` enters a result (by rounding), the others do not.
struct ChunkedTuning {
  int tokens;         // a chunk: 16, 32 or 64
  int prepare_warps;
  int state_warps;

  static constexpr int load_warps = 4;  // one for each of q, k, v, gate
  GDR_HOST_DEVICE constexpr int threads() const {
    return 32 * (state_warps + prepare_warps + load_warps);
  }
  GDR_HOST_DEVICE constexpr int columns_per_block() const { return 16 * state_warps; }
};

GDR_NAMESPACE_END
