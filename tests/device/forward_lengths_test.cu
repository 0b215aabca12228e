// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Lengths: every tail, splits, empty problems, sequences of different lengths, and what a NaN
// may reach.

#include "support/device_run.cuh"

#include <limits>

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::DataType;
using gdr::GateAxis;
using gdr::Log;
using gdr::StateLayout;

template <class Element, class Gate, class Rule = gdr::OuterProduct>
using Layer = gdr::Recurrence<gdr::HeadDim<64>, Element, Gate, Rule>;

using ValueFloat = Layer<float, gdr::ValueGate<>>;
using ValueBfloat = Layer<__nv_bfloat16, gdr::ValueGate<Log>>;
using KeyBfloatDelta = Layer<__nv_bfloat16, gdr::KeyGate<Log, float>, gdr::DeltaRule<>>;
using HeadFloatDelta = Layer<float, gdr::HeadGate<Log>, gdr::DeltaRule<>>;
using KeyHalf = Layer<__half, gdr::KeyGate<>>;
using Every = LayerList<ValueFloat, ValueBfloat, KeyBfloatDelta, HeadFloatDelta, KeyHalf>;

class ForwardLengths : public DeviceTestByForm {
 protected:
  Spec base(std::int64_t tokens) const {
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = tokens;
    spec.shape.heads = 3;
    spec.algorithm = GetParam();
    spec.with_states();
    return spec;
  }
  Spec packed(std::vector<std::int64_t> offsets) const {
    Spec spec = base(offsets.back());
    spec.shape.batch = 1;
    spec.cu_seqlens = std::move(offsets);
    return spec;
  }
};

INSTANTIATE_TEST_SUITE_P(Form, ForwardLengths, every_form(), form_name);

// fla#527
TEST_P(ForwardLengths, L1EveryLength) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (std::int64_t tokens = 1; tokens <= 130; ++tokens) {
      Spec spec = base(tokens);
      spec.seed = static_cast<std::uint64_t>(tokens);
      spec.shape.heads = 1;
      run_and_check<L>(spec);
    }
  });
}

/// Gates over many decades, with resets among them.
template <class L>
Fill strongly_varying() {
  return fills::in_space<L>(fills::sometimes(fills::log_range(1e-6, 1), 0.05, 0));
}

template <class L>
void check_split(const Problem<L>& whole, const Result& result, std::int64_t split) {
  const std::int64_t tokens = whole.spec.shape.seq_len;
  Problem<L> first = whole.time_slice(0, split);
  Problem<L> second = whole.time_slice(split, tokens);
  const Result head = run_on_device(first);
  second.set_initial_state(head.final_state);
  const Result tail = run_on_device(second);
  std::vector<float> o;
  const auto row = static_cast<std::ptrdiff_t>(whole.spec.shape.heads * L::value_dim);
  for (std::ptrdiff_t b = 0; b < whole.spec.shape.batch; ++b) {
    const auto copy = [&](const Result& part, std::ptrdiff_t length) {
      o.insert(o.end(), part.o.begin() + b * length * row, part.o.begin() + (b + 1) * length * row);
    };
    copy(head, split);
    copy(tail, tokens - split);
  }
  const Result joined{std::move(o), tail.final_state};
  if (whole.spec.algorithm == Algorithm::recurrent) {
    expect_same_bits(result, joined, "split at token " + std::to_string(split));
  } else {
    expect_matches(whole, joined);
  }
}

// cuLA#38
TEST_P(ForwardLengths, L2SplitAtEveryToken) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(67);
    spec.gate_values = strongly_varying<L>();
    const Problem<L> problem = make_problem<L>(spec);
    const Result result = run_and_check(problem);
    for (std::int64_t split = 0; split <= 67; ++split) check_split(problem, result, split);
  });
}

TEST_P(ForwardLengths, L2LengthsAroundAChunk) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {15, 16, 17, 19, 31, 32, 33, 35, 63, 64, 65, 67, 500, 1000}) {
      Spec spec = base(tokens);
      spec.shape.batch = 1;
      spec.gate_values = strongly_varying<L>();
      const Problem<L> problem = make_problem<L>(spec);
      const Result result = run_and_check(problem);
      for (const std::int64_t split : {tokens / 2, tokens - 1}) {
        check_split(problem, result, split);
      }
    }
  });
}

