// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Layer types, views, arguments and their defaults.

#include <gdr/types.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

using gdr::DataType;
using gdr::GateAxis;
using gdr::StateLayout;

// --- Element types ---

TEST(DataType, OfEveryElementType) {
  EXPECT_EQ(gdr::data_type_of<float>, DataType::float32);
  EXPECT_EQ(gdr::data_type_of<double>, DataType::float64);
  EXPECT_EQ(gdr::data_type_of<gdr::float16>, DataType::float16);
  EXPECT_EQ(gdr::data_type_of<gdr::bfloat16>, DataType::bfloat16);
  EXPECT_EQ(gdr::data_type_of<const gdr::bfloat16>, DataType::bfloat16);
}

TEST(DataType, SizesAreThoseOfTheTypes) {
  EXPECT_EQ(gdr::size_of(DataType::float32), int{sizeof(float)});
  EXPECT_EQ(gdr::size_of(DataType::float64), int{sizeof(double)});
  EXPECT_EQ(gdr::size_of(DataType::float16), int{sizeof(gdr::float16)});
  EXPECT_EQ(gdr::size_of(DataType::bfloat16), int{sizeof(gdr::bfloat16)});
}

// --- Layers ---

TEST(Layer, DefaultsAreValueGateLinearOuterProduct) {
  using Layer = gdr::Recurrence<gdr::HeadDim<24>, float>;
  EXPECT_EQ(Layer::key_dim, 24);
  EXPECT_EQ(Layer::value_dim, 24);
  EXPECT_EQ(Layer::Gate::axis, GateAxis::value);
  EXPECT_FALSE(Layer::Rule::uses_beta);
  EXPECT_TRUE((std::is_same<Layer::Space, gdr::Linear>::value));
  EXPECT_TRUE((std::is_same<Layer::GateElement, float>::value));
  EXPECT_EQ(Layer::element_type, DataType::float32);
  EXPECT_EQ(gdr::ForwardArgs<Layer>{}.scale, 1.0f);
}

TEST(Layer, GateElementIsTheLayersUnlessNamed) {
  using gdr::bfloat16;
  using Dims = gdr::HeadDims<8, 4>;
  using Own = gdr::Recurrence<Dims, bfloat16, gdr::KeyGate<gdr::Log>>;
  using Named = gdr::Recurrence<Dims, bfloat16, gdr::KeyGate<gdr::Log, float>>;
  EXPECT_TRUE((std::is_same<Own::GateElement, bfloat16>::value));
  EXPECT_EQ(Own::gate_type, DataType::bfloat16);
  EXPECT_TRUE((std::is_same<Named::GateElement, float>::value));
  EXPECT_EQ(Named::gate_type, DataType::float32);
  EXPECT_EQ(Named::element_type, DataType::bfloat16);
}

TEST(Layer, GateChannelsFollowTheAxis) {
  using Dims = gdr::HeadDims<8, 4>;
  EXPECT_EQ((gdr::Recurrence<Dims, float, gdr::ValueGate<>>::gate_channels), 4);
  EXPECT_EQ((gdr::Recurrence<Dims, float, gdr::KeyGate<>>::gate_channels), 8);
  EXPECT_EQ((gdr::Recurrence<Dims, float, gdr::HeadGate<>>::gate_channels), 1);
  EXPECT_EQ((gdr::Recurrence<Dims, float, gdr::NoGate>::gate_channels), 0);
}

struct Halve {
  using Space = gdr::Linear;
  float operator()(float raw, int, int) const { return raw / 2; }
  float derivative(float, int, int) const { return 0.5f; }
};

TEST(Layer, FunctionsOfGateAndBeta) {
  using Layer =
      gdr::Recurrence<gdr::HeadDim<8>, float, gdr::KeyGate<gdr::Log>, gdr::DeltaRule<Halve>>;
  EXPECT_TRUE(Layer::Rule::uses_beta);
  EXPECT_TRUE((std::is_same<Layer::GateFunction, gdr::Log>::value));
  EXPECT_TRUE((std::is_same<Layer::Space, gdr::Log>::value));
  EXPECT_TRUE((std::is_same<Layer::BetaFunction, Halve>::value));
}

TEST(Layer, SpacesTakeTheValueAsItIs) {
  EXPECT_EQ(gdr::Linear{}(0.3f, 1, 2), 0.3f);
  EXPECT_EQ(gdr::Log{}(-0.3f, 1, 2), -0.3f);
  EXPECT_EQ(gdr::Linear{}.derivative(0.3f, 1, 2), 1);
  EXPECT_EQ(gdr::Log{}.derivative(-0.3f, 1, 2), 1);
}

// --- Views ---

