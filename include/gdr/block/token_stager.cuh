// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The tokens a block works on: staged in shared memory as floats, with gate and beta functions
/// applied once per token and channel and everything outside the tensors filled so that a step
/// leaves a finite state as it is, bit for bit: k 0, q 0, v -0 (k v is then -0, and s + -0 is s),
/// factor 1, beta 0.

#include <gdr/block/tile_loader.cuh>
#include <gdr/block/tuning.hpp>
#include <gdr/thread/axis.hpp>
#include <gdr/thread/barrier.cuh>
#include <gdr/thread/lanes.cuh>

GDR_NAMESPACE_BEGIN

/// One tile: `Tokens` rows; KeyWidth and ValueWidth are padded, GateWidth is 1 where there is no
/// gate.
template <int Tokens, int KeyWidth, int ValueWidth, int GateWidth, bool Compensated>
struct TokenTile {
  alignas(16) float q[Tokens][KeyWidth];
  alignas(16) float k[Tokens][KeyWidth];
  alignas(16) float v[Tokens][ValueWidth];
  alignas(16) float gate_high[Tokens][GateWidth];
  alignas(16) float gate_low[Compensated ? Tokens : 1][Compensated ? GateWidth : 4];
  float beta[Tokens];
};

/// Fetches and stages the tiles of spans for one block of value columns, with the block's staging
/// threads. One half of them brings q and v, the other k, the gate and beta: each has half the
/// address arithmetic and half the loads to wait for. A gate function of the user's is work for
/// both halves.
template <class Layer, class Policy>
class TokenStager {
  static constexpr RecurrentTuning tuning = Policy::recurrent;
  static constexpr int tokens = tuning.tokens_per_tile;
  static constexpr int in_flight = tuning.tokens_in_flight;
  static constexpr int half_threads = 16 * tuning.stage_warps;
  static_assert(half_threads % 32 == 0, "gdr: RecurrentTuning::stage_warps is even");
  static constexpr int key_width = tuning.padded_key_dim();
  static constexpr int value_width = tuning.columns_per_block();
  static constexpr GateAxis axis = Layer::Gate::axis;
  static constexpr int gate_width = axis == GateAxis::value ? value_width
                                    : axis == GateAxis::key ? key_width
                                                            : 1;
  static constexpr bool compensated = compensated_decay<Layer>;
  static constexpr bool both_have_gate =
      !stdx::is_same<typename Layer::GateFunction, typename Layer::Space>::value;
  static constexpr int gate_threads = both_have_gate ? 2 * half_threads : half_threads;
  using Element = typename Layer::Element;
  using GateElement = typename Layer::GateElement;

 public:
  using Tile = TokenTile<tokens, key_width, value_width, gate_width, compensated>;

  /// `thread`: 0 .. 32 * stage_warps.
  GDR_DEVICE TokenStager(int first_column, int thread)
      : first_column_(first_column),
        has_keys_(thread >= half_threads),
        thread_(thread % half_threads),
        rows_(thread_),
        v_(thread_),
        gate_(both_have_gate ? thread : thread_) {}

  /// Starts the loads of the next tile: the first of the span that span() returns, if it begins one.
  /// Each half makes the addresses of its own tensors alone, and a tensor's loads are under way before
  /// the next one's addresses are made: it takes long where code runs for the first time.
  template <class SpanOf>
  GDR_DEVICE void fetch(bool begins, SpanOf&& span) {
    if (begins) {
      if (has_keys_) {
        span_ = span();
        rows_.begin(span_.k, span_.key_dim);
      } else {
        span_ = span();
        rows_.begin(span_.q, span_.key_dim);
      }
      left_ = span_.length;
    }
    const int rows = left_ < tokens ? static_cast<int>(left_) : tokens;
    stepped_ = (rows + in_flight - 1) / in_flight * in_flight;
    rows_.fetch(rows);
    if (!has_keys_) {
      if (begins) {
        const auto& v = span().v;
        v_.begin({v.data + first_column_, v.time_stride}, value_channels());
      }
      v_.fetch(rows);
    }
    if constexpr (axis != GateAxis::none) {
      if (has_gate()) {
        if (begins) begin_gate(span().gate);
        gate_.fetch(rows);
      }
    }
    if constexpr (Layer::Rule::uses_beta) {
      if (has_keys_) fetch_beta(rows);
    }
    left_ -= tokens;
  }

