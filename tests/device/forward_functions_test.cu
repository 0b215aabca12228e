// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Gate and beta functions applied inside the kernel: the shipped ones and a user's own, with
// parameters by value and in device memory.

#include "support/device_run.cuh"

#include <gdr/gates.hpp>

/// Functions of a user's.
namespace own {

/// factor = raw * table[head][channel]: right only with the right head and channel.
struct Table {
  using Space = gdr::Linear;
  const float* table = nullptr;
  int channels = 0;
  GDR_HOST_DEVICE float operator()(float raw, int head, int channel) const {
    return raw * table[head * channels + channel];
  }
  GDR_HOST_DEVICE float derivative(float, int head, int channel) const {
    return table[head * channels + channel];
  }
};

/// What a padding channel must not do: the function is undefined at 0.
struct Reciprocal {
  using Space = gdr::Linear;
  GDR_HOST_DEVICE float operator()(float raw, int, int) const { return 1.0f / raw; }
  GDR_HOST_DEVICE float derivative(float raw, int, int) const { return -1.0f / (raw * raw); }
};

/// beta = 2 sigmoid(raw) on even heads, sigmoid(raw) on odd ones.
struct BetaByHead {
  using Space = gdr::Linear;
  GDR_HOST_DEVICE float operator()(float raw, int head, int channel) const {
    const float beta = gdr::Sigmoid{}(raw, head, channel);
    return head % 2 == 0 ? 2 * beta : beta;
  }
  GDR_HOST_DEVICE float derivative(float raw, int head, int channel) const {
    const float slope = gdr::Sigmoid{}.derivative(raw, head, channel);
    return head % 2 == 0 ? 2 * slope : slope;
  }
};

}  // namespace own

namespace {

using namespace gdr::test;
using gdr::HeadDims;

template <class Element, class Gate, class Rule = gdr::OuterProduct>
using Layer = gdr::Recurrence<HeadDims<32, 48>, Element, Gate, Rule>;

class ForwardFunctions : public DeviceTestByForm {
 protected:
  Spec base() const {
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = 130;
    spec.shape.heads = 4;
    spec.shape.key_heads = 2;
    spec.algorithm = GetParam();
    spec.with_states();
    return spec;
  }
};

INSTANTIATE_TEST_SUITE_P(Form, ForwardFunctions, every_form(), form_name);

TEST_P(ForwardFunctions, Sigmoid) {
  using L = Layer<float, gdr::ValueGate<gdr::Sigmoid>>;
  for (const float temperature : {1.0f, 16.0f, 0.5f}) {
    for (const Fill& logits :
         {fills::normal(3), fills::normal(0, 10), fills::one_of({-200, -90, 0, 90, 200})}) {
      Spec spec = base();
      spec.gate_values = logits;
      Problem<L> problem = make_problem<L>(spec);
      problem.gate_function.temperature = temperature;
      run_and_check(problem);
    }
  }
}

TEST_P(ForwardFunctions, LogSigmoid) {
  using L = Layer<__nv_bfloat16, gdr::KeyGate<gdr::LogSigmoid, float>>;
  for (const float temperature : {1.0f, 16.0f}) {
    for (const Fill& logits : {fills::normal(3), fills::normal(0, 10), fills::constant(-200)}) {
      Spec spec = base();
      spec.gate_values = logits;
      Problem<L> problem = make_problem<L>(spec);
      problem.gate_function.temperature = temperature;
      run_and_check(problem);
    }
  }
}

/// A problem whose parameters a_log [Hv] and dt_bias [Hv, channels] lie beside the tensors.
template <class L>
Problem<L> softplus_problem(const Spec& spec, int bias_channels) {
  Problem<L> problem = make_problem<L>(spec);
  Random random(11);
  const std::int64_t heads = spec.shape.heads;
  std::vector<float> parameters;
  for (std::int64_t h = 0; h < heads; ++h) {
    parameters.push_back(static_cast<float>(random.uniform(-3, 1)));
  }
  for (std::int64_t i = 0; i < heads * bias_channels; ++i) {
    parameters.push_back(static_cast<float>(random.uniform(-4, 1)));
  }
  problem.add_parameters(parameters);
  problem.bind_parameters = [=](gdr::ForwardArgs<L>& args, const float* base) {
    args.gate_function.a_log = base;
    args.gate_function.dt_bias = base + heads;
    args.gate_function.dt_bias_channels = bias_channels;
  };
  return problem;
}

TEST_P(ForwardFunctions, SoftplusDecayWithParametersInDeviceMemory) {
  Spec spec = base();
  spec.gate_values = fills::normal();
  using Head = Layer<float, gdr::HeadGate<gdr::SoftplusDecay>, gdr::DeltaRule<>>;
  run_and_check(softplus_problem<Head>(spec, 1));
  using Key = Layer<__nv_bfloat16, gdr::KeyGate<gdr::SoftplusDecay>, gdr::DeltaRule<>>;
  run_and_check(softplus_problem<Key>(spec, 32));
  run_and_check(softplus_problem<Key>(spec, 1));
  run_and_check<Key>(spec);  // null parameters
}

TEST_P(ForwardFunctions, OneMinus) {
  using L = Layer<__nv_bfloat16, gdr::ValueGate<gdr::OneMinus>>;
  Spec spec = base();
  spec.gate_values = fills::log_range(1e-4, 1);
  run_and_check<L>(spec);
  spec.gate_values = fills::one_of({0, 1, 0.001, -0.01});
  run_and_check<L>(spec);
}

template <class L>
Problem<L> table_problem(const Spec& spec, int channels) {
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
  return problem;
}

TEST_P(ForwardFunctions, AUsersOwnKnowsHeadAndChannel) {
  Spec spec = base();
  run_and_check(table_problem<Layer<float, gdr::ValueGate<own::Table>>>(spec, 48));
  run_and_check(table_problem<Layer<__half, gdr::KeyGate<own::Table>>>(spec, 32));
  run_and_check(table_problem<Layer<float, gdr::HeadGate<own::Table>>>(spec, 1));
  spec.shape.key_dim = 19;  // fewer channels than the type's: the table has a row of 19
  run_and_check(table_problem<Layer<__half, gdr::KeyGate<own::Table>>>(spec, 19));
  spec = base();
  spec.shape.value_dim = 33;
  run_and_check(table_problem<Layer<float, gdr::ValueGate<own::Table>>>(spec, 33));
}

TEST_P(ForwardFunctions, PaddingChannelsDoNotReachTheResult) {
  Spec spec = base();
  spec.shape.key_dim = 19;
  spec.shape.value_dim = 33;
  spec.shape.seq_len = 37;
  spec.gate_values = fills::uniform(1.05, 2);
  run_and_check<Layer<float, gdr::KeyGate<own::Reciprocal>>>(spec);
}

TEST_P(ForwardFunctions, BetaFunctions) {
  using Shipped = Layer<float, gdr::NoGate, gdr::DeltaRule<gdr::Sigmoid>>;
  using Own = Layer<__nv_bfloat16, gdr::HeadGate<gdr::Log, float>, gdr::DeltaRule<own::BetaByHead>>;
  Spec spec = base();
  spec.beta_values = fills::normal();
  Problem<Shipped> problem = make_problem<Shipped>(spec);
  run_and_check(problem);
  problem.beta_function.temperature = 3;
  run_and_check(problem);
  run_and_check<Own>(spec);
  spec.beta_type = gdr::DataType::bfloat16;
  run_and_check<Own>(spec);
}

}  // namespace
