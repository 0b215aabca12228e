// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Layouts of tensors and states: views, paddings, repetition, alignment, grouped heads, in place.

#include "support/layout_cases.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Log;
using gdr::StateLayout;

using ValueFloat = gdr::Recurrence<HeadDim<64>, float>;
using KeyBfloat = gdr::Recurrence<HeadDim<64>, __nv_bfloat16, gdr::KeyGate<Log, float>>;
using HeadHalfDelta = gdr::Recurrence<HeadDim<64>, __half, gdr::HeadGate<Log>, gdr::DeltaRule<>>;
using Every = LayerList<ValueFloat, KeyBfloat, HeadHalfDelta>;

/// K != V.
using Oblong = LayerList<
    gdr::Recurrence<HeadDims<64, 128>, float>,
    gdr::Recurrence<HeadDims<64, 128>, __nv_bfloat16, gdr::HeadGate<Log, float>, gdr::DeltaRule<>>>;

class ForwardLayout : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ForwardLayout, every_form(), form_name);

TEST_P(ForwardLayout, M1SlicesOfOneTensor) {
  layout_cases::slices_of_one_tensor(Every{}, GetParam());
}

TEST_P(ForwardLayout, M1EveryLegalLayoutOfEachTensor) {
  layout_cases::every_legal_layout_of_each_tensor(Every{}, GetParam());
}

TEST_P(ForwardLayout, M1StrideZeroRepeats) {
  layout_cases::stride_zero_repeats(Every{}, GetParam());
}

TEST_P(ForwardLayout, M2InnermostStrideIsRefusedByName) {
  using L = gdr::Recurrence<HeadDim<64>, float, gdr::ValueGate<>, gdr::DeltaRule<>>;
  layout_cases::innermost_stride_is_refused_by_name<L>(GetParam());
}

TEST_P(ForwardLayout, M3UnalignedBases) {
  using Float = gdr::Recurrence<HeadDim<65>, float>;
  using Bfloat = gdr::Recurrence<HeadDim<65>, __nv_bfloat16, gdr::KeyGate<Log>, gdr::DeltaRule<>>;
  layout_cases::unaligned_bases(LayerList<Float, Bfloat>{}, GetParam());
}

TEST_P(ForwardLayout, M4OptionalOutputs) { layout_cases::optional_outputs(Every{}, GetParam()); }

TEST_P(ForwardLayout, M5InPlace) {
  using Wide = gdr::Recurrence<HeadDims<64, 256>, float>;
  using WideDelta =
      gdr::Recurrence<HeadDims<64, 256>, __nv_bfloat16, gdr::KeyGate<Log>, gdr::DeltaRule<>>;
  layout_cases::in_place(LayerList<Wide, WideDelta>{}, GetParam());
}

TEST_P(ForwardLayout, M5PartialOverlapIsRefused) {
  layout_cases::partial_overlap_is_refused<ValueFloat>(GetParam());
}

TEST_P(ForwardLayout, M6StateLayoutsGiveTheSameBits) {
  layout_cases::state_layouts_give_the_same_bits(Oblong{}, GetParam());
}

// Prefill, decode, prefill, each with the state of the one before.
TEST_P(ForwardLayout, M6ChainOfCalls) {
  for_each_layer(Oblong{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const StateLayout layout : {StateLayout::kv, StateLayout::vk}) {
      Spec spec = layout_cases::layout_spec(GetParam(), 100);
      spec.initial_state.layout = spec.final_state.layout = layout;
      const Problem<L> whole = make_problem<L>(spec);
      const Result unsplit = run_and_check(whole);
      Result joined;
      joined.o.resize(unsplit.o.size());
      std::vector<std::int64_t> cuts = {0, 60};
      while (cuts.back() < 70) cuts.push_back(cuts.back() + 1);
      cuts.push_back(100);
      for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        Problem<L> part = whole.time_slice(cuts[i], cuts[i + 1]);
        if (i > 0) part.set_initial_state(joined.final_state);
        const Result result = run_on_device(part);
        joined.final_state = result.final_state;
        std::size_t next = 0;
        part.o.for_each([&](const Index& at, std::int64_t) {
          joined.o[static_cast<std::size_t>(
              ((at.batch * 100 + cuts[i] + at.time) * 3 + at.head) * 128 + at.channel)] =
              result.o[next++];
        });
      }
      expect_same_bits(unsplit, joined, "a chain of calls");
    }
  });
}

TEST_P(ForwardLayout, M7GroupedHeads) { layout_cases::grouped_heads(Every{}, GetParam()); }

TEST_P(ForwardLayout, M8RowsOfAWiderBuffer) {
  using Float = gdr::Recurrence<HeadDim<128>, float, gdr::HeadGate<>>;
  using Bfloat = gdr::Recurrence<HeadDim<128>, __nv_bfloat16>;
  layout_cases::rows_of_a_wider_buffer(LayerList<Float, Bfloat>{}, GetParam());
}

}  // namespace