  /// Writes the fetched tile, normalised where that is asked for, as far as it will be stepped
  /// through. The caller synchronises the block before it is read.
  GDR_DEVICE void stage(Tile& tile) const {
    auto& rows = has_keys_ ? tile.k : tile.q;
    rows_.stage(stepped_, [&](int t, int c, const auto& x, int) { store_floats(&rows[t][c], x); });
    if (!has_keys_) {
      v_.stage(stepped_, [&](int t, int c, auto& x, int valid) {
#pragma unroll
        for (int e = 0; e < decltype(v_)::vector; ++e) x[e] = e < valid ? x[e] : -0.0f;
        store_floats(&tile.v[t][c], x);
      });
    }
    if constexpr (axis != GateAxis::none) {
      if (has_gate()) stage_gate(tile);
    }
    if constexpr (Layer::Rule::uses_beta) {
      if (has_keys_ && thread_ < tokens) tile.beta[thread_] = beta_;
    }
    if (!GDR_LIKELY(!span_.qk_l2norm)) {
      if (has_keys_) {
        sync_threads<barrier_stage_k, half_threads>();
      } else {
        sync_threads<barrier_stage_q, half_threads>();
      }
      normalise(rows);
    }
  }

 private:
  /// x <- x / sqrt(sum x^2 + eps) in place, a warp a row.
  GDR_DEVICE void normalise(float (&rows)[tokens][key_width]) const {
    const int lane = thread_ % 32;
    for (int row = thread_ / 32; row < stepped_; row += half_threads / 32) {
      float(&x)[key_width] = rows[row];
      // Rows past the end are zero and stay so with eps 0.
      const float inverse =
          inverse_norm(key_width, span_.qk_l2norm_eps, lane, [&](int c) { return x[c]; });
      for (int c = lane; c < key_width; c += 32) x[c] *= inverse;
    }
  }

  GDR_DEVICE void begin_gate(const Rows<const GateElement>& gate) {
    const int channels = axis == GateAxis::value ? value_channels()
                         : axis == GateAxis::key ? span_.key_dim
                                                 : 1;
    gate_.begin({gate.data + first_gate_channel(), gate.time_stride}, channels);
  }
  GDR_DEVICE int value_channels() const { return span_.value_dim - first_column_; }
  GDR_DEVICE bool has_gate() const { return both_have_gate || has_keys_; }
  GDR_DEVICE int first_gate_channel() const { return axis == GateAxis::value ? first_column_ : 0; }

  GDR_DEVICE void stage_gate(Tile& tile) const {
    gate_.stage(stepped_, [&](int t, int c, auto& x, int valid) {
      constexpr int vector = decltype(gate_)::vector;
      Decay<compensated> factor[vector];
#pragma unroll
      for (int e = 0; e < vector; ++e) {
        // Asked for channels of the tensor alone: the function may index parameters with them.
        const int channel = e < valid ? first_gate_channel() + c + e : 0;
        factor[e] = make_decay<Layer>(span_.gate_function(x[e], span_.head, channel));
        if (e >= valid) factor[e] = Decay<compensated>{1.0f};
        x[e] = factor[e].high;
      }
      store_floats(&tile.gate_high[t][c], x);
      if constexpr (compensated) {
#pragma unroll
        for (int e = 0; e < vector; ++e) x[e] = factor[e].low;
        store_floats(&tile.gate_low[t][c], x);
      }
    });
  }

  GDR_DEVICE void fetch_beta(int rows) {
    static_assert(tokens <= half_threads, "one thread a token fetches beta");
    beta_ = 0;
    if (thread_ < rows) {
      const int64_t at = (span_.length - left_ + thread_) * span_.beta_time_stride;
      const float raw = span_.beta_is_float ? static_cast<const float*>(span_.beta)[at]
                                            : to_float(static_cast<const Element*>(span_.beta)[at]);
      beta_ = span_.beta_function(raw, span_.head, 0);
    }
  }

  Span<Layer> span_;
  int64_t left_;  // tokens of the span that have not been fetched
  int first_column_;
  bool has_keys_;  // k, gate and beta, where the other half has q and v
  int thread_;     // of the half
  int stepped_;    // tokens of the tile that are stepped through
  TileLoader<Element, key_width, tokens, half_threads> rows_;
  TileLoader<Element, value_width, tokens, half_threads> v_;
  TileLoader<GateElement, gate_width, tokens, gate_threads> gate_;
  float beta_;
};

GDR_NAMESPACE_END
