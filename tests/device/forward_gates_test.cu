// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Gates in linear space: every number a float holds is legal.

#include "support/linear_gate_cases.cuh"

namespace {

using namespace gdr::test;
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

class ForwardGates : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardGates, every_form(), form_name);

TEST_P(ForwardGates, G1ResetsForgetThePast) {
  gate_cases::resets_forget_the_past(Every{}, GetParam());
}

TEST_P(ForwardGates, G1ResetTokenReadsItself) {
  gate_cases::reset_token_reads_itself(LayerList<ValueFloat>{}, GetParam());
}

TEST_P(ForwardGates, G4GatesAboveOne) { gate_cases::gates_above_one(Every{}, GetParam()); }

TEST_P(ForwardGates, G5NegativeGates) { gate_cases::negative_gates(Every{}, GetParam()); }

TEST_P(ForwardGates, G6TinyAndDenormalGates) {
  gate_cases::tiny_and_denormal_gates(Every{}, GetParam());
}

TEST_P(ForwardGates, G6DenormalGateOnALargeState) {
  using Wide = LayerList<ValueFloat, KeyFloat, HeadFloat>;
  gate_cases::denormal_gate_on_a_large_state(Wide{}, GetParam());
}

TEST_P(ForwardGates, G9FastTokensThenOnes) {
  gate_cases::fast_tokens_then_ones(Every{}, GetParam());
}

TEST_P(ForwardGates, OddGatesMixed) { gate_cases::odd_gates_mixed(Every{}, GetParam()); }

TEST_P(ForwardGates, G11OnesDoNotDrift) {
  using Outer = LayerList<ValueFloat, KeyFloat, HeadFloat, ValueBfloat>;
  gate_cases::ones_do_not_drift(Outer{}, GetParam());
}

}  // namespace
