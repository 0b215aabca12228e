// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Few heads and long sequences, each split into pieces: what passes from piece to piece, and the
// workspace that it passes through.

#include "support/isolation_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::DataType;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Log;
using gdr::StateLayout;
using gdr::StatusCode;

using ValueBfloat = gdr::Recurrence<HeadDim<64>, __nv_bfloat16>;
using KeyFloat = gdr::Recurrence<HeadDims<64, 32>, float, gdr::KeyGate<>>;
using HeadHalf = gdr::Recurrence<HeadDims<32, 48>, __half, gdr::HeadGate<Log, float>>;
using Every = LayerList<ValueBfloat, KeyFloat, HeadHalf>;

/// Gates by logarithms that are not of the elements' type, and a warp of the state without value
/// channels.
using NarrowLog = gdr::Recurrence<HeadDims<128, 40>, __nv_bfloat16, gdr::ValueGate<Log, float>>;
/// Chunks of 48 tokens, of which pieces are no multiple, and fewer value channels than a warpgroup's
/// products have.
using WideBfloat = gdr::Recurrence<HeadDims<192, 40>, __nv_bfloat16>;

class ChunkedSplit : public DeviceTest {
 protected:
  static Spec base(std::int64_t batch, std::int64_t tokens, std::int64_t heads) {
    Spec spec;
    spec.shape.batch = batch;
    spec.shape.seq_len = tokens;
    spec.shape.heads = heads;
    spec.algorithm = Algorithm::chunked_split;
    return spec.with_states();
  }
  static Spec packed(const std::vector<std::int64_t>& offsets, std::int64_t heads) {
    Spec spec = base(1, offsets.back(), heads);
    spec.cu_seqlens = offsets;
    return spec;
  }
};

TEST_F(ChunkedSplit, LongSequencesOfFewHeads) {
  const struct {
    std::int64_t batch, tokens, heads;
  } shapes[] = {{1, 5000, 2}, {1, 5000, 1}, {2, 3000, 1}, {1, 4096, 2}, {1, 4097, 2},
                {1, 4095, 2}, {1, 1000, 3}, {3, 129, 1},  {1, 128, 1},  {1, 65, 1},
                {1, 64, 1},   {1, 63, 1},   {1, 1, 1},    {1, 20000, 1}};
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const auto& shape : shapes) {
      Spec spec = base(shape.batch, shape.tokens, shape.heads);
      run_and_check<L>(spec);
      spec.initial_state.present = spec.final_state.present = false;
      run_and_check<L>(spec);
    }
  });
}

// Without any decay all of the past counts, the initial state and the first piece as much as the
// last; with slow gates most of it does.
TEST_F(ChunkedSplit, NothingIsTruncated) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(1, 5000, 2);
    for (const Fill& factors :
         {fills::constant(1), fills::one_of({0.99, 1, 1, 1}), fills::alternating(0.5, 2)}) {
      spec.gate_values = fills::in_space<L>(factors);
      run_and_check<L>(spec);
    }
    // Nothing but the initial state.
    spec.gate_values = fills::in_space<L>(fills::constant(1));
    spec.v_values = fills::constant(0);
    spec.state_values = fills::normal(0, 10);
    const Problem<L> problem = make_problem<L>(spec);
    const Result result = run_and_check(problem);
    EXPECT_GT(std::fabs(result.final_state.back()), 0);
  });
}

TEST_F(ChunkedSplit, GatesOfEveryKind) {
  using Layers = LayerList<ValueBfloat, NarrowLog, KeyFloat, HeadHalf, WideBfloat>;
  for_each_layer(Layers{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const Fill& factors :
         {fills::uniform(0, 1), fills::uniform(-1, 1), fills::log_range(1e-8, 1), fills::odd(),
          fills::sometimes(fills::odd(), 0.95, 1.0), fills::uniform(0.98, 1.02),
          fills::sometimes(fills::uniform(0.99, 1), 1e-3, 0)}) {
      Spec spec = base(1, 1500, 2);
      spec.gate_values = fills::in_space<L>(factors);
      run_and_check<L>(spec);
    }
  });
}

TEST_F(ChunkedSplit, NormalisedQueriesAndKeys) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(1, 1500, 2);
    spec.qk_l2norm = true;
    run_and_check<L>(spec);
    spec.gate_values = fills::in_space<L>(fills::uniform(-1, 1));
    run_and_check<L>(spec);
  });
}

// Whole rows reset within a piece, at its ends, and once in all.
TEST_F(ChunkedSplit, ResetsForgetTheOtherPieces) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::vector<std::int64_t>& times :
         {std::vector<std::int64_t>{2500}, {0}, {4999}, {1023, 1024, 2048, 4096}}) {
      Spec spec = base(1, 5000, 1);
      spec.gate_values = fills::in_space<L>(fills::at_times(fills::constant(1), times, 0));
      spec.state_values = fills::normal(0, 100);
      run_and_check<L>(spec);
    }
  });
}

