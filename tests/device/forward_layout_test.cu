// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Layouts of tensors and states: views, paddings, repetition, alignment, grouped heads, in place.

#include "support/device_run.cuh"

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::DataType;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::Log;
using gdr::StateLayout;

using ValueFloat = gdr::Recurrence<HeadDim<64>, float>;
using KeyBfloat = gdr::Recurrence<HeadDim<64>, __nv_bfloat16, gdr::KeyGate<Log, float>>;
using HeadHalfDelta = gdr::Recurrence<HeadDim<64>, __half, gdr::HeadGate<Log>, gdr::DeltaRule<>>;
using Every = LayerList<ValueFloat, KeyBfloat, HeadHalfDelta>;

class ForwardLayout : public DeviceTestByForm {
 protected:
  Spec base(std::int64_t tokens = 70) const {
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = tokens;
    spec.shape.heads = 3;
    spec.algorithm = GetParam();
    spec.with_states();
    return spec;
  }
};

INSTANTIATE_TEST_SUITE_P(Form, ForwardLayout, every_form(), form_name);

/// The layouts change where elements lie, not what they are: bits stay.
template <class L>
void expect_same_as_contiguous(const Spec& spec, const Result& contiguous,
                               const std::string& what) {
  expect_same_bits(contiguous, run_and_check<L>(spec), what);
}

Layout padded() {
  Layout layout;
  layout.channel_padding = 8;
  layout.head_padding = 16;
  layout.batch_padding = 24;
  return layout;
}

// fla#1138
TEST_P(ForwardLayout, M1SlicesOfOneTensor) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base();
    const Result contiguous = run_and_check<L>(spec);
    spec.packed_qkv = true;
    expect_same_as_contiguous<L>(spec, contiguous, "packed qkv");
  });
}

TEST_P(ForwardLayout, M1EveryLegalLayoutOfEachTensor) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Result contiguous = run_and_check<L>(base());
    Layout odd_padding;
    odd_padding.channel_padding = 1;
    Layout heads_outside = padded();
    heads_outside.heads_outside_time = true;
    Layout batch_inside;
    batch_inside.batch_inside_time = true;
    Layout explicit_strides;
    explicit_strides.explicit_strides = true;
    Layout reversed = padded();
    reversed.reversed_time = true;
    Layout offset;
    offset.offset = 1;
    Layout everything = heads_outside;
    everything.reversed_time = true;
    everything.offset = 3;
    everything.channel_padding = 5;
    const Layout layouts[] = {padded(),         odd_padding, heads_outside, batch_inside,
                              explicit_strides, reversed,    offset,        everything};
    for (const Layout& layout : layouts) {
      for (const auto member : {&Spec::q, &Spec::k, &Spec::v, &Spec::gate, &Spec::beta}) {
        Spec spec = base();
        spec.*member = layout;
        expect_same_as_contiguous<L>(spec, contiguous, layout.describe());
      }
      Spec spec = base();
      spec.q = spec.k = spec.v = spec.gate = spec.beta = layout;
      spec.o = layout;
      spec.o.reversed_time = false;  // refused on outputs
      expect_same_as_contiguous<L>(spec, contiguous, "all:" + layout.describe());
    }
  });
}

TEST_P(ForwardLayout, M1StrideZeroRepeats) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Layout batch, time, head, all;
    batch.repeat_batch = all.repeat_batch = true;
    time.repeat_time = all.repeat_time = true;
    head.repeat_head = all.repeat_head = true;
    for (const Layout& layout : {batch, time, head, all}) {
      for (const auto member : {&Spec::q, &Spec::k, &Spec::v, &Spec::gate, &Spec::beta}) {
        Spec spec = base(40);
        spec.*member = layout;
        run_and_check<L>(spec);
      }
    }
  });
}

