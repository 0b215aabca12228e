// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Every axis and space in float32 on the chunked forms.

#include "support/axes_cases.cuh"

namespace {

using namespace gdr::test;

class ChunkedAxesFloat32 : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedAxesFloat32, every_chunked_form(), form_name);

TEST_P(ChunkedAxesFloat32, OuterProduct) { check_outer_product<float>(GetParam()); }

TEST_P(ChunkedAxesFloat32, SmallCases) { check_small_cases<float, gdr::OuterProduct>(GetParam()); }

}  // namespace
