// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Gates that linear space alone can say: negative, tiny, denormal, and all kinds mixed.

#include "gate_cases.cuh"

namespace gdr::test::gate_cases {

template <class Layers>
void negative_gates(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    run_factors<L>(gate_spec(algorithm, 130), fills::uniform(-1, 1));
    run_factors<L>(gate_spec(algorithm, 130), fills::alternating(-1, 1));
    run_factors<L>(gate_spec(algorithm, 130), fills::one_of({-1, 1}));
  });
}

// fla#1007
template <class Layers>
void tiny_and_denormal_gates(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Spec spec = gate_spec(algorithm, 70);
    for (const double gate : {1e-12, 1e-30, 1e-38, 1e-45, 0.0}) {
      SCOPED_TRACE(gate);
      run_factors<L>(spec, fills::constant(gate));
      run_factors<L>(spec, fills::sometimes(fills::uniform(0.9, 1), 0.1, gate));
    }
    run_factors<L>(spec, fills::one_of({1e-12, 1e-30, 1e-38, 1e-45, 0.0, -0.0, 0.99, 1}));
  });
}

// A denormal gate keeps a huge state in sight.
template <class Layers>
void denormal_gate_on_a_large_state(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t token : {0, 2}) {
      Spec spec = gate_spec(algorithm, 5);
      spec.state_values = fills::normal(0, 1e36);
      spec.q_values = [=](Random& random, const Index& at) {  // sums of 64 stay in range
        return random.normal() * (at.time < token ? 1e-3 : 1);
      };
      spec.k_values = fills::normal(0, 1e-6);
      run_factors<L>(spec, fills::at_times(fills::constant(1), {token}, 1e-39));
    }
  });
}

template <class Layers>
void odd_gates_mixed(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    run_factors<L>(gate_spec(algorithm, 130), fills::odd());
    run_factors<L>(gate_spec(algorithm, 130), fills::sometimes(fills::odd(), 0.8, 1.0));
  });
}

}  // namespace gdr::test::gate_cases
