// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Part GDR_TEST_PART of GDR_TEST_PARTS of the pairwise list: each layer in each form, on random
// problems. A form that does not serve a layer is refused, by query and launcher alike.

#include "list.hpp"

#include "support/extent_cases.cuh"
#include "support/random_problems.cuh"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gdr::test {
namespace {

constexpr int first_layer = pairwise_size * GDR_TEST_PART / GDR_TEST_PARTS;
constexpr int layers = pairwise_size * (GDR_TEST_PART + 1) / GDR_TEST_PARTS - first_layer;

template <int... n>
auto numbers(std::integer_sequence<int, n...>)
    -> testing::Types<std::integral_constant<int, first_layer + n>...>;
using Numbers = decltype(numbers(std::make_integer_sequence<int, layers>{}));

template <class Number>
using LayerOf = PairwiseLayer<Number::value, __half, __nv_bfloat16>;

struct Names {
  template <class Number>
  static std::string GetName(int) {
    std::string name = std::to_string(Number::value);
    for (const std::string& choice : choices_of<LayerOf<Number>>()) {
      if (!choice.empty()) name += '_' + choice;
    }
    return name;
  }
};

template <class L>
constexpr bool is_served(Algorithm algorithm) {
  return algorithm == Algorithm::recurrent || !L::Rule::uses_beta;
}

/// Under the delta rule keys of few channels may cancel the state that they meet, unless every
/// number is positive and beta is below 1.
template <class L>
constexpr bool has_few_keys = L::key_dim < 8 && L::Rule::uses_beta;

template <class L>
Spec draw_spec(std::uint64_t seed, Algorithm algorithm) {
  using Outer =
      Recurrence<HeadDims<L::key_dim, L::value_dim>, typename L::Element, typename L::Gate>;
  using Drawn = std::conditional_t<has_few_keys<L>, Outer, L>;
  Spec spec = detail::random_spec<Drawn>(seed, algorithm);
  Random random(~seed);
  Fill factors = detail::random_factors(random);
  if constexpr (has_few_keys<L>) {
    factors = fills::uniform(0.5, 1);
    spec.q_values = spec.k_values = spec.v_values = spec.state_values = fills::uniform(0.5, 1.5);
    spec.beta_values = fills::uniform(0, 1);
    if (std::is_same_v<typename L::GateFunction, typename L::Space>) {
      spec.gate_values = fills::in_space<L>(factors);
    }
  }
  if (std::is_same_v<typename L::GateFunction, OneMinus>) {
    spec.gate_values = [=](Random& r, const Index& at) { return 1 - factors(r, at); };
  }
  if (std::is_same_v<typename L::BetaFunction, Sigmoid>) spec.beta_values = fills::normal(0, 2);
  // Device and host evaluate a function to within an ulp or two of each other, which one gate for
  // all tokens would repeat past what float32's bound leaves.
  if (!std::is_same_v<typename L::GateFunction, typename L::Space>) spec.gate.repeat_time = false;
  return spec;
}

/// a_log and dt_bias, either of them null at times, the latter by head or by channel.
template <class L>
void draw_decay(Random& random, Problem<L>& problem) {
  const std::int64_t heads = problem.spec.shape.heads;
  const std::int64_t channels = random.chance(0.5) ? problem.gate.channels : 1;
  std::vector<float> parameters;
  for (std::int64_t i = 0; i < heads; ++i) {
    parameters.push_back(static_cast<float>(random.uniform(-3, 1)));
  }
  for (std::int64_t i = 0; i < heads * channels; ++i) {
    parameters.push_back(static_cast<float>(random.uniform(-4, 1)));
  }
  problem.add_parameters(parameters);
  const bool has_rates = random.chance(0.8);
  const bool has_biases = random.chance(0.8);
  problem.bind_parameters = [=](ForwardArgs<L>& args, const float* base) {
    args.gate_function.a_log = has_rates ? base : nullptr;
    args.gate_function.dt_bias = has_biases ? base + heads : nullptr;
    args.gate_function.dt_bias_channels = static_cast<int>(channels);
  };
}

template <class L>
Problem<L> draw_problem(std::uint64_t seed, Algorithm algorithm) {
  using Function = typename L::GateFunction;
  Problem<L> problem = make_problem<L>(draw_spec<L>(seed, algorithm));
  Random random(seed + 1);
  const auto temperature = [&random] { return random.pick<float>({1, 16, 0.5f}); };
  if constexpr (std::is_same_v<Function, Sigmoid> || std::is_same_v<Function, LogSigmoid>) {
    problem.gate_function.temperature = temperature();
  } else if constexpr (std::is_same_v<Function, SoftplusDecay>) {
    draw_decay(random, problem);
  }
  if constexpr (std::is_same_v<typename L::BetaFunction, Sigmoid>) {
    problem.beta_function.temperature = temperature();
  }
  return problem;
}

/// A state of few numbers may cancel as a whole, too.
inline Scope scope_of_drawn(const ProblemData& data) {
  const Shape& shape = data.spec.shape;
  const std::int64_t numbers = data.sequences() * shape.heads * shape.key_dim * shape.value_dim;
  Scope scope = scope_of(data);
  scope.whole_tensor = scope.whole_tensor && !detail::may_cancel(data.spec) && numbers >= 64;
  return scope;
}

template <class L>
void ask_run_and_check(const Problem<L>& problem) {
  const DeviceProblem<L> device(problem);
  const Status asked = can_forward<L>(device.args());
  const Status launched = device.launch();
  EXPECT_EQ(launched.ok(), is_served<L>(problem.spec.algorithm))
      << describe(launched) << "; " << problem.describe();
  EXPECT_EQ(asked.code, launched.code) << describe(asked) << "; " << describe(launched);
  EXPECT_STREQ(asked.argument, launched.argument);
  EXPECT_STREQ(asked.message, launched.message);
  if (launched.ok()) {
    expect_matches(problem, device.collect(), scope_of_drawn(problem));
  } else {
    device.expect_nothing_written();
  }
}

template <class Number>
class Pairwise : public DeviceTest {
 protected:
  using L = LayerOf<Number>;

  void check(Algorithm algorithm) const {
    const std::uint64_t seed = 1000000 * static_cast<std::uint64_t>(GTEST_FLAG_GET(random_seed)) +
                               1000 * static_cast<std::uint64_t>(Number::value);
    const int problems = is_served<L>(algorithm) ? 6 : 1;
    for (int i = 0; i < problems && !HasFailure(); ++i) {
      ask_run_and_check(draw_problem<L>(seed + static_cast<std::uint64_t>(i), algorithm));
    }
    if (!is_served<L>(algorithm)) return;
    extent_cases::expect_refused<L>(algorithm, &Shape::key_dim, L::key_dim + 1, "shape.key_dim");
  }
};

TYPED_TEST_SUITE(Pairwise, Numbers, Names);

TYPED_TEST(Pairwise, Recurrent) { this->check(Algorithm::recurrent); }
TYPED_TEST(Pairwise, Chunked) { this->check(Algorithm::chunked); }
TYPED_TEST(Pairwise, ChunkedSplit) { this->check(Algorithm::chunked_split); }

}  // namespace
}  // namespace gdr::test
