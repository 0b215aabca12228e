// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Head dimensions (S6; fla#22, fla#1135): exact types, and smaller extents inside a larger type.

#include "support/extent_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Linear;
using gdr::Log;

class ForwardExtents : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardExtents, every_form(), form_name);

TEST_P(ForwardExtents, S6SmallerThanTheFloatType) {
  extent_cases::every_smaller_extent<gdr::Recurrence<HeadDim<256>, float>>(GetParam(), 19);
}

TEST_P(ForwardExtents, S6SmallerThanTheBfloatType) {
  using L = gdr::Recurrence<HeadDim<128>, __nv_bfloat16, gdr::KeyGate<Log>>;
  extent_cases::every_smaller_extent<L>(GetParam(), 19);
}

TEST_P(ForwardExtents, S6SmallerThanTheTypeUnderTheDeltaRule) {
  using L = gdr::Recurrence<HeadDims<256, 128>, __nv_bfloat16, gdr::HeadGate<Log, float>,
                            gdr::DeltaRule<>>;
  extent_cases::every_smaller_extent<L>(GetParam(), 19);
}

TEST_P(ForwardExtents, S6ExactTypes) {
  using Exact =
      LayerList<gdr::Recurrence<HeadDim<24>, float>, gdr::Recurrence<HeadDim<1>, float>,
                gdr::Recurrence<HeadDims<3, 40>, float, gdr::KeyGate<>>,
                gdr::Recurrence<HeadDims<100, 72>, __nv_bfloat16, gdr::ValueGate<Log>>,
                gdr::Recurrence<HeadDims<15, 1>, __half, gdr::KeyGate<Log>>,
                gdr::Recurrence<HeadDims<2, 192>, float, gdr::NoGate>,
                gdr::Recurrence<HeadDims<160, 8>, __nv_bfloat16, gdr::KeyGate<Linear, float>,
                                gdr::DeltaRule<>>,
                gdr::Recurrence<HeadDims<80, 112>, float, gdr::ValueGate<>, gdr::DeltaRule<>>>;
  extent_cases::exact_types(Exact{}, GetParam());
}

TEST_P(ForwardExtents, S6TooLargeIsRefused) {
  using Small = gdr::Recurrence<HeadDims<3, 40>, float, gdr::KeyGate<>>;
  using Large = gdr::Recurrence<HeadDim<256>, float>;
  using extent_cases::expect_refused;
  for (const int extent : {257, 512}) {
    expect_refused<Large>(GetParam(), &gdr::Shape::key_dim, extent, "shape.key_dim");
    expect_refused<Large>(GetParam(), &gdr::Shape::value_dim, extent, "shape.value_dim");
  }
  expect_refused<Small>(GetParam(), &gdr::Shape::key_dim, 4, "shape.key_dim");
  expect_refused<Small>(GetParam(), &gdr::Shape::value_dim, 41, "shape.value_dim");
}

}  // namespace
