// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Layouts of tensors and states on the chunked forms: views, paddings, repetition, alignment,
// grouped heads, in place.

#include "support/layout_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Log;

using ValueFloat = gdr::Recurrence<HeadDim<64>, float>;
using KeyBfloat = gdr::Recurrence<HeadDim<64>, __nv_bfloat16, gdr::KeyGate<Log, float>>;
using HeadHalf = gdr::Recurrence<HeadDim<64>, __half, gdr::HeadGate<Log>>;
using Every = LayerList<ValueFloat, KeyBfloat, HeadHalf>;

/// K != V, and several blocks to a head.
using Wide = LayerList<gdr::Recurrence<HeadDims<64, 256>, __nv_bfloat16>>;

class ChunkedLayout : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedLayout, every_chunked_form(), form_name);

TEST_P(ChunkedLayout, M1SlicesOfOneTensor) {
  layout_cases::slices_of_one_tensor(Every{}, GetParam());
}

TEST_P(ChunkedLayout, M1EveryLegalLayoutOfEachTensor) {
  layout_cases::every_legal_layout_of_each_tensor(Every{}, GetParam());
}

TEST_P(ChunkedLayout, M1StrideZeroRepeats) {
  layout_cases::stride_zero_repeats(Every{}, GetParam());
}

TEST_P(ChunkedLayout, M2InnermostStrideIsRefusedByName) {
  layout_cases::innermost_stride_is_refused_by_name<KeyBfloat>(GetParam());
}

TEST_P(ChunkedLayout, M3UnalignedBases) {
  using Bfloat = gdr::Recurrence<HeadDim<65>, __nv_bfloat16>;
  layout_cases::unaligned_bases(LayerList<Bfloat>{}, GetParam());
  layout_cases::unaligned_bases(Every{}, GetParam());
}

TEST_P(ChunkedLayout, M4OptionalOutputs) { layout_cases::optional_outputs(Every{}, GetParam()); }

TEST_P(ChunkedLayout, M5InPlace) {
  layout_cases::in_place(Wide{}, GetParam());
  layout_cases::in_place(Every{}, GetParam());
}

TEST_P(ChunkedLayout, M5PartialOverlapIsRefused) {
  layout_cases::partial_overlap_is_refused<ValueFloat>(GetParam());
}

TEST_P(ChunkedLayout, M6StateLayoutsGiveTheSameBits) {
  layout_cases::state_layouts_give_the_same_bits(Wide{}, GetParam());
  layout_cases::state_layouts_give_the_same_bits(Every{}, GetParam());
}

TEST_P(ChunkedLayout, M7GroupedHeads) { layout_cases::grouped_heads(Every{}, GetParam()); }

TEST_P(ChunkedLayout, M8RowsOfAWiderBuffer) {
  using Bfloat = gdr::Recurrence<HeadDim<128>, __nv_bfloat16>;
  layout_cases::rows_of_a_wider_buffer(LayerList<Bfloat>{}, GetParam());
}

}  // namespace