// The product of a piece's gates is beyond a float although no state ever is: it meets a state that
// is 0, or so small that the product brings it back into sight.
TEST_F(ChunkedSplit, TheProductOfAPieceOverflows) {
  for_each_layer(LayerList<ValueBfloat, NarrowLog, KeyFloat>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    constexpr std::int64_t tokens = 2000;
    Spec spec = base(1, tokens, 1);
    spec.v_values = [=](Random& random, const Index& at) {
      const double v = random.normal();
      return at.time < tokens - 20 ? 0 : v;
    };
    spec.gate_values = fills::in_space<L>(fills::constant(8));
    spec.initial_state.present = false;
    run_and_check<L>(spec);

    // From 2^20 down to 2^-100 in 120 tokens, then up to 2^80 in 180.
    spec = base(1, 500, 1);
    spec.state_values = fills::normal(0, 0x1p20);
    spec.v_values = fills::constant(0);
    spec.gate_values = fills::in_space<L>([](Random&, const Index& at) {
      return at.time < 120 ? 0.5 : at.time < 300 ? 2.0 : 1.0;
    });
    run_and_check<L>(spec);
  });
}

// Likewise below: it meets a state so large that what is left of it counts.
TEST_F(ChunkedSplit, TheProductOfAPieceUnderflows) {
  for_each_layer(LayerList<ValueBfloat, NarrowLog, KeyFloat>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t steep : {130, 160, 200}) {
      SCOPED_TRACE(steep);
      Spec spec = base(1, 2000, 1);
      spec.state_values = fills::normal(0, 0x1p110);
      spec.v_values = fills::normal(0, 0x1p-90);
      spec.gate_values =
          fills::in_space<L>([=](Random&, const Index& at) { return at.time < steep ? 0.5 : 1.0; });
      run_and_check<L>(spec);
    }
  });
}

TEST_F(ChunkedSplit, NonFiniteInputsReachNoEarlierPiece) {
  isolation_cases::non_finite_inputs_reach_nothing_else(Every{}, Algorithm::chunked_split, 1000,
                                                        {0, 300, 999});
}

TEST_F(ChunkedSplit, TheSameBitsFromRunToRun) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Problem<L> problem = make_problem<L>(base(1, 5000, 2));
    const Result first = run_and_check(problem);
    for (int run = 1; run < 5; ++run) {
      expect_same_bits(first, run_on_device(problem), "run " + std::to_string(run));
    }
  });
}

TEST_F(ChunkedSplit, StatesInPlace) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const DataType type : {DataType::float32, DataType::bfloat16}) {
      for (const StateLayout layout : {StateLayout::kv, StateLayout::vk}) {
        Spec spec = base(1, 5000, 2);
        spec.initial_state.type = spec.final_state.type = type;
        spec.initial_state.layout = spec.final_state.layout = layout;
        const Result apart = run_and_check<L>(spec);
        spec.in_place = true;
        expect_same_bits(apart, run_and_check<L>(spec), "in place");
        spec.initial_state.row_padding = 3;
        spec.initial_state.head_padding = 5;
        expect_same_bits(apart, run_and_check<L>(spec), "in place, padded");
      }
    }
  });
}

TEST_F(ChunkedSplit, OnlyOneOutput) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(1, 3000, 2);
    spec.null_o = true;
    run_and_check<L>(spec);
    spec.null_o = false;
    spec.final_state.present = false;
    run_and_check<L>(spec);
  });
}

TEST_F(ChunkedSplit, SequencesOfDifferentLengths) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::vector<std::int64_t>& offsets : {std::vector<std::int64_t>{0, 5000},
                                                     {0, 3000, 3000, 3001, 5000},
                                                     {0, 64, 128, 5000},
                                                     {0, 0, 4999, 5000, 5000},
                                                     {0, 1, 1025, 2048, 2049, 4097, 5000}}) {
      for (const bool int64 : {false, true}) {
        Spec spec = packed(offsets, 2);
        spec.cu_seqlens_int64 = int64;
        run_and_check<L>(spec);
        spec.shape.seq_len += 100;  // tokens of nobody
        spec.in_place = true;
        run_and_check<L>(spec);
      }
    }
  });
}

// One call of the whole and two with the state between them; within the bound, as pieces may fall
// elsewhere.
TEST_F(ChunkedSplit, CutInTwoCalls) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Problem<L> whole = make_problem<L>(base(1, 3000, 2));
    const Expected expected = expect(whole);
    for (const std::int64_t cut : {1, 64, 1000, 1024, 2999}) {
      Result joined = run_on_device(whole.time_slice(0, cut));
      Problem<L> rest = whole.time_slice(cut, 3000);
      rest.set_initial_state(joined.final_state);
      const Result tail = run_on_device(rest);
      joined.o.insert(joined.o.end(), tail.o.begin(), tail.o.end());
      joined.final_state = tail.final_state;
      expect_matches(whole, expected, joined);
    }
  });
}

// --- The workspace ---

