// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Gates on the chunked forms: every number a float holds is legal in linear space, -infinity in log
// space; functions of a user's.

#include "support/isolation_cases.cuh"
#include "support/linear_gate_cases.cuh"
#include "support/log_gate_cases.cuh"

/// Functions of a user's.
namespace own {

/// factor = table[head][channel] / raw: right only with the right head and channel, and undefined
/// where no channel is.
struct TableOverRaw {
  using Space = gdr::Linear;
  const float* table = nullptr;
  int channels = 0;
  GDR_HOST_DEVICE float operator()(float raw, int head, int channel) const {
    return table[head * channels + channel] / raw;
  }
  GDR_HOST_DEVICE float derivative(float raw, int head, int channel) const {
    return -table[head * channels + channel] / (raw * raw);
  }
};

}  // namespace own

namespace {

using namespace gdr::test;

template <class Element, class Gate>
using Layer = gdr::Recurrence<gdr::HeadDim<64>, Element, Gate>;

// In linear space.
using ValueFloat = Layer<float, gdr::ValueGate<>>;
using ValueBfloat = Layer<__nv_bfloat16, gdr::ValueGate<>>;
using KeyFloat = Layer<float, gdr::KeyGate<>>;
using KeyBfloat = Layer<__nv_bfloat16, gdr::KeyGate<>>;
using KeyHalf = Layer<__half, gdr::KeyGate<>>;
using HeadHalf = Layer<__half, gdr::HeadGate<>>;
using Linear = LayerList<ValueFloat, ValueBfloat, KeyFloat, KeyBfloat, HeadHalf>;

// In log space.
using ValueFloatLog = Layer<float, gdr::ValueGate<gdr::Log>>;
using ValueHalfLog = Layer<__half, gdr::ValueGate<gdr::Log, float>>;
using KeyBfloatLog = Layer<__nv_bfloat16, gdr::KeyGate<gdr::Log, float>>;
using HeadBfloatLog = Layer<__nv_bfloat16, gdr::HeadGate<gdr::Log>>;
using Log = LayerList<ValueFloatLog, ValueHalfLog, KeyBfloatLog, HeadBfloatLog>;
using LogPerChannel = LayerList<ValueFloatLog, ValueHalfLog, KeyBfloatLog>;

using Both = LayerList<ValueFloat, ValueBfloat, KeyFloat, KeyBfloat, HeadHalf, ValueFloatLog,
                       ValueHalfLog, KeyBfloatLog, HeadBfloatLog>;

// Fewer value channels than a warpgroup's products have, and chunks of 48 tokens or 64.
template <int K, int V, class Gate>
using Narrow = gdr::Recurrence<gdr::HeadDims<K, V>, __nv_bfloat16, Gate>;
using NarrowOnes = LayerList<Narrow<32, 48, gdr::ValueGate<>>, Narrow<176, 24, gdr::ValueGate<>>,
                             Narrow<48, 32, gdr::KeyGate<>>>;

class ChunkedGates : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedGates, every_chunked_form(), form_name);

TEST_P(ChunkedGates, G1ResetsForgetThePast) {
  gate_cases::resets_forget_the_past(Both{}, GetParam());
}

TEST_P(ChunkedGates, G1ResetTokenReadsItself) {
  gate_cases::reset_token_reads_itself(Both{}, GetParam());
}

TEST_P(ChunkedGates, G1OneChannelInEightIsReset) {
  gate_cases::one_channel_in_eight_is_reset(Both{}, GetParam());
}

// Resets far apart, so that the chunks between them, of 16 to 64 tokens, go by what is for exact ones and
// those after them, then by the loop for divided ones: the first chunk, two neighbours, one, and the last.
TEST_P(ChunkedGates, G1ResetsAmongManyChunksWithout) {
  const auto check = [&](auto layer) {
    const Fill slow = fills::uniform(0.95, 1);
    gate_cases::run_factors<typename decltype(layer)::type>(
        gate_cases::gate_spec(GetParam(), 2439),
        fills::at_times(slow, {5, 808, 835, 1601, 2438}, 0));
  };
  for_each_layer(Both{}, check);
  for_each_layer(LayerList<KeyHalf>{}, check);
}

TEST_P(ChunkedGates, G2MinusInfinityIsAReset) {
  gate_cases::minus_infinity_is_a_reset(Log{}, GetParam());
}

TEST_P(ChunkedGates, G3FastGatesAtEveryTail) {
  gate_cases::fast_gates_at_every_tail(Log{}, GetParam());
}

TEST_P(ChunkedGates, G4GatesAboveOne) { gate_cases::gates_above_one(Both{}, GetParam()); }

