// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Head dimensions on the chunked forms (S6; fla#22, fla#1135): exact types, and smaller extents
// inside a larger type.

#include "support/extent_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Log;

using Small = gdr::Recurrence<HeadDims<40, 72>, __nv_bfloat16, gdr::KeyGate<Log, float>>;
using Large = gdr::Recurrence<HeadDim<256>, float>;
using Bfloat = gdr::Recurrence<HeadDim<128>, __nv_bfloat16>;

class ChunkedExtents : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedExtents, every_chunked_form(), form_name);

TEST_P(ChunkedExtents, S6SmallerThanTheFloatType) {
  extent_cases::every_smaller_extent<Large>(GetParam(), 70);
}

TEST_P(ChunkedExtents, S6SmallerThanTheBfloatType) {
  extent_cases::every_smaller_extent<Bfloat>(GetParam(), 70);
}

TEST_P(ChunkedExtents, S6ExactTypes) {
  using Exact = LayerList<gdr::Recurrence<HeadDim<24>, float>, Small,
                          gdr::Recurrence<HeadDims<100, 48>, __half, gdr::HeadGate<>>, Large,
                          gdr::Recurrence<HeadDim<1>, float, gdr::KeyGate<>>,
                          gdr::Recurrence<HeadDims<16, 192>, __nv_bfloat16, gdr::ValueGate<Log>>,
                          gdr::Recurrence<HeadDims<256, 32>, __nv_bfloat16>,
                          gdr::Recurrence<HeadDims<160, 80>, __nv_bfloat16, gdr::ValueGate<Log>>,
                          gdr::Recurrence<HeadDims<192, 16>, __nv_bfloat16, gdr::HeadGate<>>>;
  extent_cases::exact_types(Exact{}, GetParam());
}

TEST_P(ChunkedExtents, S6TooLargeIsRefused) {
  using extent_cases::expect_refused;
  for (const int extent : {257, 512}) {
    expect_refused<Large>(GetParam(), &gdr::Shape::key_dim, extent, "shape.key_dim");
    expect_refused<Large>(GetParam(), &gdr::Shape::value_dim, extent, "shape.value_dim");
  }
  expect_refused<Small>(GetParam(), &gdr::Shape::key_dim, 41, "shape.key_dim");
  expect_refused<Small>(GetParam(), &gdr::Shape::value_dim, 73, "shape.value_dim");
}

}  // namespace