// What automatic takes: as named with a workspace, whole sequences without one or where they are
// too short to be split.
TEST_F(ChunkedSplit, AutomaticTakesItWithAWorkspace) {
  using L = ValueBfloat;
  Problem<L> problem = make_problem<L>(base(1, 1200, 2));
  const auto run_as = [&](Algorithm form) {
    problem.spec.algorithm = form;
    return run_and_check(problem);
  };
  const Result split = run_as(Algorithm::chunked_split);
  const Result whole = run_as(Algorithm::chunked);
  EXPECT_FALSE(same_bits(split.o, whole.o).ok);
  expect_same_bits(run_as(Algorithm::automatic), split, "with a workspace");
  DeviceProblem<L> device(problem);
  gdr::ForwardArgs<L> args = device.args();
  ASSERT_GT(args.workspace_bytes, 0);
  args.workspace = nullptr;
  const gdr::Status status = gdr::forward<L>(args, nullptr);
  EXPECT_TRUE(status.ok()) << describe(status);
  expect_same_bits(device.collect(), whole, "without one");

  Spec spec = base(1, 600, 2);
  spec.algorithm = Algorithm::automatic;
  EXPECT_EQ(gdr::workspace_size<L>(DeviceProblem<L>(make_problem<L>(spec)).args()), 0);
}

TEST_F(ChunkedSplit, AWorkspaceIsNeeded) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const DeviceProblem<L> device(make_problem<L>(base(1, 5000, 2)));
    const std::int64_t needed = gdr::workspace_size<L>(device.args());
    ASSERT_GT(needed, 0);
    const auto expect_refused = [&](const gdr::ForwardArgs<L>& args, const char* name) {
      for (const gdr::Status& status :
           {gdr::can_forward<L>(args), gdr::forward<L>(args, nullptr)}) {
        EXPECT_EQ(status.code, StatusCode::invalid_argument) << describe(status);
        EXPECT_STREQ(status.argument, name) << describe(status);
        EXPECT_STRNE(status.message, "");
      }
      device.expect_nothing_written();
    };
    gdr::ForwardArgs<L> args = device.args();
    args.workspace = nullptr;
    expect_refused(args, "workspace");
    args = device.args();
    for (const std::int64_t bytes : {needed - 1, std::int64_t{0}, std::int64_t{-1}}) {
      args.workspace_bytes = bytes;
      expect_refused(args, "workspace_bytes");
    }
    args = device.args();
    args.workspace = static_cast<unsigned char*>(args.workspace) + 8;
    expect_refused(args, "workspace");
    args = device.args();
    args.workspace = args.o.data;
    expect_refused(args, "workspace");

    const gdr::Status status = device.launch();
    EXPECT_TRUE(status.ok()) << describe(status);
    expect_matches(device.problem(), device.collect());
  });
}

// Enough for every way in which cu_seqlens can cut the tokens: the size is made without them.
TEST_F(ChunkedSplit, TheSizeDoesNotReadTheOffsets) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const DeviceProblem<L> one(make_problem<L>(packed({0, 1, 2, 3, 5000}, 2)));
    const DeviceProblem<L> other(make_problem<L>(packed({0, 1250, 2500, 3750, 5000}, 2)));
    gdr::ForwardArgs<L> args = one.args();
    const std::int64_t size = gdr::workspace_size<L>(args);
    EXPECT_EQ(size, gdr::workspace_size<L>(other.args()));
    args.cu_seqlens.data = reinterpret_cast<const void*>(std::uintptr_t{64});  // not to be read
    EXPECT_EQ(size, gdr::workspace_size<L>(args));
  });
}

// What lies in the workspace before, and how much more of it there is, changes nothing. The first
// run begins with NaN everywhere, as every run of these tests does.
TEST_F(ChunkedSplit, TheWorkspacesContentsDoNotMatter) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const bool dense : {true, false}) {
      const Problem<L> problem =
          make_problem<L>(dense ? base(1, 5000, 2) : packed({0, 70, 70, 3000, 5000}, 2));
      DeviceProblem<L> device(problem);
      const auto run = [&](const gdr::ForwardArgs<L>& args) {
        const gdr::Status status = gdr::forward<L>(args, nullptr);
        EXPECT_TRUE(status.ok()) << describe(status);
        return device.collect();
      };
      const Result first = run(device.args());
      expect_matches(problem, first);
      expect_same_bits(first, run(device.args()), "over the first run's");
      const auto bytes = static_cast<std::size_t>(device.args().workspace_bytes);
      for (const int byte : {0x00, 0x7f, 0x4b}) {  // 0, 3.4e38, 1.3e7
        cuda_check(cudaMemset(device.args().workspace, byte, bytes), "fill the workspace");
        expect_same_bits(first, run(device.args()), "over bytes " + std::to_string(byte));
      }
      const DeviceMemory larger(2 * bytes + 4096);
      cuda_check(cudaMemset(larger.data(), 0xff, larger.bytes()), "fill the workspace");
      gdr::ForwardArgs<L> args = device.args();
      args.workspace = larger.data();
      args.workspace_bytes = static_cast<std::int64_t>(larger.bytes());
      expect_same_bits(first, run(args), "in a larger workspace");
    }
  });
}

}  // namespace
