// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Head dimensions (S6; fla#22, fla#1135): exact types, and smaller extents inside a larger type.

#include "support/device_run.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Linear;
using gdr::Log;

class ForwardExtents : public DeviceTestByForm {
 protected:
  Spec base() const {
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = 19;
    spec.shape.heads = 2;
    spec.algorithm = GetParam();
    spec.with_states();
    return spec;
  }
  template <class L>
  void check_every_extent() const {
    const int extents[] = {1, 2, 3, 8, 15, 24, 40, 48, 72, 80, 96, 100, 112, 160, 192, 256};
    for (const int key_dim : extents) {
      for (const int value_dim : extents) {
        if (key_dim > L::key_dim || value_dim > L::value_dim) continue;
        Spec spec = base();
        spec.seed = static_cast<std::uint64_t>(1000 * key_dim + value_dim);
        spec.shape.key_dim = key_dim;
        spec.shape.value_dim = value_dim;
        spec.gap = (key_dim + value_dim) % 2 == 0 ? Gap::nan : Gap::large;
        run_and_check<L>(spec);
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Form, ForwardExtents, every_form(), form_name);

TEST_P(ForwardExtents, S6SmallerThanTheFloatType) {
  check_every_extent<gdr::Recurrence<HeadDim<256>, float>>();
}

TEST_P(ForwardExtents, S6SmallerThanTheBfloatType) {
  check_every_extent<gdr::Recurrence<HeadDim<128>, __nv_bfloat16, gdr::KeyGate<Log>>>();
}

TEST_P(ForwardExtents, S6SmallerThanTheTypeUnderTheDeltaRule) {
  check_every_extent<gdr::Recurrence<HeadDims<256, 128>, __nv_bfloat16, gdr::HeadGate<Log, float>,
                                     gdr::DeltaRule<>>>();
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
  for_each_layer(Exact{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const Gap gap : {Gap::nan, Gap::large}) {
      Spec spec = base();
      spec.gap = gap;
      run_and_check<L>(spec);
      spec.shape.seq_len = 100;
      spec.initial_state.present = false;
      run_and_check<L>(spec);
    }
  });
}

/// Query and launcher refuse alike, and name the field.
template <class L>
void expect_refused(const Spec& good, int gdr::Shape::*field, int extent, const char* name) {
  const Problem<L> problem = make_problem<L>(good);
  const DeviceProblem<L> device(problem);
  gdr::ForwardArgs<L> args = device.args();
  args.shape.*field = extent;
  const gdr::Status asked = gdr::can_forward<L>(args);
  const gdr::Status launched = gdr::forward<L>(args, nullptr);
  for (const gdr::Status& status : {asked, launched}) {
    EXPECT_EQ(status.code, gdr::StatusCode::invalid_argument) << describe(status);
    EXPECT_STREQ(status.argument, name) << describe(status);
  }
  device.expect_nothing_written();
}

TEST_P(ForwardExtents, S6TooLargeIsRefused) {
  using Small = gdr::Recurrence<HeadDims<3, 40>, float, gdr::KeyGate<>>;
  using Large = gdr::Recurrence<HeadDim<256>, float>;
  for (const int extent : {257, 512}) {
    expect_refused<Large>(base(), &gdr::Shape::key_dim, extent, "shape.key_dim");
    expect_refused<Large>(base(), &gdr::Shape::value_dim, extent, "shape.value_dim");
  }
  expect_refused<Small>(base(), &gdr::Shape::key_dim, 4, "shape.key_dim");
  expect_refused<Small>(base(), &gdr::Shape::value_dim, 41, "shape.value_dim");
}

}  // namespace
