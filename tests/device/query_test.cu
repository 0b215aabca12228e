// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The capability query: every yes runs and is right, every no is the launcher's own status.

#include "support/device_run.cuh"

#include <limits>

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::DataType;
using gdr::HeadDims;
using gdr::StateLayout;

class Query : public DeviceTest {};

/// Changes of arguments over a problem of B 2, T 9, Hv 4, Hk 2; some legal, most not. What is legal
/// stays inside the guard bands: at most 2 * 9 * 4 * 64 elements.
template <class L>
void change_something(Random& random, gdr::ForwardArgs<L>& args) {
  const auto spoil = [&random](auto& view) {
    switch (random.integer(0, 3)) {
      case 0:
        view.data = nullptr;
        break;
      case 1:
        view.strides = {9 * 4 * 64, 4 * 64, 64, random.integer(0, 2)};
        view.contiguous = false;
        break;
      case 2:
        view.strides = {0, 0, 0, 1};
        view.contiguous = false;
        break;
      default:
        view.contiguous = true;
        break;
    }
  };
  switch (random.integer(0, 19)) {
    case 0:
      spoil(args.q);
      break;
    case 1:
      spoil(args.k);
      break;
    case 2:
      spoil(args.v);
      break;
    case 3:
      spoil(args.gate);
      break;
    case 4:
      spoil(args.beta);
      break;
    case 5:
      spoil(args.o);
      break;
    case 6:
      args.initial_state = {};
      break;
    case 7:
      args.final_state = {};
      break;
    case 8:
      args.initial_state.type = random.pick<DataType>({DataType::float64, DataType::float16});
      break;
    case 9:
      args.final_state.data = const_cast<void*>(args.initial_state.data);
      break;
    case 10:
      args.shape.key_heads = random.integer(-1, 4);
      break;
    case 11:
      args.shape.key_dim = static_cast<int>(random.integer(-1, 80));
      break;
    case 12:
      args.shape.value_dim = static_cast<int>(random.integer(-1, 80));
      break;
    case 13:
      args.shape.seq_len = random.integer(-1, 9);
      break;
    case 14:
      args.shape.batch = random.integer(-1, 2);
      break;
    case 15:
      args.scale = random.pick<float>({0.5f, std::numeric_limits<float>::infinity()});
      break;
    case 16:
      args.qk_l2norm_eps = random.pick<float>({0.0f, 0.25f, -1.0f});
      break;
    case 17:
      args.algorithm =
          random.pick<Algorithm>({Algorithm::automatic, Algorithm::recurrent, Algorithm::chunked,
                                  Algorithm::chunked_split, Algorithm::by_length});
      break;
    case 18:
      args.batch_invariant = true;
      break;
    default:
      args.qk_l2norm = true;
      break;
  }
}

TEST_F(Query, ANoIsTheLaunchersStatus) {
  using Outer = gdr::Recurrence<HeadDims<64, 32>, float>;
  using Delta = gdr::Recurrence<HeadDims<64, 48>, __nv_bfloat16, gdr::HeadGate<gdr::Log, float>,
                                gdr::DeltaRule<>>;
  for_each_layer(LayerList<Outer, Delta>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = 9;
    spec.shape.heads = 4;
    spec.shape.key_heads = 2;
    spec.algorithm = Algorithm::automatic;
    const Problem<L> problem = make_problem<L>(spec.with_states());
    DeviceProblem<L> device(problem);
    Random random(1);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
      gdr::ForwardArgs<L> args = device.args();
      for (std::int64_t changes = random.integer(1, 2); changes > 0; --changes) {
        change_something(random, args);
      }
      const gdr::Status asked = gdr::can_forward<L>(args);
      const gdr::Status launched = gdr::forward<L>(args, nullptr);
      EXPECT_EQ(asked.code, launched.code) << describe(asked) << "; " << describe(launched);
      EXPECT_STREQ(asked.argument, launched.argument);
      EXPECT_STREQ(asked.message, launched.message);
      if (launched.ok()) {
        device.upload(problem);
      } else {
        ++refused;
        EXPECT_STRNE(asked.argument, "");
      }
    }
    device.expect_nothing_written();
    EXPECT_GT(refused, 50);
    EXPECT_LT(refused, 290);
  });
}

TEST_F(Query, EveryYesIsRight) {
  using Outer = gdr::Recurrence<HeadDims<64, 32>, __half, gdr::KeyGate<gdr::Linear, float>>;
  using Delta = gdr::Recurrence<HeadDims<64, 48>, __nv_bfloat16, gdr::HeadGate<gdr::Log, float>,
                                gdr::DeltaRule<>>;
  for_each_layer(LayerList<Outer, Delta>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Random random(2);
    for (int i = 0; i < 60; ++i) {
      Spec spec;
      spec.seed = static_cast<std::uint64_t>(i);
      spec.shape.key_heads = random.integer(1, 2);
      spec.shape.heads = spec.shape.key_heads * random.integer(1, 2);
      spec.shape.key_dim = static_cast<int>(random.integer(1, L::key_dim));
      spec.shape.value_dim = static_cast<int>(random.integer(1, L::value_dim));
      spec.algorithm =
          random.pick<Algorithm>({Algorithm::automatic, Algorithm::recurrent, Algorithm::chunked,
                                  Algorithm::chunked_split, Algorithm::by_length});
      spec.batch_invariant = random.chance(0.5);
      spec.qk_l2norm = random.chance(0.5);
      if (random.chance(0.7)) spec.with_states();
      spec.final_state.type = random.pick<DataType>({DataType::float32, DataType::bfloat16});
      spec.final_state.layout = random.pick<StateLayout>({StateLayout::kv, StateLayout::vk});
      spec.in_place = spec.initial_state.present && random.chance(0.3);
      if (random.chance(0.5)) {
        spec.cu_seqlens = {0, random.integer(0, 40), 50};
        spec.shape.seq_len = 50;
        spec.shape.batch = random.chance(0.8) ? 1 : 2;
      } else {
        spec.shape.seq_len = random.integer(0, 50);
        spec.shape.batch = random.integer(1, 3);
      }
      const DeviceProblem<L> device(make_problem<L>(spec));
      const gdr::Status asked = gdr::can_forward<L>(device.args());
      const gdr::Status launched = device.launch();
      EXPECT_EQ(asked.ok(), launched.ok()) << describe(asked) << "; " << describe(launched);
      if (asked.ok()) {
        expect_matches(device.problem(), device.collect());
      } else {
        EXPECT_STREQ(asked.argument, launched.argument);
        device.expect_nothing_written();
      }
    }
  });
}

}  // namespace
