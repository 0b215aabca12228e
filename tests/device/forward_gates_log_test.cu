// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Gates in log space, from -infinity to above 0.

#include "support/log_gate_cases.cuh"

namespace {

using namespace gdr::test;
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

class ForwardLogGates : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardLogGates, every_form(), form_name);

TEST_P(ForwardLogGates, G2MinusInfinityIsAReset) {
  gate_cases::minus_infinity_is_a_reset(Every{}, GetParam());
}

TEST_P(ForwardLogGates, G1ResetsForgetThePast) {
  gate_cases::resets_forget_the_past(Every{}, GetParam());
}

TEST_P(ForwardLogGates, G3FastGatesAtEveryTail) {
  gate_cases::fast_gates_at_every_tail(Every{}, GetParam());
}

TEST_P(ForwardLogGates, G4GatesAboveOne) { gate_cases::gates_above_one(Every{}, GetParam()); }

TEST_P(ForwardLogGates, G7SteepGates) { gate_cases::steep_gates(Every{}, GetParam()); }

TEST_P(ForwardLogGates, G7SlowChannelBesideAFastOne) {
  gate_cases::slow_channel_beside_a_fast_one(PerChannel{}, GetParam());
}

TEST_P(ForwardLogGates, G8SteepAndFlatAlternate) {
  gate_cases::steep_and_flat_alternate(Every{}, GetParam());
}

TEST_P(ForwardLogGates, G9FastTokensThenOnes) {
  gate_cases::fast_tokens_then_ones(Every{}, GetParam());
}

TEST_P(ForwardLogGates, G10TheSpaceIsTheTypes) {
  using Linear = Layer<float, gdr::ValueGate<>>;
  gate_cases::the_space_is_the_types<Linear, ValueFloat>(GetParam());
}

TEST_P(ForwardLogGates, SlowGatesKeepTheirRate) {
  gate_cases::slow_gates_keep_their_rate(Every{}, GetParam());
}

TEST_P(ForwardLogGates, G11ZerosDoNotDrift) {
  using Outer = LayerList<ValueFloat, KeyFloat, HeadFloat, ValueBfloat>;
  gate_cases::ones_do_not_drift(Outer{}, GetParam());
}

}  // namespace
