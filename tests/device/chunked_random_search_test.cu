// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Random problems on the chunked forms: 6 layers, 2 forms, 180 problems each.

#include "support/random_problems.cuh"

namespace gdr::test {

template <class L>
class ChunkedRandomSearch : public RandomSearchTest<L> {
 protected:
  static constexpr int problems = 180;
};

template <class Element, int K, int V, class Gate>
using Layer = Recurrence<HeadDims<K, V>, Element, Gate>;

using Layers =
    testing::Types<Layer<__nv_bfloat16, 128, 128, ValueGate<>>,
                   Layer<__nv_bfloat16, 64, 64, KeyGate<Log, float>>,
                   Layer<__half, 64, 80, ValueGate<Sigmoid>>, Layer<__half, 48, 96, HeadGate<Log>>,
                   Layer<float, 64, 64, ValueGate<Log>>, Layer<float, 100, 36, KeyGate<>>>;

TYPED_TEST_SUITE(ChunkedRandomSearch, Layers, LayerNames);

TYPED_TEST(ChunkedRandomSearch, Chunked) {
  this->search(Algorithm::chunked, TestFixture::problems);
}

TYPED_TEST(ChunkedRandomSearch, ChunkedSplit) {
  this->search(Algorithm::chunked_split, TestFixture::problems);
}

}  // namespace gdr::test
