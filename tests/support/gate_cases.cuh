// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Gates (G1 to G11) in either space: bodies of the gates tests, for lists of layers and a form.
/// Recipes are factors; the layer's space decides what the tensor holds.

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "device_run.cuh"

namespace gdr::test::gate_cases {

inline Spec gate_spec(Algorithm algorithm, std::int64_t tokens) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = tokens;
  spec.shape.heads = 2;
  spec.algorithm = algorithm;
  return spec.with_states();
}

/// Runs a recipe of factors.
template <class L>
void run_factors(Spec spec, const Fill& factors) {
  spec.gate_values = fills::in_space<L>(factors);
  run_and_check<L>(spec);
}

/// 0 on whole rows: after the last of them nothing of the past is left, however large it was.
template <class L>
void check_resets(const Spec& spec, std::int64_t last_reset) {
  Problem<L> problem = make_problem<L>(spec);
  const Result result = run_and_check(problem);

  problem.set_initial_state(
      std::vector<float>(static_cast<std::size_t>(problem.initial_state.count()), 1e20f));
  problem.v.for_each([&](const Index& at, std::int64_t) {
    if (at.time < last_reset) problem.set(problem.v, at, 1000);
  });
  Scope after;
  problem.o.for_each(
      [&](const Index& at, std::int64_t) { after.o.push_back(at.time >= last_reset ? 1 : 0); });
  const Result other = run_on_device(problem);
  expect_matches(problem, other, after);
  if (spec.algorithm != Algorithm::recurrent) return;
  const Verdict o = same_bits(result.o, other.o, after.o);
  EXPECT_TRUE(o.ok) << o.message;
  const Verdict state = same_bits(result.final_state, other.final_state);
  EXPECT_TRUE(state.ok) << state.message;
}

// fla#20
template <class Layers>
void resets_forget_the_past(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const auto run = [&](const std::vector<std::int64_t>& times, double zero) {
      Spec spec = gate_spec(algorithm, 130);
      spec.gate_values = fills::in_space<L>(fills::at_times(fills::constant(0.99), times, zero));
      check_resets<L>(spec, times.back());
    };
    run({0, 15, 16, 31, 32, 63, 64, 129}, 0);
    run({0, 15, 16, 31, 32, 63, 64}, 0);
    run({70}, -0.0);
  });
}

// Alone of everything before and after, a token right after a reset reads (q . k) v. Outer product.
template <class Layers>
void reset_token_reads_itself(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const std::vector<std::int64_t> resets = {0, 15, 16, 31, 32, 63, 64, 129};
    Spec spec = gate_spec(algorithm, 130);
    spec.gate_values = fills::in_space<L>(fills::at_times(fills::constant(0.99), resets, 0));
    const Problem<L> problem = make_problem<L>(spec);
    const Result result = run_on_device(problem);
    const double bound = error_bound(L::element_type, form_of(algorithm), 130, false);
    std::vector<double> x, ref, m;
    problem.o.for_each([&](const Index& at, std::int64_t) {
      const std::size_t place = ref.size();
      double dot = 0;
      double absolute = 0;
      for (std::int64_t c = 0; c < L::key_dim; ++c) {
        const Index key{at.batch, at.time, at.head, c};
        const double product = problem.value(problem.q, key) * problem.value(problem.k, key);
        dot += product;
        absolute += std::fabs(product);
      }
      const double v = problem.value(problem.v, at);
      x.push_back(static_cast<double>(result.o[place]));
      ref.push_back(dot * v);
      m.push_back(absolute * std::fabs(v));
    });
    Mask mask;
    problem.o.for_each([&](const Index& at, std::int64_t) {
      mask.push_back(std::find(resets.begin(), resets.end(), at.time) != resets.end() ? 1 : 0);
    });
    const Verdict verdict =
        compare(x, ref, m, token_rows(2 * 130 * 2, L::value_dim),
                {bound, smallest_normal(L::element_type), /*whole_tensor=*/false}, mask);
    EXPECT_TRUE(verdict.ok) << verdict.message << "; " << problem.describe();
  });
}

// Channels 0, 8, 16, ... are reset at tokens of their own, the others are not.
template <class Layers>
void one_channel_in_eight_is_reset(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const double probability : {0.01, 0.1, 0.5}) {
      SCOPED_TRACE(probability);
      run_factors<L>(gate_spec(algorithm, 200), [=](Random& random, const Index& at) {
        const double usual = random.uniform(0.9, 1);
        return at.channel % 8 == 0 && random.chance(probability) ? 0 : usual;
      });
    }
  });
}

// fla#215
template <class Layers>
void gates_above_one(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const bool is_half = L::element_type == DataType::float16;
    const struct {
      double gate;
      std::int64_t tokens;
    } cases[] = {{1.01, is_half ? 130 : 1024}, {1.2, is_half ? 25 : 130}, {2.0, is_half ? 6 : 100}};
    for (const auto& c : cases) {
      SCOPED_TRACE(c.gate);
      run_factors<L>(gate_spec(algorithm, c.tokens), fills::constant(c.gate));
    }
  });
}

// Products of 64 gates at the edges of what a float's exponent holds with room to spare, and
// channels far apart in one tile.
template <class Layers>
void products_at_the_edge_of_range(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const double gate : {0.7, 0.51, 0.5, 0.49, 0.25, 0.2, 0.13, 1e-3}) {
      SCOPED_TRACE(gate);
      run_factors<L>(gate_spec(algorithm, 200), fills::constant(gate));
    }
    // Each channel at a rate of its own: from 0.98 down to 0.98 / 65.
    run_factors<L>(gate_spec(algorithm, 200), [](Random&, const Index& at) {
      return 0.98 / static_cast<double>(1 + at.channel + at.head);
    });
    // Up and down by 2^+-3, so that products cross the whole range and come back.
    if (L::element_type == DataType::float16) return;
    run_factors<L>(gate_spec(algorithm, 192), [](Random&, const Index& at) {
      return at.time % 64 < 32 ? 0.125 : at.time % 64 < 60 ? 8.0 : 1.0;
    });
  });
}

// sglang#27488; exp(-100) is a denormal float.
template <class Layers>
void fast_tokens_then_ones(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    run_factors<L>(gate_spec(algorithm, 64),
                   [](Random&, const Index& at) { return at.time < 8 ? std::exp(-100.0) : 1; });
  });
}

// flashinfer#2490: the space belongs to the layer's type; the same tensor means two things.
template <class LinearLayer, class LogLayer>
void the_space_is_the_types(Algorithm algorithm) {
  static_assert(!std::is_same_v<LinearLayer, LogLayer>);
  static_assert(!std::is_convertible_v<ForwardArgs<LinearLayer>, ForwardArgs<LogLayer>>);
  Spec spec = gate_spec(algorithm, 20);
  spec.gate_values = fills::uniform(0.1, 0.3);
  const Result log = run_and_check<LogLayer>(spec);
  const Result linear = run_and_check<LinearLayer>(spec);
  EXPECT_FALSE(same_bits(log.o, linear.o).ok);
}

// fla#104
template <class Layers>
void ones_do_not_drift(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = gate_spec(algorithm, 8192);
    spec.shape.batch = 1;
    spec.shape.heads = 1;
    spec.v_values = fills::normal(1);
    run_factors<L>(spec, fills::constant(1));
  });
}

}  // namespace gdr::test::gate_cases