TEST(TensorView, BarePointersAreContiguous) {
  float data[4];
  gdr::TensorView<const float> view;
  EXPECT_EQ(view.data, nullptr);
  view = data;
  EXPECT_EQ(view.data, data);
  EXPECT_TRUE(view.contiguous);
  view = nullptr;
  EXPECT_EQ(view.data, nullptr);
}

TEST(TensorView, StridedKeepsTheCallersStrides) {
  float data[4];
  const gdr::TensorView<const float> view = gdr::strided(data, 100, -20, 3);
  EXPECT_EQ(view.data, data);
  EXPECT_FALSE(view.contiguous);
  EXPECT_EQ(view.strides.batch, 100);
  EXPECT_EQ(view.strides.time, -20);
  EXPECT_EQ(view.strides.head, 3);
  EXPECT_EQ(view.strides.element, 1);
  EXPECT_EQ(gdr::strided(data, 1, 2, 3, 4).strides.element, 4);
}

TEST(AnyTensorView, RemembersTheType) {
  const float single[1]{};
  gdr::bfloat16 half[1]{};
  gdr::AnyTensorView view = single;
  EXPECT_EQ(view.data, single);
  EXPECT_EQ(view.type, DataType::float32);
  EXPECT_TRUE(view.contiguous);
  view = half;
  EXPECT_EQ(view.type, DataType::bfloat16);
  view = gdr::strided(half, 1, 2, 3);
  EXPECT_EQ(view.data, half);
  EXPECT_EQ(view.type, DataType::bfloat16);
  EXPECT_FALSE(view.contiguous);
  EXPECT_EQ(view.strides.time, 2);
}

TEST(StateView, RemembersTypeLayoutAndStrides) {
  float single[1];
  const gdr::bfloat16 half[1]{};
  const gdr::StateView plain = single;
  EXPECT_EQ(plain.type, DataType::float32);
  EXPECT_EQ(plain.layout, StateLayout::kv);
  EXPECT_TRUE(plain.contiguous);
  const gdr::ConstStateView transposed = {half, StateLayout::vk};
  EXPECT_EQ(transposed.type, DataType::bfloat16);
  EXPECT_EQ(transposed.layout, StateLayout::vk);
  const gdr::StateView out = gdr::strided_state(single, 1000, 100, 10, StateLayout::vk);
  const gdr::ConstStateView in = out;
  EXPECT_EQ(in.data, single);
  EXPECT_EQ(in.layout, StateLayout::vk);
  EXPECT_FALSE(in.contiguous);
  EXPECT_EQ(in.sequence_stride, 1000);
  EXPECT_EQ(in.head_stride, 100);
  EXPECT_EQ(in.row_stride, 10);
  EXPECT_TRUE((std::is_same<decltype(gdr::strided_state(half, 1, 1, 1)), gdr::ConstStateView>()));
}

TEST(SequenceOffsets, Int32AndInt64) {
  const int32_t narrow[]{0, 5, 9};
  const int64_t wide[]{0, 5, int64_t{1} << 40};
  const gdr::SequenceOffsets a(narrow, 2), b(wide, 2);
  EXPECT_EQ(a.sequences, 2);
  EXPECT_FALSE(a.is_int64);
  EXPECT_EQ(a[1], 5);
  EXPECT_EQ(a[2], 9);
  EXPECT_TRUE(b.is_int64);
  EXPECT_EQ(b[2], int64_t{1} << 40);
}

// --- Arguments ---

using Layer = gdr::Recurrence<gdr::HeadDims<8, 4>, float, gdr::KeyGate<>, gdr::DeltaRule<>>;

gdr::ForwardArgs<Layer> some_args() {
  gdr::ForwardArgs<Layer> args;
  args.shape.batch = 2;
  args.shape.seq_len = 10;
  args.shape.heads = 6;
  return args;
}

template <class View>
void expect_strides(const View& view, int64_t batch, int64_t time, int64_t head) {
  EXPECT_EQ(view.strides.batch, batch);
  EXPECT_EQ(view.strides.time, time);
  EXPECT_EQ(view.strides.head, head);
  EXPECT_EQ(view.strides.element, 1);
}

TEST(ForwardArgs, OptionalFieldsAreNull) {
  const gdr::ForwardArgs<Layer> args;
  EXPECT_EQ(args.o.data, nullptr);
  EXPECT_EQ(args.beta.data, nullptr);
  EXPECT_EQ(args.initial_state.data, nullptr);
  EXPECT_EQ(args.final_state.data, nullptr);
  EXPECT_EQ(args.cu_seqlens.data, nullptr);
  EXPECT_EQ(args.state_in, nullptr);
  EXPECT_EQ(args.state_out, nullptr);
  EXPECT_EQ(args.has_state, nullptr);
  EXPECT_EQ(args.workspace, nullptr);
  EXPECT_FALSE(args.qk_l2norm);
  EXPECT_FALSE(args.batch_invariant);
  EXPECT_EQ(args.algorithm, gdr::Algorithm::automatic);
}

