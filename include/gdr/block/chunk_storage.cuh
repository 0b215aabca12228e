// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Extents and shared memory of the chunked form: what the preparing warps hand to the state's.

#include <gdr/block/tuning.hpp>
#include <gdr/thread/chunk_range.hpp>
#include <gdr/thread/operands.cuh>
#include <gdr/types/layer.hpp>

GDR_NAMESPACE_BEGIN

constexpr int register_share(int registers, int threads) {
  const int share = registers / threads / 8 * 8;
  return share < 24 ? 24 : share > 240 ? 240 : share;
}

/// What the warps of a block do.
enum class ChunkRole { state, prepare, load };

/// Extents of a block of the chunked form.
template <class Layer, class Policy>
struct ChunkExtents {
  static constexpr ChunkedTuning tuning = Policy::chunked;
  static constexpr GateAxis axis = Layer::Gate::axis;
  using Operands = typename OperandsOf<Layer::element_type>::type;
  using Stored = typename Operands::Stored;
  using GateElement = typename Layer::GateElement;

  static constexpr int tokens = tuning.tokens;
  static constexpr int columns = tuning.columns_per_block();         // value channels
  static constexpr int key_width = (Layer::key_dim + 15) / 16 * 16;  // K, whole operands
  static constexpr int token_blocks = tokens / 16;
  static constexpr int key_blocks = key_width / 16;
  static constexpr int channel_groups = tuning.state_warps;  // of 16 value channels
  static constexpr int prepare_threads = 32 * tuning.prepare_warps;
  static constexpr int state_threads = 32 * tuning.state_warps;
  /// Blocks before a chunk's centre, from which gate products go outward.
  static constexpr int centre_block = token_blocks / 2;
  static constexpr bool has_gate_tile = axis == GateAxis::value || axis == GateAxis::key;
  static constexpr int gate_width = axis == GateAxis::value ? columns
                                    : axis == GateAxis::key ? key_width
                                                            : 16;
  /// Where a warp of the state transposes its outputs, where they are of 16 bits.
  using OutputStaging = SwizzledTile<__nv_bfloat16, tokens, 16>;

  /// Registers a thread of each role, where they can move between warpgroups: what the roles
  /// together have at the start, in steps of 8.
  static constexpr int start_registers = 65536 / tuning.threads() / 8 * 8;
  static constexpr int load_registers = 56;
  static constexpr int prepare_registers = tuning.prepare_warps <= 4 ? 208 : 128;
  static constexpr int state_registers =
      register_share(start_registers * tuning.threads() - 32 * tuning.load_warps * load_registers -
                         prepare_threads * prepare_registers,
                     state_threads);

  // q and k of a chunk are read when it is prepared and when the state meets it, v and gate only
  // when it is prepared. What lies between loads and uses is as many stages as fit.
  static constexpr bool stages_fit(int keys, int values) {
    return chunked_shared_bytes(chunked_traits<Layer>, tuning, keys, values) <=
           tuning.shared_kib * 1024;
  }
  static constexpr int key_stages = stages_fit(4, 3) ? 4 : 3;
  static constexpr int value_stages = stages_fit(key_stages, 3) ? 3 : 2;
  static_assert(sizeof(Stored) == chunked_traits<Layer>.operand_size);
  static_assert(tokens == 16 || tokens == 32 || tokens == 64,
                "gdr: ChunkedTuning::tokens is 16, 32 or 64");
};

/// Values in a fragment's order, 16 bytes a lane and access.
template <class Value, int Count>
struct FragmentBuffer {
  static constexpr int pieces = sizeof(Value) / 16;
  static_assert(sizeof(Value) % 16 == 0, "fragments are whole 16-byte pieces");
  uint4 data[Count][pieces][32];

  GDR_DEVICE void store(int n, int lane, const Value& value) {
    uint4 piece[pieces];
    memcpy(piece, &value, sizeof(value));
#pragma unroll
    for (int i = 0; i < pieces; ++i) data[n][i][lane] = piece[i];
  }
  GDR_DEVICE Value load(int n, int lane) const {
    uint4 piece[pieces];
#pragma unroll
    for (int i = 0; i < pieces; ++i) piece[i] = data[n][i][lane];
    Value value;
    memcpy(&value, piece, sizeof(value));
    return value;
  }
};

