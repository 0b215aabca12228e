// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Tuning of the block collectives as plain aggregates. A policy is a type with a static constexpr
/// member per form (`recurrent`, `chunked`); it changes speed, and results by no more than rounding.

#include <gdr/types/layer.hpp>

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
  int tokens_per_tile;     // staged in shared memory at a time: 4 or more, a multiple of the next
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
/// `tokens` enters a result, by rounding, and so does `state_warps`: how a chunk is gone through is
/// decided for a block's value channels together, and whole warpgroups multiply in another way.
struct ChunkedTuning {
  int tokens = 0;  // a chunk: 16, 32, 48 or 64
  int prepare_warps = 0;
  int state_warps = 0;
  int shared_kib = 0;     // shared memory to stay within: decides how many chunks are on their way
  int blocks_per_sm = 1;  // at least so many are to fit

  /// Without preparing warps the state's warps prepare for themselves, and there are no outputs:
  /// block/chunk_states.cuh.
  GDR_HOST_DEVICE constexpr bool only_states() const { return prepare_warps == 0; }

  static constexpr int load_warps = 4;  // one for each of q, k, v, gate; 16 tokens' scores each
  GDR_HOST_DEVICE constexpr int threads() const {
    return 32 * (state_warps + prepare_warps + load_warps);
  }
  /// Value channels of a block: 16 for each of the state's warps, as far as the head has any.
  GDR_HOST_DEVICE constexpr int columns_per_block(int value_dim) const {
    const int whole_groups = (value_dim + 15) / 16 * 16;
    return whole_groups < 16 * state_warps ? whole_groups : 16 * state_warps;
  }
};

/// What of a layer type takes shared memory in the chunked form.
struct ChunkedTraits {
  int key_dim;
  int value_dim;
  int element_size;  // bytes of an element of q, k and v
  int operand_size;  // of an operand's element: 2 or 4
  int gate_size;     // of a gate's element
  bool value_gate;
  bool key_gate;
  bool head_gate;
};

template <class Layer>
inline constexpr ChunkedTraits chunked_traits = {
    Layer::key_dim,
    Layer::value_dim,
    static_cast<int>(sizeof(typename Layer::Element)),
    Layer::element_type == DataType::bfloat16 ? 2 : 4,
    static_cast<int>(sizeof(typename Layer::GateElement)),
    Layer::Gate::axis == GateAxis::value,
    Layer::Gate::axis == GateAxis::key,
    Layer::Gate::axis == GateAxis::head};

/// Shared memory of a block at most, bytes, with so many stages of q and k, and of v and gate.
GDR_HOST_DEVICE constexpr int chunked_shared_bytes(const ChunkedTraits& layer,
                                                   const ChunkedTuning& tuning, int key_stages,
                                                   int value_stages) {
  const auto whole_tile = [](int bytes) constexpr { return (bytes + 1023) / 1024 * 1024; };
  const int tokens = tuning.tokens, columns = tuning.columns_per_block(layer.value_dim);
  const int key_width = (layer.key_dim + 15) / 16 * 16;
  const int gate_width = layer.value_gate ? columns : layer.key_gate ? key_width : 0;
  const bool outputs = !tuning.only_states();  // else no q and scores, and 16 tokens prepared
  const int keys = (outputs ? 2 : 1) * whole_tile(tokens * key_width * layer.operand_size);
  const int values = whole_tile(tokens * columns * layer.element_size) +
                     whole_tile(tokens * gate_width * layer.gate_size);
  const int prepared_tokens = outputs ? tokens : 16;
  const int operands = prepared_tokens * columns * layer.operand_size;
  const int scores = outputs ? whole_tile(tokens * tokens * layer.operand_size) : 0;
  const int factors = layer.value_gate  ? (prepared_tokens + 1) * columns * 4 + columns
                      : layer.key_gate  ? (tokens / 2 + 1) * key_width * 4 + 16
                      : layer.head_gate ? operands + tokens * 4 + 16
                                        : 0;
  const int scores_or_sums =
      outputs && layer.value_gate && operands > scores ? whole_tile(operands) : scores;
  const int prepared = whole_tile(scores_or_sums + operands + factors + tokens * 4 + 32);
  const int scratch = (layer.value_gate  ? tokens * 64
                       : layer.head_gate ? tokens * 136 + 64
                                         : 0) +
                      gate_width * 32;
  const int loaded = key_stages * keys + value_stages * values;
  const int rest = whole_tile(tokens * 8 + 128);
  if (!outputs) return loaded + prepared + rest;
  const bool stages_in_factors = layer.value_gate && key_width > 128;  // outputs
  const int staging = stages_in_factors ? 0 : columns / 16 * whole_tile(tokens * 32);
  return loaded + 2 * prepared + staging + whole_tile(scratch) + rest;
}

GDR_NAMESPACE_END