// fla#1189
TEST_P(ForwardLengths, L3NoTokensKeepTheState) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Problem<L> problem = make_problem<L>(base(0));
    const Result result = run_on_device(problem);
    std::vector<float> initial;
    problem.initial_state.for_each([&](std::int64_t where) {
      initial.push_back(
          decode_float(DataType::float32, problem.byte(problem.initial_state.storage, where)));
    });
    const Verdict same = same_bits(result.final_state, initial);
    EXPECT_TRUE(same.ok) << same.message;

    Spec spec = base(0);
    spec.initial_state.present = false;
    const Result zero = run_on_device(make_problem<L>(spec));
    EXPECT_EQ(zero.final_state, std::vector<float>(zero.final_state.size(), 0.0f));

    spec = base(0);
    spec.in_place = true;
    const Verdict in_place = same_bits(run_on_device(make_problem<L>(spec)).final_state, initial);
    EXPECT_TRUE(in_place.ok) << in_place.message;

    spec = base(0);  // another type and layout on the way
    spec.final_state.type = DataType::bfloat16;
    spec.final_state.layout = StateLayout::vk;
    run_and_check<L>(spec);

    spec = base(0);  // nothing asked for, nothing done
    spec.initial_state.present = spec.final_state.present = false;
    run_on_device(make_problem<L>(spec));
  });
}

TEST_P(ForwardLengths, L3NothingToDo) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(5);
    spec.shape.batch = 0;
    run_on_device(make_problem<L>(spec));
    spec = base(5);
    spec.shape.heads = 0;
    run_on_device(make_problem<L>(spec));

    spec = packed({0});  // N 0, T 0
    run_on_device(make_problem<L>(spec));
    spec = packed({0});  // N 0 over tokens that belong to nobody
    spec.shape.seq_len = 5;
    run_and_check<L>(spec);
  });
}

/// Null is legal for tensors of size zero.
TEST_P(ForwardLengths, L3NullPointersOfEmptyTensors) {
  gdr::ForwardArgs<ValueFloat> args;
  args.algorithm = GetParam();
  args.shape.batch = 2;
  args.shape.heads = 3;
  gdr::Status status = gdr::forward<ValueFloat>(args, nullptr);
  EXPECT_TRUE(status.ok()) << describe(status);
  args.shape.seq_len = 4;
  args.shape.batch = 0;
  status = gdr::forward<ValueFloat>(args, nullptr);
  EXPECT_TRUE(status.ok()) << describe(status);
  cuda_check(cudaDeviceSynchronize(), "synchronise");
}

// FlashKDA#29, flashinfer#3536
TEST_P(ForwardLengths, L4SequencesOfDifferentLengths) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const std::vector<std::vector<std::int64_t>> all_offsets = {
        {0, 5, 5, 9},  {0, 0, 0},      {0, 0, 16},       {0, 64, 64, 65},
        {0, 0, 1},     {0, 130},       {0, 3, 130, 130}, {0, 31, 63, 64, 128, 130},
        {0, 0, 0, 70}, {0, 1, 2, 3, 4}};
    for (const auto& offsets : all_offsets) {
      for (const bool int64 : {false, true}) {
        Spec spec = packed(offsets);
        spec.cu_seqlens_int64 = int64;
        run_and_check<L>(spec);
        spec.initial_state.present = false;
        run_and_check<L>(spec);
        spec.final_state.present = false;
        run_and_check<L>(spec);
        spec.with_states();
        spec.in_place = true;
        run_and_check<L>(spec);
        spec.in_place = false;
        spec.null_o = true;
        run_and_check<L>(spec);
      }
    }
  });
}

TEST_P(ForwardLengths, L4ManySequences) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Random random(4);
    std::vector<std::int64_t> offsets = {0};
    for (int n = 0; n < 200; ++n) offsets.push_back(offsets.back() + random.integer(0, 9));
    Spec spec = packed(offsets);
    spec.shape.heads = 1;
    run_and_check<L>(spec);
  });
}

// vllm#23279
TEST_P(ForwardLengths, L5EachSequenceItsOwnState) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Problem<L> problem = make_problem<L>(packed({0, 10, 100}));
    Problem<L> other = problem;
    std::vector<float> states;
    Random random(5);
    for (std::int64_t i = 0; i < problem.initial_state.count(); ++i) {
      states.push_back(i < problem.initial_state.count() / 2 ? 0
                                                             : static_cast<float>(random.normal()));
    }
    other.set_initial_state(states);
    const Result first = run_and_check(problem);
    const Result second = run_and_check(other);
    EXPECT_FALSE(same_bits(first.o, second.o).ok);
  });
}

// FlashKDA
TEST_P(ForwardLengths, L6NaNStaysInItsSequence) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Problem<L> problem = make_problem<L>(packed({0, 5, 10}));
    const Problem<L> clean = problem;
    Scope scope;
    problem.v.for_each([&](const Index& at, std::int64_t) {
      if (at.time >= 5) problem.set(problem.v, at, std::numeric_limits<double>::quiet_NaN());
      scope.o.push_back(at.time < 5 ? 1 : 0);
    });
    scope.final_state.resize(static_cast<std::size_t>(problem.final_state.count()), 0);
    std::fill(scope.final_state.begin(),
              scope.final_state.begin() + problem.final_state.count() / 2, std::uint8_t{1});
    expect_matches(clean, run_on_device(problem), scope);
  });
}

