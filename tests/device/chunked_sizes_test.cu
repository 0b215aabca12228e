// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Sizes on the chunked forms: beyond 32-bit offsets, beyond what a grid's y and z hold, very many
// sequences and a very long one.

#include "support/size_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;

using Small = gdr::Recurrence<HeadDim<16>, __nv_bfloat16>;
using Middle = gdr::Recurrence<HeadDim<64>, __nv_bfloat16>;
using Large = gdr::Recurrence<HeadDim<128>, __nv_bfloat16>;

class ChunkedSizes : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedSizes, every_chunked_form(), form_name);

TEST_P(ChunkedSizes, S1MoreThanTwoToThe31Elements) {
  size_cases::more_than_two_to_the_31_elements<Large>(GetParam());
}

TEST_P(ChunkedSizes, S2BatchStrideBeyond32Bits) {
  size_cases::batch_stride_beyond_32_bits<Middle>(GetParam());
}

TEST_P(ChunkedSizes, S4ManyBatchRows) { size_cases::many_batch_rows<Small>(GetParam()); }

TEST_P(ChunkedSizes, S4ManyHeads) { size_cases::many_heads<Small>(GetParam()); }

TEST_P(ChunkedSizes, S5ManySequencesOfOneToken) {
  size_cases::many_sequences_of_one_token<Small>(GetParam());
}

TEST_P(ChunkedSizes, S5MostSequencesEmpty) { size_cases::most_sequences_empty<Small>(GetParam()); }

TEST_P(ChunkedSizes, S9AVeryLongSequence) { size_cases::a_very_long_sequence<Middle>(GetParam()); }

}  // namespace