TEST(Resolve, FillsShapeAndStrides) {
  const auto args = gdr::resolve(some_args());
  EXPECT_EQ(args.shape.key_heads, 6);
  EXPECT_EQ(args.shape.key_dim, 8);
  EXPECT_EQ(args.shape.value_dim, 4);
  expect_strides(args.q, 10 * 6 * 8, 6 * 8, 8);
  expect_strides(args.k, 10 * 6 * 8, 6 * 8, 8);
  expect_strides(args.v, 10 * 6 * 4, 6 * 4, 4);
  expect_strides(args.gate, 10 * 6 * 8, 6 * 8, 8);
  expect_strides(args.beta, 10 * 6, 6, 1);
  expect_strides(args.o, 10 * 6 * 4, 6 * 4, 4);
  EXPECT_EQ(args.initial_state.row_stride, 4);
  EXPECT_EQ(args.initial_state.head_stride, 8 * 4);
  EXPECT_EQ(args.initial_state.sequence_stride, 6 * 8 * 4);
}

TEST(Resolve, KeepsWhatIsGiven) {
  auto args = some_args();
  float data[1];
  args.shape.key_heads = 3;
  args.shape.key_dim = 7;
  args.shape.value_dim = 2;
  args.v = gdr::strided(data, 1000, 100, 10);
  args.o = gdr::strided(data, 2000, 200, 20);
  args.final_state = {data, StateLayout::vk};
  args.initial_state = gdr::strided_state(data, 3000, 300, 30);
  args = gdr::resolve(args);
  EXPECT_EQ(args.shape.key_heads, 3);
  EXPECT_EQ(args.shape.key_dim, 7);
  EXPECT_EQ(args.shape.value_dim, 2);
  expect_strides(args.q, 10 * 3 * 7, 3 * 7, 7);
  expect_strides(args.k, 10 * 3 * 7, 3 * 7, 7);
  expect_strides(args.gate, 10 * 6 * 7, 6 * 7, 7);
  expect_strides(args.v, 1000, 100, 10);
  expect_strides(args.o, 2000, 200, 20);
  EXPECT_EQ(args.final_state.row_stride, 7);
  EXPECT_EQ(args.final_state.head_stride, 14);
  EXPECT_EQ(args.final_state.sequence_stride, 6 * 14);
  EXPECT_EQ(args.initial_state.row_stride, 30);
  EXPECT_EQ(args.initial_state.head_stride, 300);
  EXPECT_EQ(args.initial_state.sequence_stride, 3000);
}

template <class Gate>
int64_t gate_head_stride() {
  gdr::ForwardArgs<gdr::Recurrence<gdr::HeadDims<8, 4>, float, Gate>> args;
  args.shape = some_args().shape;
  return gdr::resolve(args).gate.strides.head;
}

TEST(Resolve, GateStridesFollowTheAxis) {
  EXPECT_EQ(gate_head_stride<gdr::ValueGate<>>(), 4);
  EXPECT_EQ(gate_head_stride<gdr::KeyGate<>>(), 8);
  EXPECT_EQ(gate_head_stride<gdr::HeadGate<>>(), 1);
}

TEST(Resolve, LargeSizesStay64Bit) {
  auto args = some_args();
  args.shape.seq_len = int64_t{1} << 31;
  EXPECT_EQ(gdr::resolve(args).q.strides.batch, (int64_t{1} << 31) * 48);
}

TEST(Resolve, TwiceIsOnce) {
  const auto once = gdr::resolve(some_args());
  const auto twice = gdr::resolve(once);
  expect_strides(twice.q, once.q.strides.batch, once.q.strides.time, once.q.strides.head);
  EXPECT_EQ(twice.shape.key_heads, once.shape.key_heads);
}

TEST(SequenceCount, BatchOrCuSeqlens) {
  auto args = some_args();
  EXPECT_EQ(gdr::sequence_count(args), 2);
  const int32_t offsets[]{0, 5, 9, 10};
  args.shape.batch = 1;
  args.cu_seqlens = {offsets, 3};
  EXPECT_EQ(gdr::sequence_count(args), 3);
}

TEST(Status, OkByDefault) {
  EXPECT_TRUE(gdr::Status{}.ok());
  EXPECT_TRUE(gdr::Status{});
  const gdr::Status fault{gdr::StatusCode::invalid_argument, "q", "a sentence", 0};
  EXPECT_FALSE(fault.ok());
  EXPECT_FALSE(fault);
}

}  // namespace
