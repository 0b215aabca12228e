// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Layouts (M1 to M8): views, paddings, repetition, alignment, grouped heads, states in place.
/// Bodies of the layout tests, for lists of layers and a form.

#include <string>
#include <utility>
#include <vector>

#include "device_run.cuh"

namespace gdr::test::layout_cases {

inline Spec layout_spec(Algorithm algorithm, std::int64_t tokens = 70) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = tokens;
  spec.shape.heads = 3;
  spec.algorithm = algorithm;
  return spec.with_states();
}

/// The layouts change where elements lie, not what they are: bits stay.
template <class L>
void expect_same_as_contiguous(const Spec& spec, const Result& contiguous,
                               const std::string& what) {
  expect_same_bits(contiguous, run_and_check<L>(spec), what);
}

inline Layout padded() {
  Layout layout;
  layout.channel_padding = 8;
  layout.head_padding = 16;
  layout.batch_padding = 24;
  return layout;
}

// fla#1138
template <class Layers>
void slices_of_one_tensor(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = layout_spec(algorithm);
    const Result contiguous = run_and_check<L>(spec);
    spec.packed_qkv = true;
    expect_same_as_contiguous<L>(spec, contiguous, "packed qkv");
  });
}

template <class Layers>
void every_legal_layout_of_each_tensor(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Result contiguous = run_and_check<L>(layout_spec(algorithm));
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
        Spec spec = layout_spec(algorithm);
        spec.*member = layout;
        expect_same_as_contiguous<L>(spec, contiguous, layout.describe());
      }
      Spec spec = layout_spec(algorithm);
      spec.q = spec.k = spec.v = spec.gate = spec.beta = layout;
      spec.o = layout;
      spec.o.reversed_time = false;  // refused on outputs
      expect_same_as_contiguous<L>(spec, contiguous, "all:" + layout.describe());
    }
  });
}

template <class Layers>
void stride_zero_repeats(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Layout batch, time, head, all;
    batch.repeat_batch = all.repeat_batch = true;
    time.repeat_time = all.repeat_time = true;
    head.repeat_head = all.repeat_head = true;
    for (const Layout& layout : {batch, time, head, all}) {
      for (const auto member : {&Spec::q, &Spec::k, &Spec::v, &Spec::gate, &Spec::beta}) {
        Spec spec = layout_spec(algorithm, 40);
        spec.*member = layout;
        run_and_check<L>(spec);
      }
    }
  });
}

// fla#759
template <class L>
void innermost_stride_is_refused_by_name(Algorithm algorithm) {
  static_assert(L::key_dim == 64 && L::value_dim == 64);
  const DeviceProblem<L> device(make_problem<L>(layout_spec(algorithm, 8)));
  const auto expect_refused = [&](const ForwardArgs<L>& args, const char* name) {
    const Status status = forward<L, TestPolicy<L>>(args, nullptr);
    EXPECT_EQ(status.code, StatusCode::invalid_argument) << describe(status);
    EXPECT_STREQ(status.argument, name) << describe(status);
    device.expect_nothing_written();
  };
  const auto spoil = [&](auto& view) {
    view.contiguous = false;
    view.strides = {8 * 3 * 64, 3 * 64, 64, 2};
  };
  ForwardArgs<L> args = device.args();
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
template <class Layers>
void unaligned_bases(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Result aligned = run_and_check<L>(layout_spec(algorithm));
    for (const std::int64_t offset : {1, 2, 3, 5, 7}) {
      Spec spec = layout_spec(algorithm);
      spec.q.offset = spec.k.offset = spec.v.offset = offset;
      spec.gate.offset = spec.beta.offset = spec.o.offset = offset;
      spec.initial_state.offset = spec.final_state.offset = offset;
      expect_same_as_contiguous<L>(spec, aligned, "offset " + std::to_string(offset));
    }
  });
}

// fla#1191; the harness checks that the initial state is untouched.
template <class Layers>
void optional_outputs(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Result both = run_and_check<L>(layout_spec(algorithm));
    Spec spec = layout_spec(algorithm);
    spec.final_state.present = false;
    const Verdict o = same_bits(both.o, run_and_check<L>(spec).o);
    EXPECT_TRUE(o.ok) << o.message;
    spec = layout_spec(algorithm);
    spec.null_o = true;
    const Verdict state = same_bits(both.final_state, run_and_check<L>(spec).final_state);
    EXPECT_TRUE(state.ok) << state.message;
    spec.initial_state.present = false;
    run_and_check<L>(spec);
  });
}

template <class Layers>
void in_place(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {1, 65, 4096}) {
      for (const StateLayout layout : {StateLayout::kv, StateLayout::vk}) {
        Spec spec = layout_spec(algorithm, tokens);
        spec.shape.batch = tokens == 4096 ? 1 : 2;
        spec.shape.heads = tokens == 4096 ? 1 : 3;
        spec.initial_state.layout = layout;
        spec.in_place = true;
        run_and_check<L>(spec);
      }
    }
    Spec spec = layout_spec(algorithm, 65);
    spec.in_place = true;
    spec.initial_state.type = DataType::bfloat16;
    spec.initial_state.row_padding = 3;
    spec.initial_state.head_padding = 5;
    run_and_check<L>(spec);
  });
}

template <class L>
void partial_overlap_is_refused(Algorithm algorithm) {
  static_assert(L::key_dim == 64 && L::value_dim == 64);
  const DeviceProblem<L> device(make_problem<L>(layout_spec(algorithm, 8)));
  ForwardArgs<L> args = device.args();
  const auto expect_refused = [&] {
    const Status status = forward<L, TestPolicy<L>>(args, nullptr);
    EXPECT_EQ(status.code, StatusCode::invalid_argument) << describe(status);
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
  args.final_state = StateView(state, StateLayout::vk);
  expect_refused();
  args.final_state = StateView(reinterpret_cast<__nv_bfloat16*>(state));
  expect_refused();
  args.final_state = strided_state(state, 3 * 64 * 64, 64 * 64, 65);
  expect_refused();
}

template <class Layers>
void state_layouts_give_the_same_bits(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const DataType type : {DataType::float32, DataType::bfloat16}) {
      Spec spec = layout_spec(algorithm);
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
      Spec spec = layout_spec(algorithm);
      spec.initial_state.type = in;
      spec.final_state.type = out;
      run_and_check<L>(spec);
    }
  });
}

// llama.cpp#15625
template <class Layers>
void grouped_heads(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const std::pair<std::int64_t, std::int64_t> groups[] = {{2, 4}, {1, 6}, {3, 9}, {5, 5}};
    for (const auto& [key_heads, heads] : groups) {
      Spec spec = layout_spec(algorithm, 40);
      spec.shape.key_heads = key_heads;
      spec.shape.heads = heads;
      run_and_check<L>(spec);
      if (key_heads != 1) continue;
      // One key head for all is key heads repeated with stride 0.
      spec.shape.key_heads = heads;
      spec.q.repeat_head = spec.k.repeat_head = true;
      run_and_check<L>(spec);
    }
  });
}

// cudnn-frontend#1056
template <class Layers>
void rows_of_a_wider_buffer(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = layout_spec(algorithm, 33);
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

}  // namespace gdr::test::layout_cases
