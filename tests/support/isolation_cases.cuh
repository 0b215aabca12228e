// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What a NaN or an infinity may reach (L7): its own and later tokens of its sequence and head, and
/// with a value gate its own channel where it stands in v or the gate.

#include <limits>
#include <string>
#include <vector>

#include "device_run.cuh"

namespace gdr::test::isolation_cases {

/// A problem without faults and what comes of it.
template <class L>
struct Clean {
  Problem<L> problem;
  Expected expected;
  Result result;
};

template <class L>
Clean<L> run_clean(const Spec& spec) {
  Clean<L> clean{make_problem<L>(spec), {}, {}};
  clean.expected = expect(clean.problem);
  clean.result = run_on_device(clean.problem);
  expect_matches(clean.problem, clean.expected, clean.result);
  return clean;
}

/// Puts `bad` at one place of one tensor and checks everything that it may not reach: earlier
/// tokens, other heads and batch rows, and other channels where the gate's axis promises that.
template <class L>
void check_isolation(const Clean<L>& clean, Tensor ProblemData::*tensor, const Index& at,
                     double bad) {
  Problem<L> problem = clean.problem;
  const std::int64_t group = problem.spec.shape.heads / problem.spec.shape.key_heads;
  problem.set(problem.*tensor, at, bad);
  const bool by_key_head = (problem.*tensor).storage == problem.k.storage ||
                           (problem.*tensor).storage == problem.q.storage;
  const bool only_its_token = (problem.*tensor).storage == problem.q.storage;
  const bool only_its_channel =
      L::Gate::axis == GateAxis::value && ((problem.*tensor).storage == problem.v.storage ||
                                           (problem.*tensor).storage == problem.gate.storage);
  const auto spoilt = [&](std::int64_t b, std::int64_t head, std::int64_t channel) {
    const std::int64_t owner = by_key_head ? head / group : head;
    return b == at.batch && owner == at.head && (!only_its_channel || channel == at.channel);
  };
  Scope scope;
  problem.o.for_each([&](const Index& place, std::int64_t) {
    const bool later = only_its_token ? place.time == at.time : place.time >= at.time;
    scope.o.push_back(later && spoilt(place.batch, place.head, place.channel) ? 0 : 1);
  });
  for (std::int64_t i = 0; i < problem.final_state.count(); ++i) {
    const std::int64_t matrix = i / (L::key_dim * L::value_dim);
    scope.final_state.push_back(!only_its_token &&
                                        spoilt(matrix / problem.spec.shape.heads,
                                               matrix % problem.spec.shape.heads, i % L::value_dim)
                                    ? 0
                                    : 1);
  }
  const Result result = run_on_device(problem);
  expect_matches(clean.problem, clean.expected, result, scope);
  if (problem.spec.algorithm == Algorithm::recurrent) {
    const Verdict o = same_bits(result.o, clean.result.o, scope.o);
    EXPECT_TRUE(o.ok) << o.message;
    const Verdict state =
        same_bits(result.final_state, clean.result.final_state, scope.final_state);
    EXPECT_TRUE(state.ok) << state.message;
  }
}

/// B 2, Hv 4, Hk 2; faults at each of `times`, by turns in every tensor.
template <class Layers>
void non_finite_inputs_reach_nothing_else(Layers layers, Algorithm algorithm, std::int64_t tokens,
                                          const std::vector<std::int64_t>& times) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = tokens;
    spec.shape.heads = 4;
    spec.shape.key_heads = 2;
    spec.algorithm = algorithm;
    const Clean<L> clean = run_clean<L>(spec.with_states());
    const std::int64_t last_gate = clean.problem.gate.channels - 1;
    constexpr int K = L::key_dim;
    constexpr int V = L::value_dim;
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity()}) {
      for (const std::int64_t t : times) {
        SCOPED_TRACE(std::to_string(bad) + " at token " + std::to_string(t));
        check_isolation(clean, &ProblemData::q, {1, t, 0, K - 1}, bad);
        check_isolation(clean, &ProblemData::k, {0, t, 1, K / 12}, bad);
        check_isolation(clean, &ProblemData::v, {1, t, 1, V / 2 + 1}, bad);
        if (clean.problem.gate.present()) {
          check_isolation(clean, &ProblemData::gate, {0, t, 2, last_gate}, bad);
        }
        if (clean.problem.beta.present()) {
          check_isolation(clean, &ProblemData::beta, {1, t, 3, 0}, bad);
        }
      }
    }
  });
}

}  // namespace gdr::test::isolation_cases
