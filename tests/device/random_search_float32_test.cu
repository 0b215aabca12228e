// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Random problems in float32.

#include "support/random_search.cuh"

namespace gdr::test {

using Element = float;
template <int K, int V, class Gate, class Rule = OuterProduct>
using Layer = Recurrence<HeadDims<K, V>, Element, Gate, Rule>;

using Layers =
    testing::Types<Layer<64, 64, ValueGate<>>, Layer<48, 80, ValueGate<Log>>,
                   Layer<100, 36, KeyGate<>>, Layer<32, 32, KeyGate<Log>, DeltaRule<>>,
                   Layer<24, 56, HeadGate<>, DeltaRule<>>, Layer<64, 128, HeadGate<Log>>,
                   Layer<40, 40, NoGate, DeltaRule<>>, Layer<33, 17, ValueGate<>, DeltaRule<>>>;

INSTANTIATE_TYPED_TEST_SUITE_P(Float32, RandomSearch, Layers, LayerNames);

}  // namespace gdr::test
