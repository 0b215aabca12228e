// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Extents and shared memory of the chunked form: what the preparing warps hand to the state's.

#include <gdr/block/span.cuh>
#include <gdr/block/tuning.hpp>
#include <gdr/thread/chunk_range.hpp>
#include <gdr/thread/split_operands.cuh>
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
  using Element = typename Layer::Element;
  using Operands = OperandsOf<Layer::element_type>;
  /// Whether q and k come as elements that operands are yet to be made of.
  static constexpr bool splits_keys = stdx::is_same<Operands, SplitOperands>::value;
  /// Whether those of exact chunks are made wider first, to be weighted.
  static constexpr bool widens_keys = splits_keys && sizeof(Element) == 2 && axis == GateAxis::key;
  using GateElement = typename Layer::GateElement;

  static constexpr int tokens = tuning.tokens;
  static constexpr int columns = tuning.columns_per_block(Layer::value_dim);
  static constexpr int key_width = (Layer::key_dim + 15) / 16 * 16;  // K, whole operands
  static constexpr int token_blocks = tokens / 16;
  static constexpr int key_blocks = key_width / 16;
  /// Whether registers and shared memory are scarce for the state and the tiles.
  static constexpr bool is_wide = key_width > 128;
  static constexpr int channel_groups = columns / 16;  // of value channels
  /// A block for states alone: what prepares are the state's warps.
  static constexpr bool only_states = tuning.only_states();
  static constexpr int prepare_warps = only_states ? tuning.state_warps : tuning.prepare_warps;
  static constexpr int prepare_threads = 32 * prepare_warps;
  static constexpr int state_threads = 32 * tuning.state_warps;
  /// Blocks before a chunk's centre, from which gate products go outward. Of three it is one.
  static constexpr int centre_block = token_blocks / 2;
  static constexpr bool has_gate_tile = axis == GateAxis::value || axis == GateAxis::key;
  static constexpr int gate_width = axis == GateAxis::value ? columns
                                    : axis == GateAxis::key ? key_width
                                                            : 16;
  /// Where a warp of the state transposes its outputs, where they are of 16 bits.
  using OutputStaging = SwizzledTile<__nv_bfloat16, tokens, 16>;
  /// In place of factors that the warp has read, where it saves memory that is needed: else it gains
  /// nothing.
  static constexpr bool stages_in_factors = axis == GateAxis::value && is_wide;

  static constexpr int load_threads = 32 * tuning.load_warps;
  /// Where gates have a channel axis the preparing warps have enough to do; the loading ones are a
  /// warpgroup, too. Under a key gate they make a chunk's scores from weighted q and k, in the turn
  /// in which the state meets it.
  static constexpr bool load_warps_make_scores = axis == GateAxis::value || axis == GateAxis::key;
  /// Under a value gate the preparing ones split q and k just before.
  static constexpr bool load_warps_wait_for_split = splits_keys && axis == GateAxis::value;
  /// Under a key gate they also store the values, but for those that wait for the norm of k.
  GDR_DEVICE static bool load_warps_store_values(const Span<Layer>& span) {
    return axis == GateAxis::key && !span.qk_l2norm;
  }

  /// Registers a thread of each role, where they can move between warpgroups: what the roles
  /// together have at the start, in steps of 8.
  static constexpr int start_registers = 65536 / tuning.blocks_per_sm / tuning.threads() / 8 * 8;
  static constexpr int load_registers = only_states ? (tuning.blocks_per_sm > 2 ? 32 : 40)
                                        : axis == GateAxis::key               ? 96
                                        : axis == GateAxis::value && !is_wide ? 88
                                                                              : 80;
  static constexpr int prepare_registers = tuning.prepare_warps <= 4 ? 168
                                           : !load_warps_make_scores ? (is_wide ? 88 : 120)
                                           : tokens <= 32            ? 88
                                           : is_wide                 ? 104
                                                                     : 112;
  static constexpr int state_registers =
      register_share(start_registers * tuning.threads() - 32 * tuning.load_warps * load_registers -
                         32 * tuning.prepare_warps * prepare_registers,
                     state_threads);

  // q and k of a chunk are read when it is prepared and when the state meets it, v and gate only
  // when it is prepared. What lies between loads and uses is as many stages as fit.
  static constexpr bool stages_fit(int keys, int values) {
    return chunked_shared_bytes(chunked_traits<Layer>, tuning, keys, values) <=
           tuning.shared_kib * 1024;
  }
  static constexpr int key_stages = stages_fit(4, 3) ? 4 : 3;
  static constexpr int value_stages = stages_fit(key_stages, 3) ? 3 : 2;
  /// Chunks of q and k on their way or in use, but for what the state reads a turn later.
  static constexpr int key_ahead = only_states ? key_stages : key_stages - 1;
  static constexpr int prepared_chunks = only_states ? 1 : 2;
  /// Blocks of 16 tokens that are prepared at a time, and where among them a block's operands lie.
  static constexpr int prepared_blocks = only_states ? 1 : token_blocks;
  GDR_DEVICE static int prepared_place(int block) { return only_states ? 0 : block; }
  static_assert(sizeof(typename Operands::Number) == chunked_traits<Layer>.operand_size);
  static_assert(tokens == 16 || tokens == 32 || tokens == 48 || tokens == 64,
                "gdr: ChunkedTuning::tokens is 16, 32, 48 or 64");
  static_assert(prepare_warps >= 2 && prepare_threads >= tokens &&
                    (load_warps_make_scores || prepare_warps >= token_blocks),
                "gdr: ChunkedTuning::prepare_warps is too small: at least 2, a thread a token and, "
                "without a gate of channels, a warp for 16 tokens");
  /// Whether the registers that roles are given are there.
  static constexpr bool registers_fit = load_threads * load_registers +
                                            32 * tuning.prepare_warps * prepare_registers +
                                            state_threads * state_registers <=
                                        start_registers * tuning.threads();
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
  /// All of them.
  GDR_DEVICE void load(int lane, Value (&values)[Count]) const {
#pragma unroll
    for (int n = 0; n < Count; ++n) values[n] = load(n, lane);
  }
  /// The elements of rows g + 8 m8 and columns 8 n8 + 2 p, + 1 of a 16 x 16 fragment.
  GDR_DEVICE void store_pair(int n, int lane, int n8, int m8, float x, float y) {
    static_assert(pieces <= 2, "16 x 16 elements of 2 or 4 bytes");
    const auto store_packed = [&](int piece, uint32_t pair) {
      reinterpret_cast<uint32_t*>(&data[n][piece][lane])[2 * n8 + m8] = pair;
    };
    if constexpr (pieces == 1) {
      store_packed(0, Bfloat16Operands::pack(x, y));
    } else if constexpr (stdx::is_same<Value, SplitOperands::A>::value) {
      uint32_t high, low;
      SplitOperands::split(x, y, high, low);
      store_packed(0, high);
      store_packed(1, low);
    } else {
      reinterpret_cast<float2*>(&data[n][n8][lane])[m8] = make_float2(x, y);
    }
  }
};