// fla#759
TEST_P(ForwardLayout, M2InnermostStrideIsRefusedByName) {
  using L = gdr::Recurrence<HeadDim<64>, float, gdr::ValueGate<>, gdr::DeltaRule<>>;
  const DeviceProblem<L> device(make_problem<L>(base(8)));
  const auto expect_refused = [&](const gdr::ForwardArgs<L>& args, const char* name) {
    const gdr::Status status = gdr::forward<L>(args, nullptr);
    EXPECT_EQ(status.code, gdr::StatusCode::invalid_argument) << describe(status);
    EXPECT_STREQ(status.argument, name) << describe(status);
    device.expect_nothing_written();
  };
  const auto spoil = [&](auto& view) {
    view.contiguous = false;
    view.strides = {8 * 3 * 64, 3 * 64, 64, 2};
  };
  gdr::ForwardArgs<L> args = device.args();
  spoil(args.q);
  expect_refused(args, "q");
  args = device.args();
  spoil(args.k);
  expect_refused(args, "k");
  args = device.args();
  spoil(args.v);
  expect_refused(args, "v");
  args = device.args();
  spoil(args.gate);
  expect_refused(args, "gate");
  args = device.args();
  spoil(args.o);
  expect_refused(args, "o");
}

// fla#142
TEST_P(ForwardLayout, M3UnalignedBases) {
  using Float = gdr::Recurrence<HeadDim<65>, float>;
  using Bfloat = gdr::Recurrence<HeadDim<65>, __nv_bfloat16, gdr::KeyGate<Log>, gdr::DeltaRule<>>;
  for_each_layer(LayerList<Float, Bfloat>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Result aligned = run_and_check<L>(base());
    for (const std::int64_t offset : {1, 2, 3, 5, 7}) {
      Spec spec = base();
      spec.q.offset = spec.k.offset = spec.v.offset = offset;
      spec.gate.offset = spec.beta.offset = spec.o.offset = offset;
      spec.initial_state.offset = spec.final_state.offset = offset;
      expect_same_as_contiguous<L>(spec, aligned, "offset " + std::to_string(offset));
    }
  });
}

// fla#1191; the harness checks that the initial state is untouched.
TEST_P(ForwardLayout, M4OptionalOutputs) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Result both = run_and_check<L>(base());
    Spec spec = base();
    spec.final_state.present = false;
    const Verdict o = same_bits(both.o, run_and_check<L>(spec).o);
    EXPECT_TRUE(o.ok) << o.message;
    spec = base();
    spec.null_o = true;
    const Verdict state = same_bits(both.final_state, run_and_check<L>(spec).final_state);
    EXPECT_TRUE(state.ok) << state.message;
    spec.initial_state.present = false;
    run_and_check<L>(spec);
  });
}

TEST_P(ForwardLayout, M5InPlace) {
  using Wide = gdr::Recurrence<HeadDims<64, 256>, float>;
  using WideDelta =
      gdr::Recurrence<HeadDims<64, 256>, __nv_bfloat16, gdr::KeyGate<Log>, gdr::DeltaRule<>>;
  for_each_layer(LayerList<Wide, WideDelta>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {1, 65, 4096}) {
      for (const StateLayout layout : {StateLayout::kv, StateLayout::vk}) {
        Spec spec = base(tokens);
        spec.shape.batch = tokens == 4096 ? 1 : 2;
        spec.shape.heads = tokens == 4096 ? 1 : 3;
        spec.initial_state.layout = layout;
        spec.in_place = true;
        run_and_check<L>(spec);
      }
    }
    Spec spec = base(65);
    spec.in_place = true;
    spec.initial_state.type = DataType::bfloat16;
    spec.initial_state.row_padding = 3;
    spec.initial_state.head_padding = 5;
    run_and_check<L>(spec);
  });
}

TEST_P(ForwardLayout, M5PartialOverlapIsRefused) {
  using L = ValueFloat;
  const DeviceProblem<L> device(make_problem<L>(base(8)));
  gdr::ForwardArgs<L> args = device.args();
  const auto expect_refused = [&] {
    const gdr::Status status = gdr::forward<L>(args, nullptr);
    EXPECT_EQ(status.code, gdr::StatusCode::invalid_argument) << describe(status);
    EXPECT_STREQ(status.argument, "final_state") << describe(status);
    device.expect_nothing_written();
  };
  float* const state = const_cast<float*>(static_cast<const float*>(args.initial_state.data));
  for (const std::int64_t shift : {1, 64, 4096, 64 * 64 * 3}) {
    args.final_state = state + shift;
    expect_refused();
    args.final_state = state - shift;
    expect_refused();
  }
  args.final_state = gdr::StateView(state, StateLayout::vk);
  expect_refused();
  args.final_state = gdr::StateView(reinterpret_cast<__nv_bfloat16*>(state));
  expect_refused();
  args.final_state = gdr::strided_state(state, 3 * 64 * 64, 64 * 64, 65);
  expect_refused();
}

