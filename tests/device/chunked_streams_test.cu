// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Streams, threads and graphs on the chunked forms; the same bits from run to run, and in every
// batch where that is asked for.

#include "support/stream_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Log;

using ValueFloat = gdr::Recurrence<HeadDim<64>, float>;
using KeyBfloat = gdr::Recurrence<HeadDims<128, 64>, __nv_bfloat16, gdr::KeyGate<Log, float>>;
using HeadHalf = gdr::Recurrence<HeadDim<32>, __half, gdr::HeadGate<Log>>;
using Every = LayerList<ValueFloat, KeyBfloat, HeadHalf>;

class ChunkedStreams : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedStreams, every_chunked_form(), form_name);

TEST_P(ChunkedStreams, R1TheSameBitsFromRunToRun) {
  stream_cases::the_same_bits_from_run_to_run(Every{}, GetParam());
}

TEST_P(ChunkedStreams, R2InterleavedStreams) {
  stream_cases::interleaved_streams(Every{}, GetParam());
}

TEST_P(ChunkedStreams, R2TheStreamOrdersTheWork) {
  stream_cases::the_stream_orders_the_work<ValueFloat>(GetParam());
}

TEST_P(ChunkedStreams, R4ThreadsAtFirstUse) {
  using L = gdr::Recurrence<HeadDims<128, 40>, __nv_bfloat16>;  // nowhere else in this file
  stream_cases::threads_at_first_use<L>(GetParam());
}

TEST_P(ChunkedStreams, R5GraphReplaysWithNewData) {
  stream_cases::graph_replays_with_new_data(Every{}, GetParam());
}

TEST_P(ChunkedStreams, R5GraphReplaysWithNewSequences) {
  stream_cases::graph_replays_with_new_sequences(Every{}, GetParam());
}

TEST_P(ChunkedStreams, R9BatchInvariance) {
  stream_cases::batch_invariance(Every{}, GetParam(), {0, 1, 5, 63, 64, 65, 130, 700});
}

TEST_P(ChunkedStreams, R9BatchInvarianceOfDenseBatches) {
  stream_cases::batch_invariance_of_dense_batches(Every{}, GetParam(), {1, 70, 500});
}

}  // namespace