/// v or a channel gate of a chunk, as it comes.
template <class Extents>
using ChunkValueTile = SwizzledTile<typename Extents::Element, Extents::tokens, Extents::columns>;
template <class Extents>
using ChunkGateTile =
    SwizzledTile<typename Extents::GateElement, Extents::tokens, Extents::gate_width>;

/// q or k of a chunk, from one form to the next in place.
template <class Extents>
union ChunkKeyTile {
  template <class T>
  using Tile = SwizzledTile<T, Extents::tokens, Extents::key_width>;

  Tile<typename Extents::Element> elements;          // as they come
  Tile<typename Extents::Operands::Number> numbers;  // key gate, exact: to be weighted
  typename Extents::Operands::template Tile<Extents::tokens, Extents::key_width> operands;
};

/// How the state's warps are to go through a chunk.
enum class ChunkMode : int {
  divided,     // one span, weights by division (or none needed)
  multiplied,  // one span, head gate: gates between tokens are in the scores
  causal,      // as multiplied, under a head gate, else as divided, where a value is not finite: no
               // product with masked scores
  exact        // spans of tokens, no division
};

/// What a chunk's preparation leaves beside the operands, by the gate's axis.
template <class Extents, GateAxis Axis = Extents::axis>
struct ChunkFactors {};

