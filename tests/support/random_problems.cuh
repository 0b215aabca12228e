// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Random problems over everything the arguments can say. The seeds are fixed;
/// --gtest_random_seed=N draws others. A failure prints its seed.

#include <gdr/gates.hpp>

#include "device_run.cuh"

namespace gdr::test {

namespace detail {

inline Layout random_layout(Random& random, bool is_output) {
  Layout layout;
  if (random.chance(0.4)) return layout;
  if (random.chance(0.3)) layout.offset = random.integer(1, 7);
  if (random.chance(0.3)) layout.channel_padding = random.pick<std::int64_t>({1, 3, 4, 8, 32});
  if (random.chance(0.2)) layout.head_padding = random.integer(1, 9);
  if (random.chance(0.2)) layout.batch_padding = random.integer(1, 9);
  layout.heads_outside_time = random.chance(0.3);
  layout.batch_inside_time = !layout.heads_outside_time && random.chance(0.2);
  layout.explicit_strides = random.chance(0.3);
  if (is_output) return layout;
  layout.reversed_time = random.chance(0.15);
  layout.repeat_batch = random.chance(0.1);
  layout.repeat_time = random.chance(0.1);
  layout.repeat_head = random.chance(0.1);
  return layout;
}

inline StateSpec random_state(Random& random) {
  StateSpec state;
  state.present = random.chance(0.65);
  state.type = random.chance(0.7) ? DataType::float32 : DataType::bfloat16;
  state.layout = random.chance(0.5) ? StateLayout::kv : StateLayout::vk;
  if (random.chance(0.3)) state.offset = random.integer(1, 5);
  if (random.chance(0.3)) state.row_padding = random.pick<std::int64_t>({1, 4, 7, 32});
  if (random.chance(0.3)) state.head_padding = random.integer(1, 9);
  if (random.chance(0.3)) state.sequence_padding = random.integer(1, 9);
  state.explicit_strides = random.chance(0.2);
  return state;
}

inline std::int64_t random_length(Random& random) {
  return random.chance(0.5)
             ? random.pick<std::int64_t>({0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65})
             : random.integer(1, 70);
}

/// Factors at most 1.05: a float16 result stays in range.
inline Fill random_factors(Random& random) {
  switch (random.integer(0, 7)) {
    case 0:
      return fills::uniform(0.9, 1);
    case 1:
      return fills::uniform(0.98, 1.02);
    case 2:
      return fills::uniform(0, 1);
    case 3:
      return fills::log_range(1e-8, 1);
    case 4:
      return fills::sometimes(fills::uniform(0.5, 1), 0.05, 0);
    case 5:
      return fills::uniform(-1, 1);
    case 6:
      return fills::odd();
    default:
      return fills::sometimes(fills::odd(), 0.9, 1);
  }
}

template <class L>
Fill random_gates(Random& random) {
  using Function = typename L::GateFunction;
  if constexpr (std::is_same_v<Function, typename Function::Space>) {
    return fills::in_space<L>(random_factors(random));
  } else {
    return fills::normal(random.uniform(0, 4), random.uniform(0, 4));  // logits
  }
}

inline void random_sequences(Random& random, Spec& spec) {
  spec.shape.batch = 1;
  spec.cu_seqlens = {0};
  for (std::int64_t n = random.integer(0, 5); n > 0; --n) {
    spec.cu_seqlens.push_back(spec.cu_seqlens.back() + random_length(random) / 2);
  }
  spec.shape.seq_len = spec.cu_seqlens.back() + (random.chance(0.2) ? random.integer(1, 9) : 0);
  spec.cu_seqlens_int64 = random.chance(0.5);
}

/// What only the chunked forms have: lengths of several chunks, and a state operand in two parts.
inline void vary_chunks(Random& random, Spec& spec) {
  spec.split_state_operand = random.chance(0.25);
  if (!spec.cu_seqlens.empty()) {
    if (random.chance(0.6)) return;
    const std::int64_t factor = random.integer(2, 6);
    for (std::int64_t& offset : spec.cu_seqlens) offset *= factor;
    spec.shape.seq_len *= factor;
  } else if (random.chance(0.4)) {
    spec.shape.seq_len = random.integer(64, 330);
  }
  // One gate above 1, or one key and value, for all tokens would outgrow float16.
  if (spec.shape.seq_len > 70) {
    spec.gate.repeat_time = spec.k.repeat_time = spec.v.repeat_time = false;
  }
}

template <class L>
Spec random_spec(std::uint64_t seed, Algorithm algorithm) {
  Random random(seed);
  Spec spec;
  spec.seed = seed;
  spec.algorithm = algorithm;
  Shape& shape = spec.shape;
  shape.batch = random.integer(1, 3);
  shape.seq_len = random_length(random);
  shape.key_heads = random.integer(1, 2);
  shape.heads = shape.key_heads * random.integer(1, 3);
  // Under the delta rule keys of few channels, or one key again and again, may cancel the state
  // that they meet: no bound holds then.
  const int least = L::Rule::uses_beta ? 8 : 1;
  const bool exact = random.chance(0.5);
  shape.key_dim = exact ? L::key_dim : static_cast<int>(random.integer(least, L::key_dim));
  shape.value_dim = exact ? L::value_dim : static_cast<int>(random.integer(1, L::value_dim));
  if (random.chance(0.35)) random_sequences(random, spec);

  spec.scale = random.pick<float>({1, 0.125f, -0.7f});
  spec.gate_values = random_gates<L>(random);
  if (random.chance(0.3)) spec.v_values = fills::normal(1);
  if (random.chance(0.3)) spec.beta_values = fills::uniform(0, 2);
  spec.beta_type = random.chance(0.5) ? DataType::float32 : L::element_type;
  spec.qk_l2norm = random.chance(0.25);
  spec.batch_invariant = random.chance(0.25);
  spec.gap = random.chance(0.7) ? Gap::nan : Gap::large;

  for (const auto tensor : {&Spec::q, &Spec::k, &Spec::v, &Spec::gate, &Spec::beta}) {
    spec.*tensor = random_layout(random, false);
  }
  if (L::Rule::uses_beta) spec.k.repeat_time = false;
  spec.o = random_layout(random, true);
  spec.packed_qkv =
      shape.key_dim == shape.value_dim && shape.key_heads == shape.heads && random.chance(0.3);
  spec.initial_state = random_state(random);
  spec.final_state = random_state(random);
  spec.in_place = spec.initial_state.present && random.chance(0.25);
  spec.null_o = (spec.in_place || spec.final_state.present) && random.chance(0.1);
  if (form_of(algorithm) == Form::chunked) vary_chunks(random, spec);
  return spec;
}

/// Few rows, or one key for many, may cancel as a whole; each row is judged by its own m.
inline bool may_cancel(const Spec& spec) {
  const auto repeats = [](const Layout& l) {
    return l.repeat_batch || l.repeat_time || l.repeat_head;
  };
  std::int64_t rows = spec.shape.batch * spec.shape.seq_len * spec.shape.heads;
  if (!spec.cu_seqlens.empty()) rows = spec.cu_seqlens.back() * spec.shape.heads;
  return rows < 8 || repeats(spec.q) || repeats(spec.k);
}

}  // namespace detail

template <class L>
class RandomSearchTest : public DeviceTest {
 protected:
  void search(Algorithm algorithm, int problems) const {
    const auto drawn = static_cast<std::uint64_t>(GTEST_FLAG_GET(random_seed));
    for (int i = 0; i < problems && !HasFailure(); ++i) {
      const std::uint64_t seed = 1000000 * drawn + static_cast<std::uint64_t>(i);
      const Problem<L> problem = make_problem<L>(detail::random_spec<L>(seed, algorithm));
      Scope scope = scope_of(problem);
      scope.whole_tensor = scope.whole_tensor && !detail::may_cancel(problem.spec);
      run_and_check(problem, scope);
    }
  }
};

struct LayerNames {
  template <class L>
  static std::string GetName(int index) {
    std::string name = std::to_string(index) + "_";
    for (const char c : layer_name<L>()) {
      if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    }
    return name;
  }
};

}  // namespace gdr::test
