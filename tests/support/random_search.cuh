// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The body of the random_search tests: the recurrent form on random problems.

#include "random_problems.cuh"

namespace gdr::test {

template <class L>
class RandomSearch : public RandomSearchTest<L> {};

TYPED_TEST_SUITE_P(RandomSearch);

TYPED_TEST_P(RandomSearch, Recurrent) { this->search(Algorithm::recurrent, 90); }

REGISTER_TYPED_TEST_SUITE_P(RandomSearch, Recurrent);

}  // namespace gdr::test