/// Value gate: products r_t outward from the chunk's centre, one per token and channel; where the
/// mode is exact, from each span's start.
template <class Extents>
struct ChunkFactors<Extents, GateAxis::value> {
  FragmentBuffer<Accumulator, Extents::prepared_blocks> products[Extents::channel_groups];
  float enter[Extents::columns];  // what the state is multiplied by before the chunk
  int span[Extents::channel_groups][Extents::prepared_blocks];  // exact: tokens of a span
};

/// Key gate: the products are in q and k.
template <class Extents>
struct ChunkFactors<Extents, GateAxis::key> {
  int values_are_finite[Extents::tuning.load_warps];  // those that the loading warps stored
  float enter[Extents::key_width];
  float leave[Extents::tokens / 2][Extents::key_width];  // exact: after each span
};

/// Head gate: products r_t are in the output scale. Where the chunk is multiplied, the products
/// between tokens are in the scores.
template <class Extents>
struct ChunkFactors<Extents, GateAxis::head> {
  float enter;
  alignas(16) float from_start[Extents::tokens];  // gates up to and with a token
  FragmentBuffer<typename Extents::Operands::A, Extents::token_blocks>
      decayed[Extents::channel_groups];  // v times the gates after its token
};

template <class Extents>
using ChunkScoreTile = typename Extents::Operands::template Tile<Extents::tokens, Extents::tokens>;
template <class Extents>
using ChunkValueOperands = FragmentBuffer<typename Extents::Operands::A, Extents::prepared_blocks>;

template <class Extents, GateAxis Axis = Extents::axis>
struct ScoresOrSums {
  ChunkScoreTile<Extents> scores;  // [t][s], 0 for s > t
};
template <class Extents>
struct ScoresOrSums<Extents, GateAxis::value> {
  union {
    ChunkScoreTile<Extents> scores;
    // Where the chunk is exact: outputs from a span's own tokens.
    ChunkValueOperands<Extents> sums[Extents::channel_groups];
  };
};

struct NoScores {};

/// A chunk prepared. In a block for states alone only exact ones are, a block of 16 tokens at a time.
template <class Extents>
struct PreparedChunk : stdx::conditional_t<Extents::only_states, NoScores, ScoresOrSums<Extents>> {
  using Values = ChunkValueOperands<Extents>;
  Values values[Extents::channel_groups];  // w, as the operand W^T
  ChunkFactors<Extents> factors;
  alignas(16) float output_scale[Extents::tokens];
  ChunkMode mode;
  int span;  // tokens, of an exact chunk under a key gate, whose scores are made; else 0
};

/// What loading and preparing warps keep for themselves, by the gate's axis; and what is due of the
/// state after a chunk.
template <class Extents, GateAxis Axis = Extents::axis>
struct ChunkScratch {};
template <class Extents>
struct ChannelScratch {
  ChunkGateTile<Extents> gate[Extents::value_stages];
  float leave[2][Extents::gate_width];  // what the state is multiplied by after a chunk, by parity
  float whole[2][Extents::gate_width];  // gates before the chunk's centre, and after
  ScaledProduct total[2][Extents::gate_width];  // the same of all chunks
};
template <class Extents>
struct ChunkScratch<Extents, GateAxis::value> : ChannelScratch<Extents> {
  // Scores of each 16 tokens with themselves once more, for exact chunks.
  alignas(16) float diagonal[Extents::tokens][16];
};
template <class Extents>
struct ChunkScratch<Extents, GateAxis::key> : ChannelScratch<Extents> {};
template <class Extents>
struct ChunkScratch<Extents, GateAxis::head> {
  // By the loading warps, by the chunk's parity: factors, products outward from the chunk's centre
  // and one over them, the two halves' products, and whether these may be divided by.
  float gate[2][Extents::tokens];
  float r[2][Extents::tokens];
  float inverse[2][Extents::tokens];
  float whole[2][2];
  int may_divide[2];
  float leave[2];  // what the state is multiplied by after a chunk
  ScaledProduct total;
  // Where they may not.
  float from_block[Extents::tokens];    // gates from the token's block of 16 up to and with it
  float to_block_end[Extents::tokens];  // after it to the block's end
  float whole_block[Extents::token_blocks];
  float to_end[Extents::tokens];  // after it to the chunk's end
  // Gates after s up to and with t, of the same block. Rows of neighbouring groups of lanes meet
  // different banks.
  alignas(16) float within[Extents::tokens][16 + 8];
};

