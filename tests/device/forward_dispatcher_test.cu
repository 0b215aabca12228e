// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Layers chosen at run time, with the extents of the key, against the reference.

#include "support/device_run.cuh"

#include <gdr/dispatcher.cuh>

#include "support/any_args.hpp"

namespace {

using namespace gdr::test;
using gdr::AnyForwardArgs;
using gdr::DataType;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::LayerKey;
using gdr::Recurrence;
using gdr::StatusCode;

using F16 = Recurrence<HeadDim<16>, float>;
using F24 = Recurrence<HeadDim<24>, float>;
using F64 = Recurrence<HeadDim<64>, float>;
using Delta = Recurrence<HeadDims<64, 32>, __nv_bfloat16, gdr::KeyGate<gdr::SoftplusDecay, float>,
                         gdr::DeltaRule<>>;
using Layers = gdr::LayerList<F64, F16, F24, Delta>;

/// A problem of `Kind`, whose extents are the largest of its kind in the list, with the key's.
template <class Kind>
class Dispatched {
 public:
  Dispatched(const Spec& spec, int key_dim, int value_dim)
      : Dispatched(make_problem<Kind>(with_dims(spec, key_dim, value_dim))) {}
  explicit Dispatched(const Problem<Kind>& problem) : device_(problem), args_(device_.args()) {
    key.key_dim = problem.spec.shape.key_dim;
    key.value_dim = problem.spec.shape.value_dim;
    args = erase_types(args_);
    args.shape.key_dim = args.shape.value_dim = 0;  // the key's
  }

  LayerKey key = gdr::layer_key_of<Kind>;
  AnyForwardArgs args;

  gdr::Status can_forward() const { return gdr::can_forward<Layers>(key, args); }
  gdr::Status forward() const { return gdr::forward<Layers>(key, args, nullptr); }

  void is_right() const {
    const gdr::Status asked = can_forward();
    EXPECT_TRUE(asked.ok()) << describe(asked) << "; " << device_.problem().describe();
    const gdr::Status status = forward();
    EXPECT_TRUE(status.ok()) << describe(status) << "; " << device_.problem().describe();
    expect_matches(device_.problem(), device_.collect());
  }
  void is_refused(StatusCode code, const char* argument) const {
    for (const gdr::Status& status : {can_forward(), forward()}) {
      EXPECT_EQ(status.code, code) << describe(status);
      EXPECT_STREQ(status.argument, argument) << describe(status);
      EXPECT_STRNE(status.message, "");
    }
    device_.expect_nothing_written();
  }
  const DeviceProblem<Kind>& device() const { return device_; }

 private:
  static Spec with_dims(Spec spec, int key_dim, int value_dim) {
    spec.shape.key_dim = key_dim;
    spec.shape.value_dim = value_dim;
    spec.seed = static_cast<std::uint64_t>(1000 * key_dim + value_dim);
    return spec;
  }