/// How the state's warps are to go through a chunk.
enum class ChunkMode : int {
  divided,  // one span, weights by division (or none needed)
  causal,   // the same, but a value is not finite: no product with masked scores
  exact     // spans of `span` tokens, no division
};

/// What a chunk's preparation leaves beside the operands, by the gate's axis.
template <class Extents, GateAxis Axis = Extents::axis>
struct ChunkFactors {};

/// Value gate: products r_t outward from the chunk's centre, one per token and channel; where the
/// mode is exact, the gates themselves.
template <class Extents>
struct ChunkFactors<Extents, GateAxis::value> {
  FragmentBuffer<Accumulator, Extents::token_blocks> products[Extents::channel_groups];
  float enter[Extents::columns];  // what the state is multiplied by before the chunk
};

/// Key gate: the products are in q and k.
template <class Extents>
struct ChunkFactors<Extents, GateAxis::key> {
  float enter[Extents::key_width];
  float leave[Extents::tokens / 2][Extents::key_width];  // exact: after each span
};

/// Head gate: the products between tokens are in the scores.
template <class Extents>
struct ChunkFactors<Extents, GateAxis::head> {
  alignas(16) float from_start[Extents::tokens];  // gates up to and with a token
  FragmentBuffer<typename Extents::Operands::A, Extents::token_blocks>
      decayed[Extents::channel_groups];  // v times the gates after its token
};

/// A chunk prepared.
template <class Extents>
struct PreparedChunk {
  SwizzledTile<typename Extents::Stored, Extents::tokens, Extents::tokens>
      scores;  // [t][s], s <= t
  FragmentBuffer<typename Extents::Operands::A, Extents::token_blocks>
      values[Extents::channel_groups];  // w, as the operand W^T
  ChunkFactors<Extents> factors;
  alignas(16) float output_scale[Extents::tokens];
  ChunkMode mode;
  int span;  // tokens, of an exact chunk under a key gate
};

/// What the preparing warps keep for themselves, by the gate's axis.
template <class Extents, GateAxis Axis = Extents::axis>
struct ChunkScratch {};
template <class Extents>
struct ChunkScratch<Extents, GateAxis::value> {
  SwizzledTile<typename Extents::GateElement, Extents::tokens, Extents::columns>
      gate[Extents::value_stages];
  float leave[2][Extents::columns];  // what the state is multiplied by after a chunk, by its parity
  ScaledProduct total[2][Extents::columns];  // of all gates before chunks' centres, and after
};
template <class Extents>
struct ChunkScratch<Extents, GateAxis::key> {
  SwizzledTile<typename Extents::GateElement, Extents::tokens, Extents::key_width>
      gate[Extents::value_stages];
  float leave[2][Extents::key_width];
  ScaledProduct total[Extents::key_width];
  float segment[Extents::token_blocks][Extents::key_width];  // gate products of 16 tokens
};
template <class Extents>
struct ChunkScratch<Extents, GateAxis::head> {
  float gate[2][Extents::tokens];       // factors, made where they are loaded
  float from_block[Extents::tokens];    // gates from the token's block of 16 up to and with it
  float to_block_end[Extents::tokens];  // after it to the block's end
  float whole_block[Extents::token_blocks];
  float to_end[Extents::tokens];  // after it to the chunk's end
  ScaledProduct total;
  // Gates after s up to and with t, of the same block. Rows of neighbouring groups of lanes meet
  // different banks.
  alignas(16) float within[Extents::tokens][16 + 8];
};

template <class Extents>
struct ChunkStorage {
  template <int Width>
  using Tile = SwizzledTile<typename Extents::Stored, Extents::tokens, Width>;

  Tile<Extents::key_width> q[Extents::key_stages];
  Tile<Extents::key_width> k[Extents::key_stages];
  Tile<Extents::columns> v[Extents::value_stages];
  PreparedChunk<Extents> prepared[2];
  typename Extents::OutputStaging outputs[Extents::channel_groups];
  ChunkScratch<Extents> scratch;
  uint64_t arrivals[8];  // barriers of the copy engine, by stage: of q and k, of v and gate
  float inverse_norm_k[Extents::tokens];
  int votes[2][Extents::tuning.prepare_warps];
};

GDR_NAMESPACE_END