/// Where the state's warps transpose their outputs.
template <class Extents, bool InFactors = Extents::stages_in_factors>
struct ChunkOutputs {
  typename Extents::OutputStaging outputs[Extents::channel_groups];

  GDR_DEVICE auto& staging(PreparedChunk<Extents>& /*chunk*/, int group) { return outputs[group]; }
};
template <class Extents>
struct ChunkOutputs<Extents, true> {
  /// A block of 16 tokens is staged no sooner than its products have been read, and lies no further.
  GDR_DEVICE auto& staging(PreparedChunk<Extents>& chunk, int group) {
    using Staging = typename Extents::OutputStaging;
    static_assert(sizeof(chunk.factors.products[0]) % alignof(Staging) == 0 &&
                      sizeof(chunk.values) % alignof(Staging) == 0 &&
                      sizeof(ScoresOrSums<Extents>) % alignof(Staging) == 0,
                  "products lie as the staging is to");
    return reinterpret_cast<Staging&>(chunk.factors.products[group]);
  }
};

template <class Extents>
struct ChunkTiles {
  ChunkKeyTile<Extents> q[Extents::key_stages];
  ChunkKeyTile<Extents> k[Extents::key_stages];
  ChunkValueTile<Extents> v[Extents::value_stages];
  PreparedChunk<Extents> prepared[Extents::prepared_chunks];

  /// q and k of chunk n as the products take them.
  GDR_DEVICE const auto& q_operand(int n) const { return q[n % Extents::key_stages].operands; }
  GDR_DEVICE const auto& k_operand(int n) const { return k[n % Extents::key_stages].operands; }
};

/// Where among the sequences the span lies that a block of a kernel is at, if there is one.
struct ChunkPlace {
  SequenceBounds bounds;
  uint32_t sequence;
  bool exists;
  bool writes_final;  // its last token is the sequence's, whose final state is asked for
};

/// Of a block with outputs.
template <class Extents>
struct OutputsStorage : ChunkTiles<Extents>, ChunkOutputs<Extents> {
  ChunkScratch<Extents> scratch;
  uint64_t arrivals[8];  // barriers of the copy engine, by stage: of q and k, of v and gate
  ChunkPlace place;
  float inverse_norm_q[Extents::tokens];
  float inverse_norm_k[Extents::tokens];
};

/// Of a block for states alone.
template <class Extents>
struct StatesStorage {
  struct Scratch {
    ChunkGateTile<Extents> gate[Extents::value_stages];
  };

  union {
    ChunkKeyTile<Extents> k[Extents::key_stages];
    ChunkKeyTile<Extents> q[Extents::key_stages];  // not read: spans have only_state
  };
  ChunkValueTile<Extents> v[Extents::value_stages];
  PreparedChunk<Extents> prepared[Extents::prepared_chunks];
  Scratch scratch;
  uint64_t arrivals[8];  // as above
  float inverse_norm_k[Extents::tokens];

  GDR_DEVICE const auto& k_operand(int n) const { return k[n % Extents::key_stages].operands; }
};

template <class Extents>
using ChunkStorage =
    stdx::conditional_t<Extents::only_states, StatesStorage<Extents>, OutputsStorage<Extents>>;

GDR_NAMESPACE_END