TEST_P(ForwardLayout, M6StateLayoutsGiveTheSameBits) {
  using Float = gdr::Recurrence<HeadDims<64, 128>, float>;
  using Delta = gdr::Recurrence<HeadDims<64, 128>, __nv_bfloat16, gdr::HeadGate<Log, float>,
                                gdr::DeltaRule<>>;
  for_each_layer(LayerList<Float, Delta>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const DataType type : {DataType::float32, DataType::bfloat16}) {
      Spec spec = base();
      spec.initial_state.type = spec.final_state.type = type;
      const Result kv = run_and_check<L>(spec);
      for (const auto& [in, out] : {std::pair{StateLayout::vk, StateLayout::vk},
                                    {StateLayout::kv, StateLayout::vk},
                                    {StateLayout::vk, StateLayout::kv}}) {
        spec.initial_state.layout = in;
        spec.final_state.layout = out;
        expect_same_as_contiguous<L>(spec, kv, "state layout");
      }
    }
    for (const auto& [in, out] : {std::pair{DataType::float32, DataType::bfloat16},
                                  {DataType::bfloat16, DataType::float32}}) {
      Spec spec = base();
      spec.initial_state.type = in;
      spec.final_state.type = out;
      run_and_check<L>(spec);
    }
  });
}

// Prefill, decode, prefill, each with the state of the one before.
TEST_P(ForwardLayout, M6ChainOfCalls) {
  using Float = gdr::Recurrence<HeadDims<64, 128>, float>;
  using Delta = gdr::Recurrence<HeadDims<64, 128>, __nv_bfloat16, gdr::HeadGate<Log, float>,
                                gdr::DeltaRule<>>;
  for_each_layer(LayerList<Float, Delta>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const StateLayout layout : {StateLayout::kv, StateLayout::vk}) {
      Spec spec = base(100);
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
      if (GetParam() == Algorithm::recurrent) {
        expect_same_bits(unsplit, joined, "a chain of calls");
      } else {
        expect_matches(whole, joined);
      }
    }
  });
}

// llama.cpp#15625
TEST_P(ForwardLayout, M7GroupedHeads) {
  for_each_layer(Every{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const std::pair<std::int64_t, std::int64_t> groups[] = {{2, 4}, {1, 6}, {3, 9}, {5, 5}};
    for (const auto& [key_heads, heads] : groups) {
      Spec spec = base(40);
      spec.shape.key_heads = key_heads;
      spec.shape.heads = heads;
      const Result grouped = run_and_check<L>(spec);
      if (key_heads != 1) continue;
      // One key head for all is key heads repeated with stride 0.
      spec.shape.key_heads = heads;
      spec.q.repeat_head = spec.k.repeat_head = true;
      run_and_check<L>(spec);
    }
  });
}

// cudnn-frontend#1056
TEST_P(ForwardLayout, M8RowsOfAWiderBuffer) {
  using Float = gdr::Recurrence<HeadDim<128>, float, gdr::HeadGate<>>;
  using Bfloat = gdr::Recurrence<HeadDim<128>, __nv_bfloat16>;
  for_each_layer(LayerList<Float, Bfloat>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = base(33);
    spec.shape.batch = 1;
    spec.shape.heads = 2;
    const Result contiguous = run_and_check<L>(spec);
    spec.q.channel_padding = 128;
    expect_same_as_contiguous<L>(spec, contiguous, "q in rows of 256");
    spec.k.channel_padding = spec.v.channel_padding = spec.o.channel_padding = 128;
    for (const StateLayout layout : {StateLayout::kv, StateLayout::vk}) {
      spec.initial_state.layout = spec.final_state.layout = layout;
      spec.initial_state.row_padding = spec.final_state.row_padding = 128;
      spec.final_state.head_padding = 7;
      spec.final_state.sequence_padding = 9;
      expect_same_as_contiguous<L>(spec, contiguous, "states in rows of 256");
    }
  });
}

}  // namespace