  DeviceProblem<Kind> device_;
  gdr::ForwardArgs<Kind> args_;  // args points to its functions
};

class Dispatcher : public DeviceTest {
 protected:
  static Spec base() {
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = 21;
    spec.shape.heads = 4;
    spec.shape.key_heads = 2;
    spec.algorithm = gdr::Algorithm::automatic;
    return spec.with_states();
  }
};

TEST_F(Dispatcher, EveryExtent) {
  for (int key_dim = 1; key_dim <= 64; ++key_dim) {
    // Beside the extents in the list, and every one in turn.
    for (const int value_dim : {1, 15, 16, 17, 23, 24, 25, 63, 64, key_dim, 65 - key_dim}) {
      const Dispatched<F64> problem(base(), key_dim, value_dim);
      problem.is_right();
    }
  }
}

TEST_F(Dispatcher, EveryExtentOfAnotherKind) {
  for (const int key_dim : {1, 7, 8, 31, 32, 33, 48, 63, 64}) {
    for (const int value_dim : {1, 2, 15, 16, 24, 31, 32}) {
      Spec spec = base();
      spec.shape.key_dim = key_dim;
      spec.shape.value_dim = value_dim;
      spec.gate_values = fills::normal(0, 2);
      spec.in_place = value_dim % 2 == 0;
      Problem<Delta> delta = make_problem<Delta>(spec);
      // A bias of every channel: right only with the key's extent and the parameters given.
      const int heads = static_cast<int>(spec.shape.heads);
      Random random(3);
      std::vector<float> parameters;
      for (int i = 0; i < heads + heads * key_dim; ++i) {
        parameters.push_back(static_cast<float>(random.uniform(-3, 1)));
      }
      delta.add_parameters(parameters);
      delta.bind_parameters = [=](gdr::ForwardArgs<Delta>& args, const float* base) {
        args.gate_function.a_log = base;
        args.gate_function.dt_bias = base + heads;
        args.gate_function.dt_bias_channels = key_dim;
      };
      const Dispatched<Delta> problem(delta);
      problem.is_right();
    }
  }
}

TEST_F(Dispatcher, StridesAndSequences) {
  Spec spec = base();
  spec.q.channel_padding = 3;
  spec.v.heads_outside_time = true;
  spec.gate.repeat_batch = true;
  spec.o.head_padding = 5;
  spec.final_state.layout = gdr::StateLayout::vk;
  spec.final_state.row_padding = 2;
  Dispatched<F64>(spec, 20, 40).is_right();
  spec = base();
  spec.shape.batch = 1;
  spec.cu_seqlens = {0, 3, 3, 21};
  spec.cu_seqlens_int64 = true;
  Dispatched<F64>(spec, 24, 13).is_right();
}

TEST_F(Dispatcher, AnExactLayersBits) {
  const Dispatched<F64> dispatched(base(), 24, 24);
  const gdr::Status status = dispatched.forward();
  EXPECT_TRUE(status.ok()) << describe(status);
  const Result result = dispatched.device().collect();
  expect_same_bits(result, run_on_device(make_problem<F24>(dispatched.device().problem().spec)),
                   "chosen at run time and named");
}

TEST_F(Dispatcher, Workspace) {
  const Dispatched<F64> good(base(), 24, 24);
  const std::int64_t named =
      gdr::workspace_size<F24>(gdr::detail::typed_args<F24>(good.key, good.args));
  EXPECT_EQ(gdr::workspace_size<Layers>(good.key, good.args), named);
  LayerKey nothing_fits = good.key;
  nothing_fits.delta_rule = true;
  EXPECT_EQ(gdr::workspace_size<Layers>(nothing_fits, good.args), 0);
}

TEST_F(Dispatcher, Refusals) {
  Dispatched<F64> problem(base(), 24, 40);
  const LayerKey key = problem.key;
  const AnyForwardArgs args = problem.args;
  const auto refuses = [&](StatusCode code, const char* argument, auto spoil) {
    SCOPED_TRACE(argument);
    spoil(problem.key, problem.args);
    problem.is_refused(code, argument);
    problem.key = key;
    problem.args = args;
  };
  using Key = LayerKey;
  using Args = AnyForwardArgs;
  const StatusCode unsupported = StatusCode::unsupported, invalid = StatusCode::invalid_argument;
  refuses(unsupported, "key.type", [](Key& k, Args&) { k.type = DataType::float16; });
  refuses(unsupported, "key.gate_function",
          [](Key& k, Args&) { k.gate_function = gdr::function_id<gdr::Log>; });
  refuses(unsupported, "key.value_dim", [](Key& k, Args&) { k.value_dim = 65; });
  refuses(invalid, "key.key_dim", [](Key& k, Args&) { k.key_dim = 0; });
  refuses(invalid, "shape.key_dim", [](Key&, Args& a) { a.shape.key_dim = 23; });
  refuses(invalid, "v", [](Key&, Args& a) { a.v.type = DataType::bfloat16; });
  refuses(invalid, "o", [](Key&, Args& a) { a.o.type = DataType::float16; });
  refuses(invalid, "k", [](Key&, Args& a) { a.k.data = nullptr; });
  refuses(invalid, "shape.heads", [](Key&, Args& a) { a.shape.heads = -1; });
  refuses(invalid, "beta", [](Key&, Args& a) { a.beta = a.gate; });
  problem.is_right();
}

}  // namespace
