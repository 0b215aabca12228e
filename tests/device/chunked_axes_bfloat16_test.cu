// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Every axis and space in bfloat16 on the chunked forms.

#include "support/axes_cases.cuh"

namespace {

using namespace gdr::test;

class ChunkedAxesBfloat16 : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedAxesBfloat16, every_chunked_form(), form_name);

TEST_P(ChunkedAxesBfloat16, OuterProduct) { check_outer_product<__nv_bfloat16>(GetParam()); }

TEST_P(ChunkedAxesBfloat16, SplitStateOperand) {
  check_cancelling_states<__nv_bfloat16>(GetParam());
}

TEST_P(ChunkedAxesBfloat16, SmallCases) {
  check_small_cases<__nv_bfloat16, gdr::OuterProduct>(GetParam());
}

}  // namespace
