// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What a test problem is made of, in words that a failure prints.

#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <gdr/types.hpp>

#include "fills.hpp"
#include "tensors.hpp"

namespace gdr::test {

/// What a problem is made of. Empty recipes mean: q, k, v and states normal, gate factors uniform
/// in (0.9, 1), beta uniform in (0, 1).
struct Spec {
  std::uint64_t seed = 1;
  Shape shape{};
  float scale = 1.0f;
  Algorithm algorithm = Algorithm::recurrent;

  Fill q_values, k_values, v_values, gate_values, beta_values, state_values;
  Layout q, k, v, gate, beta, o;
  bool packed_qkv = false;  // q, k, v are slices of one [B, T, 3, H, D] tensor
  bool null_o = false;
  DataType beta_type = DataType::float32;

  StateSpec initial_state, final_state;
  bool in_place = false;  // the final state is the initial state's buffer

  std::vector<std::int64_t> cu_seqlens;  // empty: dense
  bool cu_seqlens_int64 = false;

  bool qk_l2norm = false;
  float qk_l2norm_eps = 1e-6f;
  bool batch_invariant = false;
  bool split_state_operand = false;

  Gap gap = Gap::nan;

  /// Both states, float32 and contiguous.
  Spec& with_states() {
    initial_state.present = true;
    final_state.present = true;
    return *this;
  }

  std::string describe() const {
    std::ostringstream text;
    text << "seed " << seed << ", B " << shape.batch << " T " << shape.seq_len << " Hv "
         << shape.heads << " Hk " << shape.key_heads << " K " << shape.key_dim << " V "
         << shape.value_dim << ", scale " << scale << ", algorithm " << static_cast<int>(algorithm);
    const auto layout = [&text](const char* name, const Layout& l) {
      if (!l.describe().empty()) text << ", " << name << ':' << l.describe();
    };
    layout("q", q);
    layout("k", k);
    layout("v", v);
    layout("gate", gate);
    layout("beta", beta);
    layout("o", o);
    if (packed_qkv) text << ", packed qkv";
    if (null_o) text << ", o null";
    text << ", beta " << name_of(beta_type);
    text << ", initial state" << initial_state.describe();
    if (in_place) {
      text << ", final state in place";
    } else {
      text << ", final state" << final_state.describe();
    }
    if (!cu_seqlens.empty()) {
      text << ", cu_seqlens " << (cu_seqlens_int64 ? "int64 [" : "int32 [");
      for (std::size_t n = 0; n < cu_seqlens.size() && n < 12; ++n) text << ' ' << cu_seqlens[n];
      text << (cu_seqlens.size() > 12 ? " ..." : "") << " ]";
    }
    if (qk_l2norm) text << ", qk_l2norm eps " << qk_l2norm_eps;
    if (batch_invariant) text << ", batch invariant";
    if (split_state_operand) text << ", split state operand";
    return text.str();
  }
};

/// A layer's name for messages.
template <class Layer>
std::string layer_name() {
  constexpr GateAxis axis = Layer::Gate::axis;
  std::ostringstream text;
  text << (axis == GateAxis::value  ? "value"
           : axis == GateAxis::key  ? "key"
           : axis == GateAxis::head ? "head"
                                    : "no")
       << " gate, " << (std::is_same_v<typename Layer::Space, Log> ? "log" : "linear") << ", "
       << (Layer::Rule::uses_beta ? "delta rule" : "outer product") << ", "
       << name_of(Layer::element_type) << ", gate " << name_of(Layer::gate_type) << ", K "
       << Layer::key_dim << ", V " << Layer::value_dim;
  return text.str();
}

}  // namespace gdr::test
