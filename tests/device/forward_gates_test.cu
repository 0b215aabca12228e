// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Gates in linear space: every number a float holds is legal.

#include "support/device_run.cuh"

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::Linear;

template <class Element, class Gate, class Rule = gdr::OuterProduct>
using Layer = gdr::Recurrence<gdr::HeadDim<64>, Element, Gate, Rule>;

using ValueFloat = Layer<float, gdr::ValueGate<>>;
using KeyFloat = Layer<float, gdr::KeyGate<>>;
using HeadFloat = Layer<float, gdr::HeadGate<>>;
using ValueBfloat = Layer<__nv_bfloat16, gdr::ValueGate<>>;
using ValueHalf = Layer<__half, gdr::ValueGate<>>;
using KeyBfloatDelta = Layer<__nv_bfloat16, gdr::KeyGate<Linear, float>, gdr::DeltaRule<>>;
using ValueFloatDelta = Layer<float, gdr::ValueGate<>, gdr::DeltaRule<>>;
using Every = LayerList<ValueFloat, KeyFloat, HeadFloat, ValueBfloat, ValueHalf, KeyBfloatDelta,
                        ValueFloatDelta>;

class ForwardGates : public DeviceTestByForm {
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
  /// 0 on whole rows: after each nothing of the past is left.
  template <class L>
  void check_resets(const Spec& spec, std::int64_t last_reset) const {
    Problem<L> problem = make_problem<L>(spec);
    const Result result = run_and_check(problem);
    if (GetParam() != Algorithm::recurrent) return;

    // Another past, far larger, must not change one bit from the last reset on.
    problem.set_initial_state(
        std::vector<float>(static_cast<std::size_t>(problem.initial_state.count()), 1e20f));
    problem.v.for_each([&](const Index& at, std::int64_t) {
      if (at.time < last_reset) problem.set(problem.v, at, 1000);
    });
    Mask after(result.o.size(), 0);
    std::size_t next = 0;
    problem.o.for_each(
        [&](const Index& at, std::int64_t) { after[next++] = at.time >= last_reset ? 1 : 0; });
    const Result other = run_on_device(problem);
    const Verdict o = same_bits(result.o, other.o, after);
    EXPECT_TRUE(o.ok) << o.message;
    const Verdict state = same_bits(result.final_state, other.final_state);
    EXPECT_TRUE(state.ok) << state.message;
  }
};

INSTANTIATE_TEST_SUITE_P(Form, ForwardGates, every_form(), form_name);

// fla#20
TEST_P(ForwardGates, G1ResetsForgetThePast) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(130);
    spec.gate_values = fills::at_times(fills::constant(0.99), {0, 15, 16, 31, 32, 63, 64, 129}, 0);
    check_resets<L>(spec, 129);
    spec.gate_values = fills::at_times(fills::constant(0.99), {0, 15, 16, 31, 32, 63, 64}, 0);
    check_resets<L>(spec, 64);
    spec.gate_values = fills::at_times(fills::constant(0.99), {70}, -0.0);
    check_resets<L>(spec, 70);
  });
}

// Alone of everything before and after, a token right after a reset reads (q . k) v.
TEST_P(ForwardGates, G1ResetTokenReadsItself) {
  using L = ValueFloat;
  Spec spec = base(33);
  spec.gate_values = fills::at_times(fills::constant(0.99), {16}, 0);
  const Problem<L> problem = make_problem<L>(spec);
  const Result result = run_on_device(problem);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 2; ++h) {
      double dot = 0;
      double absolute = 0;
      for (std::int64_t c = 0; c < 64; ++c) {
        const double product =
            problem.value(problem.q, {b, 16, h, c}) * problem.value(problem.k, {b, 16, h, c});
        dot += product;
        absolute += std::fabs(product);
      }
      std::vector<double> x, ref, m;
      for (std::int64_t c = 0; c < 64; ++c) {
        const double v = problem.value(problem.v, {b, 16, h, c});
        x.push_back(static_cast<double>(
            result.o[static_cast<std::size_t>(((b * 33 + 16) * 2 + h) * 64 + c)]));
        ref.push_back(dot * v);
        m.push_back(absolute * std::fabs(v));
      }
      const double bound = error_bound(L::element_type, form_of(GetParam()), 33, false);
      const Verdict verdict =
          compare(x, ref, m, token_rows(1, 64), {bound, 0, /*whole_tensor=*/false});
      EXPECT_TRUE(verdict.ok) << verdict.message;
    }
  }
}

// fla#215
TEST_P(ForwardGates, G4GatesAboveOne) {
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
      spec.gate_values = fills::constant(c.gate);
      run_and_check<L>(spec);
    }
  });
}

TEST_P(ForwardGates, G5NegativeGates) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(130);
    spec.gate_values = fills::uniform(-1, 1);
    run_and_check<L>(spec);
    spec.gate_values = fills::alternating(-1, 1);
    run_and_check<L>(spec);
    spec.gate_values = fills::one_of({-1, 1});
    run_and_check<L>(spec);
  });
}

// fla#1007
TEST_P(ForwardGates, G6TinyAndDenormalGates) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const double gate : {1e-12, 1e-30, 1e-38, 1e-45, 0.0}) {
      SCOPED_TRACE(gate);
      Spec spec = base(70);
      spec.gate_values = fills::constant(gate);
      run_and_check<L>(spec);
      spec.gate_values = fills::sometimes(fills::uniform(0.9, 1), 0.1, gate);
      run_and_check<L>(spec);
    }
    Spec spec = base(70);
    spec.gate_values = fills::one_of({1e-12, 1e-30, 1e-38, 1e-45, 0.0, -0.0, 0.99, 1});
    run_and_check<L>(spec);
  });
}

// A denormal gate keeps a huge state in sight.
TEST_P(ForwardGates, G6DenormalGateOnALargeState) {
  for_each_layer(LayerList<ValueFloat, KeyFloat, HeadFloat>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(5);
    spec.state_values = fills::normal(0, 1e36);
    spec.k_values = fills::normal(0, 1e-6);
    spec.gate_values = fills::at_times(fills::constant(1), {0}, 1e-39);
    run_and_check<L>(spec);
  });
}

// sglang#27488; exp(-100) is a denormal float.
TEST_P(ForwardGates, G9FastTokensThenOnes) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(64);
    spec.gate_values = [](Random&, const Index& at) { return at.time < 8 ? std::exp(-100.0) : 1; };
    run_and_check<L>(spec);
  });
}

TEST_P(ForwardGates, OddGatesMixed) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(130);
    spec.gate_values = fills::odd();
    run_and_check<L>(spec);
    spec.gate_values = fills::sometimes(fills::odd(), 0.8, 1.0);
    run_and_check<L>(spec);
  });
}

// fla#104
TEST_P(ForwardGates, G11OnesDoNotDrift) {
  for_each_layer(LayerList<ValueFloat, KeyFloat, HeadFloat, ValueBfloat>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(8192);
    spec.shape.batch = 1;
    spec.shape.heads = 1;
    spec.gate_values = fills::constant(1);
    spec.v_values = fills::normal(1);
    run_and_check<L>(spec);
  });
}

}  // namespace
