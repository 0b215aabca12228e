// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Lengths (L1 to L9): every tail, splits, empty problems, sequences of different lengths. Bodies
/// of the lengths tests, for lists of layers and a form.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "device_run.cuh"

namespace gdr::test::length_cases {

inline Spec length_spec(Algorithm algorithm, std::int64_t tokens) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = tokens;
  spec.shape.heads = 3;
  spec.algorithm = algorithm;
  return spec.with_states();
}

inline Spec packed_spec(Algorithm algorithm, std::vector<std::int64_t> offsets) {
  Spec spec = length_spec(algorithm, offsets.back());
  spec.shape.batch = 1;
  spec.cu_seqlens = std::move(offsets);
  return spec;
}

// fla#527
template <class Layers>
void every_length(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (std::int64_t tokens = 1; tokens <= 130; ++tokens) {
      Spec spec = length_spec(algorithm, tokens);
      spec.seed = static_cast<std::uint64_t>(tokens);
      spec.shape.heads = 1;
      run_and_check<L>(spec);
    }
  });
}

/// A problem and what comes of it in one call.
template <class L>
struct Whole {
  Problem<L> problem;
  Expected expected;
  Result result;
};

/// Gates over many decades, with resets among them.
template <class L>
Whole<L> run_whole(Spec spec) {
  spec.gate_values = fills::in_space<L>(fills::sometimes(fills::log_range(1e-6, 1), 0.05, 0));
  Whole<L> whole{make_problem<L>(spec), {}, {}};
  whole.expected = expect(whole.problem);
  whole.result = run_on_device(whole.problem);
  expect_matches(whole.problem, whole.expected, whole.result);
  return whole;
}

/// Tokens of which any chunk length is a divisor: a cut there moves no chunk. These cases' gates make
/// exact ones, which leave nothing due; of divided ones the state would be rounded once more.
inline constexpr std::int64_t whole_chunks = 64;

inline bool cut_keeps_bits(Algorithm algorithm, std::int64_t cut) {
  return algorithm == Algorithm::recurrent ||
         (algorithm == Algorithm::chunked && cut % whole_chunks == 0);
}

/// In two calls, the first's final state the second's initial one.
template <class L>
void check_split(const Whole<L>& whole, std::int64_t split) {
  const Shape& shape = whole.problem.spec.shape;
  Problem<L> first = whole.problem.time_slice(0, split);
  Problem<L> second = whole.problem.time_slice(split, shape.seq_len);
  const Result head = run_on_device(first);
  second.set_initial_state(head.final_state);
  const Result tail = run_on_device(second);
  std::vector<float> o;
  const auto row = static_cast<std::ptrdiff_t>(shape.heads * L::value_dim);
  for (std::ptrdiff_t b = 0; b < shape.batch; ++b) {
    const auto copy = [&](const Result& part, std::ptrdiff_t length) {
      o.insert(o.end(), part.o.begin() + b * length * row, part.o.begin() + (b + 1) * length * row);
    };
    copy(head, split);
    copy(tail, shape.seq_len - split);
  }
  const Result joined{std::move(o), tail.final_state};
  const std::string what = "split at token " + std::to_string(split);
  SCOPED_TRACE(what);
  if (cut_keeps_bits(whole.problem.spec.algorithm, split)) {
    expect_same_bits(whole.result, joined, what);
  } else {
    expect_matches(whole.problem, whole.expected, joined);
  }
}

// cuLA#38
template <class Layers>
void split_at_every_token(Layers layers, Algorithm algorithm, std::int64_t tokens) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Whole<L> whole = run_whole<L>(length_spec(algorithm, tokens));
    for (std::int64_t split = 0; split <= tokens; ++split) check_split(whole, split);
  });
}

template <class Layers>
void lengths_around_a_chunk(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens :
         {15, 16, 17, 19, 31, 32, 33, 35, 63, 64, 65, 67, 127, 128, 129, 131, 500, 1000}) {
      Spec spec = length_spec(algorithm, tokens);
      spec.shape.batch = 1;
      const Whole<L> whole = run_whole<L>(spec);
      for (const std::int64_t split :
           {tokens / 2, tokens - 1, (tokens - 1) / whole_chunks * whole_chunks}) {
        check_split(whole, split);
      }
    }
  });
}

// fla#1189
template <class Layers>
void no_tokens_keep_the_state(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Spec none = length_spec(algorithm, 0);
    const Problem<L> problem = make_problem<L>(none);
    const Result result = run_on_device(problem);
    std::vector<float> initial;
    problem.initial_state.for_each([&](std::int64_t where) {
      initial.push_back(
          decode_float(DataType::float32, problem.byte(problem.initial_state.storage, where)));
    });
    const Verdict same = same_bits(result.final_state, initial);
    EXPECT_TRUE(same.ok) << same.message;

    Spec spec = none;
    spec.initial_state.present = false;
    const Result zero = run_on_device(make_problem<L>(spec));
    EXPECT_EQ(zero.final_state, std::vector<float>(zero.final_state.size(), 0.0f));

    spec = none;
    spec.in_place = true;
    const Verdict in_place = same_bits(run_on_device(make_problem<L>(spec)).final_state, initial);
    EXPECT_TRUE(in_place.ok) << in_place.message;

    spec = none;  // another type and layout on the way
    spec.final_state.type = DataType::bfloat16;
    spec.final_state.layout = StateLayout::vk;
    run_and_check<L>(spec);

    spec = none;  // nothing asked for, nothing done
    spec.initial_state.present = spec.final_state.present = false;
    run_on_device(make_problem<L>(spec));
  });
}

