// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Every axis, space and rule in float32.

#include "support/axes_cases.cuh"

namespace {

using namespace gdr::test;

class ForwardAxesFloat32 : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardAxesFloat32, every_form(), form_name);

TEST_P(ForwardAxesFloat32, OuterProduct) { check_outer_product<float>(GetParam()); }

TEST_P(ForwardAxesFloat32, DeltaRule) { check_delta_rule<float>(GetParam()); }

TEST_P(ForwardAxesFloat32, SmallCases) {
  check_small_cases<float, gdr::OuterProduct>(GetParam());
  check_small_cases<float, gdr::DeltaRule<>>(GetParam());
}

}  // namespace
