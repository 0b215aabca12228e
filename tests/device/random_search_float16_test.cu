// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Random problems in float16.

#include "support/random_search.cuh"

namespace gdr::test {

using Element = __half;
template <int K, int V, class Gate, class Rule = OuterProduct>
using Layer = Recurrence<HeadDims<K, V>, Element, Gate, Rule>;

using Layers =
    testing::Types<Layer<64, 64, ValueGate<Log, float>>, Layer<20, 100, ValueGate<>>,
                   Layer<64, 64, KeyGate<Linear, float>, DeltaRule<>>, Layer<128, 32, KeyGate<Log>>,
                   Layer<48, 48, HeadGate<>>, Layer<64, 32, HeadGate<Log, float>, DeltaRule<>>,
                   Layer<16, 24, NoGate>, Layer<32, 32, ValueGate<Log>, DeltaRule<>>>;

INSTANTIATE_TYPED_TEST_SUITE_P(Float16, RandomSearch, Layers, LayerNames);

}  // namespace gdr::test