/// A problem without faults and what comes of it.
template <class L>
struct Clean {
  Problem<L> problem;
  Expected expected;
  Result result;
};

/// Puts `bad` at one place of one tensor and checks everything that it may not reach: earlier
/// tokens, other heads and batch rows, and other channels where the gate's axis promises that.
template <class L>
void check_isolation(const Clean<L>& clean, Tensor ProblemData::*tensor, const Index& at,
                     double bad) {
  Problem<L> problem = clean.problem;
  const std::int64_t group = problem.spec.shape.heads / problem.spec.shape.key_heads;
  problem.set(problem.*tensor, at, bad);
  const bool by_key_head = (problem.*tensor).storage == problem.k.storage ||
                           (problem.*tensor).storage == problem.q.storage;
  const bool only_its_token = (problem.*tensor).storage == problem.q.storage;
  const bool only_its_channel =
      L::Gate::axis == GateAxis::value && ((problem.*tensor).storage == problem.v.storage ||
                                           (problem.*tensor).storage == problem.gate.storage);
  const auto spoilt = [&](std::int64_t b, std::int64_t head, std::int64_t channel) {
    const std::int64_t owner = by_key_head ? head / group : head;
    return b == at.batch && owner == at.head && (!only_its_channel || channel == at.channel);
  };
  Scope scope;
  problem.o.for_each([&](const Index& place, std::int64_t) {
    const bool later = only_its_token ? place.time == at.time : place.time >= at.time;
    scope.o.push_back(later && spoilt(place.batch, place.head, place.channel) ? 0 : 1);
  });
  for (std::int64_t i = 0; i < problem.final_state.count(); ++i) {
    const std::int64_t matrix = i / (L::key_dim * L::value_dim);
    scope.final_state.push_back(!only_its_token &&
                                        spoilt(matrix / problem.spec.shape.heads,
                                               matrix % problem.spec.shape.heads, i % L::value_dim)
                                    ? 0
                                    : 1);
  }
  const Result result = run_on_device(problem);
  expect_matches(clean.problem, clean.expected, result, scope);
  if (problem.spec.algorithm == Algorithm::recurrent) {
    const Verdict o = same_bits(result.o, clean.result.o, scope.o);
    EXPECT_TRUE(o.ok) << o.message;
    const Verdict state =
        same_bits(result.final_state, clean.result.final_state, scope.final_state);
    EXPECT_TRUE(state.ok) << state.message;
  }
}

TEST_P(ForwardLengths, L7NonFiniteInputsReachNothingElse) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(40);
    spec.shape.heads = 4;
    spec.shape.key_heads = 2;
    Clean<L> clean{make_problem<L>(spec), {}, {}};
    clean.expected = expect(clean.problem);
    clean.result = run_on_device(clean.problem);
    expect_matches(clean.problem, clean.expected, clean.result);
    const std::int64_t last_gate = clean.problem.gate.channels - 1;
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity()}) {
      for (const std::int64_t t : {0, 1, 17, 39}) {
        SCOPED_TRACE(std::to_string(bad) + " at token " + std::to_string(t));
        check_isolation(clean, &ProblemData::q, {1, t, 0, 63}, bad);
        check_isolation(clean, &ProblemData::k, {0, t, 1, 5}, bad);
        check_isolation(clean, &ProblemData::v, {1, t, 1, 33}, bad);
        check_isolation(clean, &ProblemData::gate, {0, t, 2, last_gate}, bad);
        if (clean.problem.beta.present()) {
          check_isolation(clean, &ProblemData::beta, {1, t, 3, 0}, bad);
        }
      }
    }
  });
}

// vllm#22034
TEST_P(ForwardLengths, L8TheInitialStateIsUsed) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {1, 40}) {
      Spec spec = base(tokens);
      spec.shape.batch = 1;
      spec.gate_values = fills::in_space<L>(fills::uniform(0.98, 1));
      const Result with_state = run_and_check<L>(spec);
      spec.cu_seqlens = {0, tokens};
      run_and_check<L>(spec);
      spec.initial_state.present = false;
      EXPECT_FALSE(same_bits(with_state.o, run_and_check<L>(spec).o).ok);
    }
  });
}

TEST_P(ForwardLengths, L9TokensBeyondTheLastSequence) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const auto& offsets : {std::vector<std::int64_t>{0, 7, 20}, {0, 64}, {0, 0}}) {
      Spec spec = packed(offsets);
      spec.shape.seq_len = 100;
      run_and_check<L>(spec);
    }
  });
}

}  // namespace
