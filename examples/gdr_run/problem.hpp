// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What is computed: sizes and host tensors, read from the files and found to fit each other.

#include "options.hpp"

#include <gdr/dispatch/layer_key.hpp>
#include <gdr/types.hpp>

#include <cstdint>
#include <vector>

namespace gdr_run {

/// Tensors are empty where there is none. Their values are rounded to the type `key.type`, which
/// float holds exactly; the states alone stay float32.
struct Problem {
  gdr::LayerKey key;
  gdr::Shape shape;       // every field filled in
  int64_t sequences = 0;  // N

  std::vector<float> q, k;           // [B, T, Hk, K]
  std::vector<float> v;              // [B, T, Hv, V]
  std::vector<float> gate;           // [B, T, Hv, V], [B, T, Hv, K] or [B, T, Hv] by the axis
  std::vector<float> beta;           // [B, T, Hv]
  std::vector<float> initial_state;  // [N, Hv, K, V] or [N, Hv, V, K]
  std::vector<int64_t> cu_seqlens;   // [N + 1]
  bool wants_final_state = false;

  gdr::StateLayout state_layout = gdr::StateLayout::kv;
  gdr::Algorithm algorithm = gdr::Algorithm::automatic;
  float scale = 1.0f;
  bool qk_l2norm = false;
  float qk_l2norm_eps = 1e-6f;

  int64_t o_count() const { return shape.batch * shape.seq_len * shape.heads * shape.value_dim; }
  int64_t state_count() const { return sequences * shape.heads * shape.key_dim * shape.value_dim; }
  std::vector<int64_t> o_shape() const;
  std::vector<int64_t> state_shape() const;
  int64_t longest_sequence() const;
};

/// Throws std::runtime_error("<file>: <reason>").
Problem load_problem(const Options& options);

/// The arguments that host and device pointers have in common.
template <class Args>
void set_options(const Problem& problem, Args& args) {
  args.shape = problem.shape;
  args.scale = problem.scale;
  args.qk_l2norm = problem.qk_l2norm;
  args.qk_l2norm_eps = problem.qk_l2norm_eps;
  args.algorithm = problem.algorithm;
}

/// Bytes that no kernel can avoid: each input read once, each output written once.
double bytes_moved(const Problem& problem);

/// "bfloat16, K 128, V 128, gate key log, rule delta"
std::string describe_layer(const gdr::LayerKey& key);

/// The layer as an item of GDR_RUN_LAYERS: "bfloat16/128/key/log/delta".
std::string layer_item(const gdr::LayerKey& key);

/// `value` rounded to a type, to nearest and ties to even.
float round_to(gdr::DataType type, double value);

}  // namespace gdr_run
