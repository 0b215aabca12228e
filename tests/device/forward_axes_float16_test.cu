// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Every axis, space and rule in float16.

#include "support/axes_cases.cuh"

namespace {

using namespace gdr::test;

class ForwardAxesFloat16 : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardAxesFloat16, every_form(), form_name);

TEST_P(ForwardAxesFloat16, OuterProduct) { check_outer_product<__half>(GetParam()); }

TEST_P(ForwardAxesFloat16, DeltaRule) { check_delta_rule<__half>(GetParam()); }

TEST_P(ForwardAxesFloat16, SmallCases) {
  check_small_cases<__half, gdr::OuterProduct>(GetParam());
  check_small_cases<__half, gdr::DeltaRule<>>(GetParam());
}

}  // namespace
