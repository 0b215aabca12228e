// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The command line.

#include "names.hpp"

#include <optional>
#include <string>

namespace gdr_run {

struct Options {
  // Files; empty: none.
  std::string q;            // [B, T, Hk, K]
  std::string k;            // [B, T, Hk, K]
  std::string v;            // [B, T, Hv, V]
  std::string gate;         // [B, T, Hv, V], [B, T, Hv, K] or [B, T, Hv] by the axis
  std::string beta;         // [B, T, Hv]
  std::string state;        // [N, Hv, K, V] or [N, Hv, V, K] by the layout
  std::string cu_seqlens;   // [N + 1]
  std::string o;            // to be written, [B, T, Hv, V]
  std::string final_state;  // to be written, as `state`

  gdr::DataType compute = gdr::DataType::float32;
  gdr::GateAxis axis = gdr::GateAxis::value;
  Space space = Space::linear;
  Rule rule = Rule::outer_product;
  gdr::Algorithm algorithm = gdr::Algorithm::automatic;
  gdr::StateLayout state_layout = gdr::StateLayout::kv;
  Device device = Device::automatic;
  float scale = 1.0f;
  bool qk_l2norm = false;
  float qk_l2norm_eps = 1e-6f;
  bool check = false;
};

/// Nothing where the line asks for help or the version, which is then printed. Throws
/// std::runtime_error where the line is wrong.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace gdr_run
