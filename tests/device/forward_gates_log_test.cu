// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Gates in log space, from -infinity to above 0.

#include "support/device_run.cuh"

#include <cmath>
#include <limits>
#include <type_traits>

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::Log;

template <class Element, class Gate, class Rule = gdr::OuterProduct>
using Layer = gdr::Recurrence<gdr::HeadDim<64>, Element, Gate, Rule>;

using ValueFloat = Layer<float, gdr::ValueGate<Log>>;
using KeyFloat = Layer<float, gdr::KeyGate<Log>>;
using HeadFloat = Layer<float, gdr::HeadGate<Log>>;
using ValueBfloat = Layer<__nv_bfloat16, gdr::ValueGate<Log>>;
using ValueHalf = Layer<__half, gdr::ValueGate<Log, float>>;
using KeyBfloatDelta = Layer<__nv_bfloat16, gdr::KeyGate<Log>, gdr::DeltaRule<>>;
using HeadFloatDelta = Layer<float, gdr::HeadGate<Log>, gdr::DeltaRule<>>;
using Every = LayerList<ValueFloat, KeyFloat, HeadFloat, ValueBfloat, ValueHalf, KeyBfloatDelta,
                        HeadFloatDelta>;
using PerChannel = LayerList<ValueFloat, KeyFloat, ValueBfloat, ValueHalf, KeyBfloatDelta>;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

class ForwardLogGates : public DeviceTestByForm {
 protected:
  Spec base(std::int64_t tokens) const {
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = tokens;
    spec.shape.heads = 2;
    spec.algorithm = GetParam();
    spec.with_states();
    return spec;
  }
};

INSTANTIATE_TEST_SUITE_P(Form, ForwardLogGates, every_form(), form_name);

const Fill usual = fills::log_of(fills::uniform(0.9, 1));

// lattice#235
TEST_P(ForwardLogGates, G2MinusInfinityIsAReset) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const auto all_of = [](std::int64_t begin, std::int64_t end) -> Fill {
      return [=](Random& random, const Index& at) {
        const double other = usual(random, at);
        return at.time >= begin && at.time < end ? minus_infinity : other;
      };
    };
    const Fill recipes[] = {
        all_of(64, 128),
        all_of(0, 16),
        all_of(16, 130),
        all_of(0, 1),
        fills::on_channel(usual, 0, fills::constant(minus_infinity)),
        fills::on_channel(usual, 0, fills::sometimes(usual, 0.2, minus_infinity)),
        fills::sometimes(usual, 0.05, minus_infinity)};
    for (const Fill& recipe : recipes) {
      Spec spec = base(130);
      spec.gate_values = recipe;
      run_and_check<L>(spec);
    }
  });
}

// fla#20, in log space: whole rows, and another past must not change one bit.
TEST_P(ForwardLogGates, G1ResetsForgetThePast) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(130);
    spec.gate_values = fills::at_times(fills::constant(std::log(0.99)),
                                       {0, 15, 16, 31, 32, 63, 64, 129}, minus_infinity);
    Problem<L> problem = make_problem<L>(spec);
    const Result result = run_and_check(problem);
    if (GetParam() != Algorithm::recurrent) return;
    problem.v.for_each([&](const Index& at, std::int64_t) {
      if (at.time < 64) problem.set(problem.v, at, 1000);
    });
    Mask after;
    problem.o.for_each(
        [&](const Index& at, std::int64_t) { after.push_back(at.time >= 64 ? 1 : 0); });
    const Result other = run_on_device(problem);
    const Verdict o = same_bits(result.o, other.o, after);
    EXPECT_TRUE(o.ok) << o.message;
    const Verdict state = same_bits(result.final_state, other.final_state);
    EXPECT_TRUE(state.ok) << state.message;
  });
}

// fla#794
TEST_P(ForwardLogGates, G3FastGatesAtEveryTail) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {1, 2, 15, 17, 63, 65, 100, 127}) {
      Spec spec = base(tokens);
      spec.gate_values = fills::constant(-8);
      run_and_check<L>(spec);
    }
  });
}

// fla#215
TEST_P(ForwardLogGates, G4GatesAboveOne) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const bool half = L::element_type == gdr::DataType::float16;
    const struct {
      double gate;
      std::int64_t tokens;
    } cases[] = {{1.01, half ? 130 : 1024}, {1.2, half ? 25 : 130}, {2.0, half ? 6 : 100}};
    for (const auto& c : cases) {
      SCOPED_TRACE(c.gate);
      Spec spec = base(c.tokens);
      spec.gate_values = fills::constant(std::log(c.gate));
      run_and_check<L>(spec);
    }
  });
}