TEST_P(ChunkedGates, G5NegativeGates) { gate_cases::negative_gates(Linear{}, GetParam()); }

TEST_P(ChunkedGates, G6TinyAndDenormalGates) {
  gate_cases::tiny_and_denormal_gates(Linear{}, GetParam());
}

TEST_P(ChunkedGates, G6DenormalGateOnALargeState) {
  // Under a key gate the factor meets q, not the state, and a denormal one has few bits: contracts.md
  // says so.
  using Wide = LayerList<ValueFloat, ValueBfloat>;
  gate_cases::denormal_gate_on_a_large_state(Wide{}, GetParam());
}

TEST_P(ChunkedGates, G7SteepGates) { gate_cases::steep_gates(Log{}, GetParam()); }

TEST_P(ChunkedGates, G7SlowChannelBesideAFastOne) {
  gate_cases::slow_channel_beside_a_fast_one(LogPerChannel{}, GetParam());
}

TEST_P(ChunkedGates, G7ProductsAtTheEdgeOfRange) {
  gate_cases::products_at_the_edge_of_range(Both{}, GetParam());
}

TEST_P(ChunkedGates, G8SteepAndFlatAlternate) {
  gate_cases::steep_and_flat_alternate(Log{}, GetParam());
}

TEST_P(ChunkedGates, G9FastTokensThenOnes) {
  gate_cases::fast_tokens_then_ones(Both{}, GetParam());
}

TEST_P(ChunkedGates, G10TheSpaceIsTheTypes) {
  gate_cases::the_space_is_the_types<ValueFloat, ValueFloatLog>(GetParam());
}

TEST_P(ChunkedGates, G11OnesDoNotDrift) { gate_cases::ones_do_not_drift(Both{}, GetParam()); }

TEST_P(ChunkedGates, OddGatesMixed) { gate_cases::odd_gates_mixed(Linear{}, GetParam()); }

TEST_P(ChunkedGates, FewValueChannels) {
  gate_cases::resets_forget_the_past(NarrowOnes{}, GetParam());
  gate_cases::one_channel_in_eight_is_reset(NarrowOnes{}, GetParam());
  gate_cases::odd_gates_mixed(NarrowOnes{}, GetParam());
  isolation_cases::non_finite_inputs_reach_nothing_else(NarrowOnes{}, GetParam(), 70, {0, 17, 64});
}

TEST_P(ChunkedGates, SlowGatesKeepTheirRate) {
  gate_cases::slow_gates_keep_their_rate(Log{}, GetParam());
}

TEST_P(ChunkedGates, L7NonFiniteInputsReachNothingElse) {
  isolation_cases::non_finite_inputs_reach_nothing_else(Linear{}, GetParam(), 70, {0, 17, 63, 64});
}

// Resets before, at and after the fault, in its chunk and in others.
TEST_P(ChunkedGates, L7NonFiniteGatesAmongResets) {
  for_each_layer(LayerList<ValueFloat, ValueBfloat>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = gate_cases::gate_spec(GetParam(), 130);
    spec.shape.key_heads = 2;
    spec.gate_values = fills::sometimes(fills::log_range(1e-4, 1), 0.05, 0);
    const auto clean = isolation_cases::run_clean<L>(spec);
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      for (const std::int64_t t : {3, 64, 129}) {
        isolation_cases::check_isolation(clean, &ProblemData::gate, {1, t, 1, 40}, bad);
        isolation_cases::check_isolation(clean, &ProblemData::v, {0, t, 0, 7}, bad);
      }
    }
  });
}

TEST_P(ChunkedGates, AUsersFunctionKnowsHeadAndChannel) {
  using L = gdr::Recurrence<gdr::HeadDims<32, 48>, __nv_bfloat16,
                            gdr::ValueGate<own::TableOverRaw, float>>;
  for (const int channels : {48, 33}) {
    Spec spec = gate_cases::gate_spec(GetParam(), 130);
    spec.shape.heads = 4;
    spec.shape.key_heads = 2;
    spec.shape.value_dim = channels;
    spec.gate_values = fills::uniform(1, 1.1);
    Problem<L> problem = make_problem<L>(spec);
    Random random(12);
    std::vector<float> table;
    for (std::int64_t i = 0; i < spec.shape.heads * channels; ++i) {
      table.push_back(static_cast<float>(random.uniform(0.2, 1)));
    }
    problem.add_parameters(table);
    problem.bind_parameters = [=](gdr::ForwardArgs<L>& args, const float* base) {
      args.gate_function.table = base;
      args.gate_function.channels = channels;
    };
    run_and_check(problem);
  }
}

}  // namespace
