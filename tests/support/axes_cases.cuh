// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Every axis, space and rule for one element type: the body of the forward_axes tests.

#include <algorithm>
#include <cmath>
#include <utility>

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

/// Extents, lengths, grouped heads; with states and without.
template <class L>
void check_axis(Algorithm algorithm) {
  const bool chunked = form_of(algorithm) == Form::chunked;
  const auto run = [](const Spec& spec) {
    const Problem<L> problem = make_problem<L>(spec);
    run_and_check(problem, scope_of(problem));
  };
  for (const auto& [key_dim, value_dim] :
       {std::pair{32, 48}, {24, 40}, {7, 33}, {8, 1}, {31, 47}}) {
    for (const std::int64_t tokens : {1, 33, 64, 130, 200}) {
      Spec spec = axes_spec(algorithm);
      spec.shape.seq_len = tokens;
      spec.shape.key_dim = key_dim;
      spec.shape.value_dim = value_dim;
      run(spec);
      spec.split_state_operand = chunked;
      if (chunked) run(spec);
      spec = axes_spec(algorithm);  // plain: no state, as many key heads as heads
      spec.shape.seq_len = tokens;
      spec.shape.key_dim = key_dim;
      spec.shape.value_dim = value_dim;
      spec.shape.key_heads = 0;
      spec.initial_state.present = spec.final_state.present = false;
      spec.scale = 1;
      run(spec);
    }
  }
}

/// One problem with tails, grouped heads and states, under slow gates and under resets: what a tool
/// that slows a kernel a hundredfold can run.
template <class L>
void check_small_case(Algorithm algorithm) {
  Spec spec = axes_spec(algorithm);
  spec.shape.seq_len = 139;
  run_and_check<L>(spec);
  spec.gate_values = fills::in_space<L>(fills::one_of({0, 0.75, 1}));
  run_and_check<L>(spec);
}

/// q orthogonal to a large common part of the state: what is left is as exact as elsewhere once the
/// state operand is in two parts. Gates that leave the common part common; 16-bit types, float32's
/// bound being near what two parts hold.
template <class L>
void check_split_state_operand(Algorithm algorithm) {
  Spec spec = axes_spec(algorithm);
  spec.state_values = fills::normal(240, 1);
  spec.q_values = [](Random&, const Index& at) {  // pairs x, -x
    Random own(static_cast<std::uint64_t>(((at.batch * 1000 + at.time) * 100 + at.head) * 1000 +
                                          at.channel / 2));
    const double x = own.normal();
    return at.channel % 2 == 0 ? x : -x;
  };
  spec.gate_values = fills::in_space<L>(fills::uniform(0.98, 1));
  const auto error = [&](bool split) {
    spec.split_state_operand = split;
    const Problem<L> problem = make_problem<L>(spec);
    const Result result = run_on_device(problem);
    const Expected expected = expect(problem);
    Scope rows;
    rows.whole_tensor = false;
    expect_matches(problem, expected, result, rows);
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < result.o.size(); ++i) {
      const double d = static_cast<double>(result.o[i]) - expected.o[i];
      difference += d * d;
      size += expected.o[i] * expected.o[i];
    }
    return std::sqrt(difference / size);
  };
  const double whole = error(false);
  const double split = error(true);
  const double bound = error_bound(L::element_type, Form::chunked, spec.shape.seq_len, false);
  EXPECT_LE(split, std::max(2 * bound, whole / 8)) << "with one state operand " << whole;
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

template <class Element, class Rule>
void check_small_cases(Algorithm algorithm) {
  for_each_layer(EveryAxis<Element, Rule>{},
                 [&](auto layer) { check_small_case<typename decltype(layer)::type>(algorithm); });
}

template <class Element>
void check_outer_product(Algorithm algorithm) {
  for_each_layer(EveryAxis<Element, OuterProduct>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    check_axis<L>(algorithm);
    check_l2norm<L>(algorithm);
  });
}

/// Every axis but the key's, whose gates would tear the common part apart.
template <class Element>
void check_cancelling_states(Algorithm algorithm) {
  for_each_layer(EveryAxis<Element, OuterProduct>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    if constexpr (L::Gate::axis != GateAxis::key) check_split_state_operand<L>(algorithm);
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