// flashinfer#5032
TEST_P(ForwardLogGates, G7SteepGates) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const double gate : {-5.6, -6.0, -10.0, -20.0}) {
      for (const std::int64_t steep : {16, 32, 64}) {
        Spec spec = base(130);
        spec.gate_values = [=](Random& random, const Index& at) {
          return at.time < steep ? gate : usual(random, at);
        };
        run_and_check<L>(spec);
      }
    }
  });
}

/// One channel of o as a tensor of its own: a fault there is not lost among the others.
std::vector<double> channel_of(const std::vector<double>& o, std::int64_t channels,
                               std::int64_t channel) {
  std::vector<double> own;
  for (std::size_t at = static_cast<std::size_t>(channel); at < o.size();
       at += static_cast<std::size_t>(channels)) {
    own.push_back(o[at]);
  }
  return own;
}

TEST_P(ForwardLogGates, G7SlowChannelBesideAFastOne) {
  for_each_layer(PerChannel{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const double gate : {-5.6, -20.0}) {
      Spec spec = base(130);
      spec.gate_values = fills::on_channel(fills::on_channel(usual, 0, fills::constant(gate)), 1,
                                           fills::constant(std::log(0.999)));
      const Problem<L> problem = make_problem<L>(spec);
      const Result result = run_and_check(problem);
      if (L::Gate::axis != gdr::GateAxis::value) continue;
      const Expected expected = expect(problem);
      const auto x = channel_of({result.o.begin(), result.o.end()}, 64, 1);
      const auto ref = channel_of(expected.o, 64, 1);
      const double bound = error_bound(L::element_type, form_of(GetParam()), 130, false);
      const Verdict verdict =
          compare(x, ref, {}, {1, 1, static_cast<std::int64_t>(x.size()), 0, 0, 1}, {bound, 0});
      EXPECT_TRUE(verdict.ok) << verdict.message;
    }
  });
}

// tt-metal#56550
TEST_P(ForwardLogGates, G8SteepAndFlatAlternate) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(130);
    spec.gate_values = fills::alternating(-80, 0);
    run_and_check<L>(spec);
    spec.gate_values = fills::one_of({-80, 0});
    run_and_check<L>(spec);
  });
}

// sglang#27488
TEST_P(ForwardLogGates, G9FastTokensThenOnes) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(64);
    spec.gate_values = [](Random&, const Index& at) { return at.time < 8 ? -100.0 : 0.0; };
    run_and_check<L>(spec);
  });
}

// flashinfer#2490: the space belongs to the layer's type; the same tensor means two things.
TEST_P(ForwardLogGates, G10TheSpaceIsTheTypes) {
  using Linear = Layer<float, gdr::ValueGate<>>;
  static_assert(!std::is_same_v<Linear, ValueFloat>);
  static_assert(!std::is_convertible_v<gdr::ForwardArgs<Linear>, gdr::ForwardArgs<ValueFloat>>);
  Spec spec = base(20);
  spec.gate_values = fills::uniform(0.1, 0.3);
  const Result log = run_and_check<ValueFloat>(spec);
  const Result linear = run_and_check<Linear>(spec);
  EXPECT_FALSE(same_bits(log.o, linear.o).ok);
}

// Slow gates, where exp alone loses what 1 - a is, and the whole range of rates.
TEST_P(ForwardLogGates, SlowGatesKeepTheirRate) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const double gate : {-1e-3, -1e-5, -0.499, -0.5, -0.501, -0.7}) {
      SCOPED_TRACE(gate);
      Spec spec = base(1024);
      spec.shape.batch = 1;
      spec.gate_values = fills::constant(gate);
      run_and_check<L>(spec);
    }
    Spec spec = base(1024);
    spec.shape.batch = 1;
    spec.gate_values = fills::log_of(fills::log_range(1e-6, 1));
    run_and_check<L>(spec);
    spec.gate_values = [](Random& random, const Index&) {
      return -std::exp(random.uniform(std::log(1e-6), std::log(20.0)));
    };
    run_and_check<L>(spec);
  });
}

// fla#104
TEST_P(ForwardLogGates, G11ZerosDoNotDrift) {
  for_each_layer(LayerList<ValueFloat, KeyFloat, HeadFloat, ValueBfloat>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(8192);
    spec.shape.batch = 1;
    spec.shape.heads = 1;
    spec.gate_values = fills::constant(0);
    spec.v_values = fills::normal(1);
    run_and_check<L>(spec);
  });
}

}  // namespace