template <class Layers>
void nothing_to_do(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = length_spec(algorithm, 5);
    spec.shape.batch = 0;
    run_on_device(make_problem<L>(spec));
    spec = length_spec(algorithm, 5);
    spec.shape.heads = 0;
    run_on_device(make_problem<L>(spec));

    spec = packed_spec(algorithm, {0});  // N 0, T 0
    run_on_device(make_problem<L>(spec));
    spec = packed_spec(algorithm, {0});  // N 0 over tokens that belong to nobody
    spec.shape.seq_len = 5;
    run_and_check<L>(spec);
  });
}

/// Null is legal for tensors of size zero.
template <class L>
void null_pointers_of_empty_tensors(Algorithm algorithm) {
  ForwardArgs<L> args;
  args.algorithm = algorithm;
  args.shape.batch = 2;
  args.shape.heads = 3;
  const auto expect_ok = [&] {
    const DeviceMemory workspace(static_cast<std::size_t>(workspace_size<L>(args) + 1));
    args.workspace = workspace.data();
    args.workspace_bytes = static_cast<std::int64_t>(workspace.bytes());
    const Status status = forward<L, TestPolicy<L>>(args, nullptr);
    EXPECT_TRUE(status.ok()) << describe(status);
    cuda_check(cudaDeviceSynchronize(), "synchronise");
  };
  expect_ok();
  args.shape.seq_len = 4;
  args.shape.batch = 0;
  expect_ok();
}

// FlashKDA#29, flashinfer#3536
template <class Layers>
void sequences_of_different_lengths(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const std::vector<std::vector<std::int64_t>> all_offsets = {
        {0, 5, 5, 9},  {0, 0, 0},       {0, 0, 16},       {0, 64, 64, 65},
        {0, 0, 1},     {0, 130},        {0, 3, 130, 130}, {0, 31, 63, 64, 128, 130},
        {0, 0, 0, 70}, {0, 1, 2, 3, 4}, {0, 64, 128},     {0, 1, 65, 129, 257}};
    for (const auto& offsets : all_offsets) {
      for (const bool int64 : {false, true}) {
        Spec spec = packed_spec(algorithm, offsets);
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

/// Offsets of sequences of up to `longest` tokens.
inline std::vector<std::int64_t> random_offsets(std::uint64_t seed, int sequences, int longest) {
  Random random(seed);
  std::vector<std::int64_t> offsets = {0};
  for (int n = 0; n < sequences; ++n) {
    offsets.push_back(offsets.back() + random.integer(0, longest));
  }
  return offsets;
}

template <class Layers>
void many_sequences(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = packed_spec(algorithm, random_offsets(4, 200, 9));
    spec.shape.heads = 1;
    run_and_check<L>(spec);
  });
}

/// More than there are blocks at a time: a block goes from one to the next.
template <class Layers>
void sequences_that_share_blocks(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    std::vector<std::int64_t> offsets = random_offsets(6, 1500, 4);
    offsets.push_back(offsets.back() + 40);
    Spec spec = packed_spec(algorithm, offsets);
    spec.shape.heads = 3;
    run_and_check<L>(spec);
  });
}

// vllm#23279
template <class Layers>
void each_sequence_its_own_state(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Problem<L> problem = make_problem<L>(packed_spec(algorithm, {0, 10, 100}));
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

// FlashKDA: NaN in the second sequence, in the first one's tile or beyond it.
template <class Layers>
void nan_stays_in_its_sequence(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const auto& offsets : {std::vector<std::int64_t>{0, 5, 10}, {0, 70, 200}}) {
      Problem<L> problem = make_problem<L>(packed_spec(algorithm, offsets));
      const Problem<L> clean = problem;
      Scope scope;
      problem.v.for_each([&](const Index& at, std::int64_t) {
        const bool second = at.time >= offsets[1];
        if (second) problem.set(problem.v, at, std::numeric_limits<double>::quiet_NaN());
        scope.o.push_back(second ? 0 : 1);
      });
      scope.final_state.resize(static_cast<std::size_t>(problem.final_state.count()), 0);
      std::fill(scope.final_state.begin(),
                scope.final_state.begin() + problem.final_state.count() / 2, std::uint8_t{1});
      expect_matches(clean, run_on_device(problem), scope);
    }
  });
}

// vllm#22034
template <class Layers>
void the_initial_state_is_used(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {1, 40}) {
      Spec spec = length_spec(algorithm, tokens);
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

template <class Layers>
void tokens_beyond_the_last_sequence(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const auto& offsets :
         {std::vector<std::int64_t>{0, 7, 20}, {0, 64}, {0, 0}, {0, 65, 66}}) {
      Spec spec = packed_spec(algorithm, offsets);
      spec.shape.seq_len = 100;
      run_and_check<L>(spec);
    }
  });
}

}  // namespace gdr::test::length_cases
