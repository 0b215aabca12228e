// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Chunks of 48 tokens, which wide heads have: their halves are one block of 16 tokens and two.

#include "support/isolation_cases.cuh"
#include "support/linear_gate_cases.cuh"
#include "support/log_gate_cases.cuh"
#include "support/random_problems.cuh"

namespace gdr::test {

template <int K, int V, class Gate>
using Layer = Recurrence<HeadDims<K, V>, __nv_bfloat16, Gate>;

using Value = Layer<256, 32, ValueGate<>>;
using ValueLog = Layer<192, 64, ValueGate<Log>>;
using ValueFloatLog = Layer<160, 64, ValueGate<Log, float>>;
using KeyLog = Layer<160, 32, KeyGate<Log>>;
using Head = Layer<256, 48, HeadGate<>>;

template <class L>
inline constexpr bool has_thirds = ChunkedPolicy<L>::chunked.tokens == 48;
static_assert(has_thirds<Value> && has_thirds<ValueLog> && has_thirds<ValueFloatLog> &&
              has_thirds<KeyLog> && has_thirds<Head>);

using Every = LayerList<Value, ValueLog, ValueFloatLog, KeyLog, Head>;
using Logs = LayerList<ValueLog, ValueFloatLog, KeyLog>;
using Linears = LayerList<Value, Head>;

class ChunkedThirds : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedThirds, every_chunked_form(), form_name);

TEST_P(ChunkedThirds, LengthsAroundAChunk) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 95, 96, 97, 500}) {
      Spec spec;
      spec.shape.batch = 2;
      spec.shape.seq_len = tokens;
      spec.shape.heads = 3;
      spec.algorithm = GetParam();
      spec.seed = static_cast<std::uint64_t>(tokens);
      run_and_check<L>(spec.with_states());
    }
  });
}

TEST_P(ChunkedThirds, Gates) {
  gate_cases::resets_forget_the_past(Every{}, GetParam());
  gate_cases::one_channel_in_eight_is_reset(Every{}, GetParam());
  gate_cases::gates_above_one(Every{}, GetParam());
  gate_cases::products_at_the_edge_of_range(Every{}, GetParam());
  gate_cases::fast_tokens_then_ones(Every{}, GetParam());
  gate_cases::ones_do_not_drift(Every{}, GetParam());
}

TEST_P(ChunkedThirds, GatesOfOneSpace) {
  gate_cases::minus_infinity_is_a_reset(Logs{}, GetParam());
  gate_cases::steep_gates(Logs{}, GetParam());
  gate_cases::negative_gates(Linears{}, GetParam());
  gate_cases::odd_gates_mixed(Linears{}, GetParam());
}

TEST_P(ChunkedThirds, NonFiniteInputsReachNothingElse) {
  isolation_cases::non_finite_inputs_reach_nothing_else(Every{}, GetParam(), 70, {0, 17, 48, 64});
}

template <class L>
class ChunkedThirdsSearch : public RandomSearchTest<L> {};

using SearchedLayers = testing::Types<Value, ValueLog, ValueFloatLog, KeyLog, Head>;
TYPED_TEST_SUITE(ChunkedThirdsSearch, SearchedLayers, LayerNames);

TYPED_TEST(ChunkedThirdsSearch, Chunked) { this->search(Algorithm::chunked, 60); }

TYPED_TEST(ChunkedThirdsSearch, ChunkedSplit) { this->search(Algorithm::chunked_split, 60); }

}  // namespace gdr::test
