// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Streams, threads, devices and graphs; the same bits from run to run and in every batch.

#include "support/stream_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Log;

using ValueFloat = gdr::Recurrence<HeadDim<64>, float>;
using KeyBfloatDelta =
    gdr::Recurrence<HeadDims<128, 64>, __nv_bfloat16, gdr::KeyGate<Log, float>, gdr::DeltaRule<>>;
using HeadHalf = gdr::Recurrence<HeadDim<32>, __half, gdr::HeadGate<Log>>;
using Every = LayerList<ValueFloat, KeyBfloatDelta, HeadHalf>;

class ForwardStreams : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardStreams, every_form(), form_name);

TEST_P(ForwardStreams, R1TheSameBitsFromRunToRun) {
  stream_cases::the_same_bits_from_run_to_run(Every{}, GetParam());
}

TEST_P(ForwardStreams, R2InterleavedStreams) {
  stream_cases::interleaved_streams(Every{}, GetParam());
}

TEST_P(ForwardStreams, R2TheStreamOrdersTheWork) {
  stream_cases::the_stream_orders_the_work<ValueFloat>(GetParam());
}

// mamba#1003: two devices where there are two; otherwise the checks are tested on the host.
TEST_P(ForwardStreams, R3MemoryOfAnotherDeviceIsRefused) {
  int devices = 0;
  cuda_check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) GTEST_SKIP() << "needs two devices";
  using L = ValueFloat;
  const DeviceProblem<L> device(make_problem<L>(stream_cases::stream_spec(GetParam(), 2, 8)));
  cuda_check(cudaSetDevice(1), "cudaSetDevice");
  DeviceMemory other(1 << 20);
  cuda_check(cudaSetDevice(0), "cudaSetDevice");
  float* const elsewhere = reinterpret_cast<float*>(other.data());
  const auto expect_refused = [&](const gdr::ForwardArgs<L>& args, const char* name) {
    const gdr::Status status = gdr::forward<L>(args, nullptr);
    EXPECT_EQ(status.code, gdr::StatusCode::invalid_argument) << describe(status);
    EXPECT_STREQ(status.argument, name) << describe(status);
    device.expect_nothing_written();
  };
  gdr::ForwardArgs<L> args = device.args();
  args.k = elsewhere;
  expect_refused(args, "k");
  args = device.args();
  args.final_state = elsewhere;
  expect_refused(args, "final_state");
}

TEST_P(ForwardStreams, R3EveryDeviceThatIsCurrent) {
  int devices = 0;
  cuda_check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) GTEST_SKIP() << "needs two devices";
  using L = KeyBfloatDelta;
  const Problem<L> problem = make_problem<L>(stream_cases::stream_spec(GetParam(), 2, 70));
  const Result first = run_and_check(problem);
  cuda_check(cudaSetDevice(1), "cudaSetDevice");
  const Result second = run_on_device(problem);
  cuda_check(cudaSetDevice(0), "cudaSetDevice");
  expect_same_bits(first, second, "another device");
}

TEST_P(ForwardStreams, R4ThreadsAtFirstUse) {
  using L = gdr::Recurrence<HeadDims<128, 40>, float, gdr::KeyGate<>>;  // nowhere else in this file
  stream_cases::threads_at_first_use<L>(GetParam());
}

TEST_P(ForwardStreams, R5GraphReplaysWithNewData) {
  stream_cases::graph_replays_with_new_data(Every{}, GetParam());
}

TEST_P(ForwardStreams, R5GraphReplaysWithNewSequences) {
  stream_cases::graph_replays_with_new_sequences(Every{}, GetParam());
}

TEST_P(ForwardStreams, R9BatchInvariance) {
  stream_cases::batch_invariance(Every{}, GetParam(), {0, 1, 5, 63, 64, 65, 130});
}

TEST_P(ForwardStreams, R9BatchInvarianceOfDenseBatches) {
  stream_cases::batch_invariance_of_dense_batches(Every{}, GetParam(), {1, 70});
}

}  // namespace
