// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Every axis and space in float16 on the chunked forms.

#include "support/axes_cases.cuh"

namespace {

using namespace gdr::test;

class ChunkedAxesFloat16 : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedAxesFloat16, every_chunked_form(), form_name);

TEST_P(ChunkedAxesFloat16, OuterProduct) { check_outer_product<__half>(GetParam()); }

TEST_P(ChunkedAxesFloat16, SplitStateOperand) { check_cancelling_states<__half>(GetParam()); }

TEST_P(ChunkedAxesFloat16, SmallCases) { check_small_cases<__half, gdr::OuterProduct>(GetParam()); }

}  // namespace
