// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Random problems in bfloat16.

#include "support/random_search.cuh"

namespace gdr::test {

using Element = __nv_bfloat16;
template <int K, int V, class Gate, class Rule = OuterProduct>
using Layer = Recurrence<HeadDims<K, V>, Element, Gate, Rule>;

using Layers =
    testing::Types<Layer<128, 128, ValueGate<>>, Layer<64, 64, ValueGate<Log>>,
                   Layer<64, 64, KeyGate<Log, float>, DeltaRule<>>, Layer<96, 64, KeyGate<>>,
                   Layer<128, 64, HeadGate<Log, float>, DeltaRule<>>,
                   Layer<32, 64, HeadGate<Linear, float>>, Layer<64, 64, NoGate, DeltaRule<>>,
                   Layer<56, 200, ValueGate<Sigmoid>>>;

INSTANTIATE_TYPED_TEST_SUITE_P(Bfloat16, RandomSearch, Layers, LayerNames);

}  // namespace gdr::test
