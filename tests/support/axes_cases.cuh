// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Every axis, space and rule for one element type: the body of the forward_axes tests.

#include "device_run.cuh"

namespace gdr::test {

/// Linear gates in the layer's type, log gates in float32.
template <class Element, class Rule>
using EveryAxis = LayerList<Recurrence<HeadDims<32, 48>, Element, ValueGate<Linear>, Rule>,
                            Recurrence<HeadDims<32, 48>, Element, ValueGate<Log, float>, Rule>,
                            Recurrence<HeadDims<32, 48>, Element, KeyGate<Linear>, Rule>,
                            Recurrence<HeadDims<32, 48>, Element, KeyGate<Log, float>, Rule>,
                            Recurrence<HeadDims<32, 48>, Element, HeadGate<Linear>, Rule>,
                            Recurrence<HeadDims<32, 48>, Element, HeadGate<Log, float>, Rule>,
                            Recurrence<HeadDims<32, 48>, Element, NoGate, Rule>>;

inline Spec axes_spec(Algorithm algorithm) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = 70;
  spec.shape.heads = 4;
  spec.shape.key_heads = 2;
  spec.scale = -0.3f;
  spec.algorithm = algorithm;
  spec.with_states();
  return spec;
}

/// Extents, lengths and grouped heads.
template <class L>
void check_axis(Algorithm algorithm) {
  for (const auto& [key_dim, value_dim] :
       {std::pair{32, 48}, {24, 40}, {7, 33}, {8, 1}, {31, 47}}) {
    for (const std::int64_t tokens : {1, 33, 130}) {
      Spec spec = axes_spec(algorithm);
      spec.shape.seq_len = tokens;
      spec.shape.key_dim = key_dim;
      spec.shape.value_dim = value_dim;
      run_and_check<L>(spec);
    }
  }
}

/// Normalisation of q and k inside the kernel.
template <class L>
void check_l2norm(Algorithm algorithm) {
  for (const float eps : {1e-6f, 0.1f, 0.0f}) {
    for (const double size : {1e-3, 1.0, 100.0}) {
      Spec spec = axes_spec(algorithm);
      spec.qk_l2norm = true;
      spec.qk_l2norm_eps = eps;
      spec.q_values = spec.k_values = fills::normal(0, size);
      run_and_check<L>(spec);
    }
  }
  Spec spec = axes_spec(algorithm);
  spec.shape.key_dim = 19;
  spec.qk_l2norm = true;
  run_and_check<L>(spec);
  // All zeros have length sqrt(eps) and stay zeros.
  spec.q_values = spec.k_values = [](Random& random, const Index& at) {
    const double x = random.normal();
    return at.time % 3 == 0 ? 0 : x;
  };
  run_and_check<L>(spec);
}

/// Beta of either type, also above 1.
template <class L>
void check_beta(Algorithm algorithm) {
  for (const DataType type : {DataType::float32, L::element_type}) {
    Spec spec = axes_spec(algorithm);
    spec.beta_type = type;
    run_and_check<L>(spec);
    spec.beta_values = fills::uniform(0, 2);
    run_and_check<L>(spec);
    spec.beta_values = fills::one_of({0, 1});
    run_and_check<L>(spec);
  }
}

template <class Element>
void check_outer_product(Algorithm algorithm) {
  for_each_layer(EveryAxis<Element, OuterProduct>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    check_axis<L>(algorithm);
    check_l2norm<L>(algorithm);
  });
}

template <class Element>
void check_delta_rule(Algorithm algorithm) {
  for_each_layer(EveryAxis<Element, DeltaRule<>>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    check_axis<L>(algorithm);
    check_l2norm<L>(algorithm);
    check_beta<L>(algorithm);
  });
}

}  // namespace gdr::test
