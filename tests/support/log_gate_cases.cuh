// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Gates of log space: minus infinity, steep runs, slow rates.

#include <limits>

#include "gate_cases.cuh"

namespace gdr::test::gate_cases {

inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

inline Fill usual_logs() { return fills::log_of(fills::uniform(0.9, 1)); }

template <class L>
void run_logs(Spec spec, const Fill& logs) {
  spec.gate_values = logs;
  const auto problem = make_problem<L>(spec);
  run_and_check(problem, scope_of(problem));
}

// lattice#235
template <class Layers>
void minus_infinity_is_a_reset(Layers layers, Algorithm algorithm) {
  const Fill usual = usual_logs();
  const auto all_of = [&](std::int64_t begin, std::int64_t end) -> Fill {
    return [=](Random& random, const Index& at) {
      const double other = usual(random, at);
      return at.time >= begin && at.time < end ? minus_infinity : other;
    };
  };
  const Fill recipes[] = {all_of(64, 128),
                          all_of(0, 16),
                          all_of(16, 130),
                          all_of(0, 1),
                          fills::on_channel(usual, 0, fills::constant(minus_infinity)),
                          fills::on_channel(usual, 0, fills::sometimes(usual, 0.2, minus_infinity)),
                          fills::sometimes(usual, 0.05, minus_infinity)};
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const Fill& recipe : recipes) run_logs<L>(gate_spec(algorithm, 130), recipe);
  });
}

// fla#794
template <class Layers>
void fast_gates_at_every_tail(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {1, 2, 15, 17, 63, 65, 100, 127}) {
      run_logs<L>(gate_spec(algorithm, tokens), fills::constant(-8));
    }
  });
}

// flashinfer#5032
template <class Layers>
void steep_gates(Layers layers, Algorithm algorithm) {
  const Fill usual = usual_logs();
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const double gate : {-5.6, -6.0, -10.0, -20.0}) {
      for (const std::int64_t steep : {16, 32, 64}) {
        run_logs<L>(gate_spec(algorithm, 130), [=](Random& random, const Index& at) {
          return at.time < steep ? gate : usual(random, at);
        });
      }
    }
  });
}

/// One channel of o as a tensor of its own: a fault there is not lost among the others.
inline std::vector<double> channel_of(const std::vector<double>& o, std::int64_t channels,
                                      std::int64_t channel) {
  std::vector<double> own;
  for (std::size_t at = static_cast<std::size_t>(channel); at < o.size();
       at += static_cast<std::size_t>(channels)) {
    own.push_back(o[at]);
  }
  return own;
}

template <class Layers>
void slow_channel_beside_a_fast_one(Layers layers, Algorithm algorithm) {
  const Fill usual = usual_logs();
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const double gate : {-5.6, -20.0}) {
      Spec spec = gate_spec(algorithm, 130);
      spec.gate_values = fills::on_channel(fills::on_channel(usual, 0, fills::constant(gate)), 1,
                                           fills::constant(std::log(0.999)));
      const Problem<L> problem = make_problem<L>(spec);
      const Result result = run_and_check(problem);
      if (L::Gate::axis != GateAxis::value) continue;
      const Expected expected = expect(problem);
      const auto x = channel_of({result.o.begin(), result.o.end()}, L::value_dim, 1);
      const auto ref = channel_of(expected.o, L::value_dim, 1);
      const double bound = error_bound(L::element_type, form_of(algorithm), 130, false);
      const Verdict verdict =
          compare(x, ref, {}, {1, 1, static_cast<std::int64_t>(x.size()), 0, 0, 1}, {bound, 0});
      EXPECT_TRUE(verdict.ok) << verdict.message;
    }
  });
}

// tt-metal#56550
template <class Layers>
void steep_and_flat_alternate(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    run_logs<L>(gate_spec(algorithm, 130), fills::alternating(-80, 0));
    run_logs<L>(gate_spec(algorithm, 130), fills::one_of({-80, 0}));
  });
}

// Slow gates, where exp alone loses what 1 - a is, and the whole range of rates.
template <class Layers>
void slow_gates_keep_their_rate(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = gate_spec(algorithm, 1024);
    spec.shape.batch = 1;
    for (const double gate : {-1e-3, -1e-5, -0.499, -0.5, -0.501, -0.7}) {
      SCOPED_TRACE(gate);
      run_logs<L>(spec, fills::constant(gate));
    }
    run_factors<L>(spec, fills::log_range(1e-6, 1));
    run_logs<L>(spec, [](Random& random, const Index&) {
      return -std::exp(random.uniform(std::log(1e-6), std::log(20.0)));
    });
  });
}

}  // namespace gdr::test::gate_cases
