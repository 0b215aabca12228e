// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Every axis, space and rule in bfloat16.

#include "support/axes_cases.cuh"

namespace {

using namespace gdr::test;

class ForwardAxesBfloat16 : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardAxesBfloat16, every_form(), form_name);

TEST_P(ForwardAxesBfloat16, OuterProduct) { check_outer_product<__nv_bfloat16>(GetParam()); }

TEST_P(ForwardAxesBfloat16, DeltaRule) { check_delta_rule<__nv_bfloat16>(GetParam()); }

TEST_P(ForwardAxesBfloat16, SmallCases) {
  check_small_cases<__nv_bfloat16, gdr::OuterProduct>(GetParam());
  check_small_cases<__nv_bfloat16, gdr::DeltaRule<>>(GetParam());
}

}  // namespace
