// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Sizes beyond 32-bit offsets and beyond what a grid's y and z hold, and a launch that fails.

#include "support/size_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;

using Small = gdr::Recurrence<HeadDim<16>, float>;

class ForwardSizes : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardSizes, every_form(), form_name);

TEST_P(ForwardSizes, S1MoreThanTwoToThe31Elements) {
  using L = gdr::Recurrence<HeadDim<128>, __nv_bfloat16>;
  size_cases::more_than_two_to_the_31_elements<L>(GetParam());
}

TEST_P(ForwardSizes, S2BatchStrideBeyond32Bits) {
  using L = gdr::Recurrence<HeadDim<64>, float>;
  size_cases::batch_stride_beyond_32_bits<L>(GetParam());
}

TEST_P(ForwardSizes, S4ManyBatchRows) { size_cases::many_batch_rows<Small>(GetParam()); }

TEST_P(ForwardSizes, S4ManyHeads) { size_cases::many_heads<Small>(GetParam()); }

TEST_P(ForwardSizes, S5ManySequencesOfOneToken) {
  size_cases::many_sequences_of_one_token<Small>(GetParam());
}

TEST_P(ForwardSizes, S5MostSequencesEmpty) { size_cases::most_sequences_empty<Small>(GetParam()); }

// flashinfer#3125: the legacy stream cannot take work while a stream that it waits for is captured.
TEST_P(ForwardSizes, S8AFailingLaunchReachesTheCaller) {
  using L = Small;
  const DeviceProblem<L> device(
      make_problem<L>(size_cases::size_spec(GetParam(), 2, 5, 2).with_states()));
  cudaStream_t captured = nullptr;  // a blocking stream, unlike Stream
  cuda_check(cudaStreamCreate(&captured), "cudaStreamCreate");
  cuda_check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed), "begin capture");
  const gdr::Status status = device.launch(cudaStreamLegacy);
  cudaGraph_t graph = nullptr;
  (void)cudaStreamEndCapture(captured, &graph);
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  (void)cudaStreamDestroy(captured);
  (void)cudaGetLastError();
  EXPECT_EQ(status.code, gdr::StatusCode::cuda_error) << describe(status);
  EXPECT_EQ(status.cuda_error, static_cast<int>(cudaErrorStreamCaptureImplicit))
      << describe(status);
  EXPECT_STRNE(status.message, "");
  device.expect_nothing_written();

  const gdr::Status next = device.launch(nullptr);
  EXPECT_TRUE(next.ok()) << describe(next);
  expect_matches(device.problem(), device.collect());
}

// An error that another call left behind is not this call's.
TEST_P(ForwardSizes, S8AnEarlierErrorIsNotOurs) {
  using L = Small;
  const DeviceProblem<L> device(
      make_problem<L>(size_cases::size_spec(GetParam(), 2, 5, 2).with_states()));
  void* too_much = nullptr;
  EXPECT_NE(cudaMalloc(&too_much, std::size_t{1} << 60), cudaSuccess);
  const gdr::Status status = device.launch();
  EXPECT_TRUE(status.ok()) << describe(status);
  (void)cudaGetLastError();
  expect_matches(device.problem(), device.collect());
}

TEST_P(ForwardSizes, S9AVeryLongSequence) {
  using L = gdr::Recurrence<HeadDim<64>, float>;
  size_cases::a_very_long_sequence<L>(GetParam());
}

}  // namespace
