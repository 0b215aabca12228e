// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The choice of a layer type by a run-time key, every refusal, and the way of the arguments to the
// chosen layer.

#include <gdr/dispatch/checks.hpp>
#include <gdr/dispatcher.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

#include "support/any_args.hpp"

namespace {

using gdr::AnyForwardArgs;
using gdr::DataType;
using gdr::ForwardArgs;
using gdr::GateAxis;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::LayerKey;
using gdr::LayerList;
using gdr::Recurrence;
using gdr::Status;
using gdr::StatusCode;

/// Two functions of a user's, one of them with a name.
struct Nameless {
  using Space = gdr::Log;
  float factor = 1;
  float operator()(float raw, int, int) const { return factor * raw; }
  float derivative(float, int, int) const { return factor; }
};
struct Named : Nameless {
  static constexpr const char* name = "Named";
};

using F24 = Recurrence<HeadDim<24>, float>;
using F64 = Recurrence<HeadDim<64>, float>;
using F32x128 = Recurrence<HeadDims<32, 128>, float>;
using F128x32 = Recurrence<HeadDims<128, 32>, float>;
using Delta = Recurrence<HeadDims<64, 32>, gdr::bfloat16, gdr::KeyGate<gdr::SoftplusDecay, float>,
                         gdr::DeltaRule<gdr::Sigmoid>>;
using Own = Recurrence<HeadDim<16>, gdr::float16, gdr::HeadGate<Nameless>, gdr::DeltaRule<>>;
using OwnNamed = Recurrence<HeadDim<16>, gdr::float16, gdr::HeadGate<Named>, gdr::DeltaRule<>>;
using Ungated = Recurrence<HeadDim<256>, gdr::bfloat16, gdr::NoGate>;
using Layers = LayerList<F64, F24, F32x128, F128x32, Delta, Own, OwnNamed, Ungated>;

constexpr const char* list_text =
    "no layer type in the list fits the key; the list has: "
    "float32 K 64 V 64, value gate Linear float32, outer product; "
    "float32 K 24 V 24, value gate Linear float32, outer product; "
    "float32 K 32 V 128, value gate Linear float32, outer product; "
    "float32 K 128 V 32, value gate Linear float32, outer product; "
    "bfloat16 K 64 V 32, key gate SoftplusDecay (log) float32, delta rule with beta Sigmoid "
    "(linear); "
    "float16 K 16 V 16, head gate own function (log) float16, delta rule; "
    "float16 K 16 V 16, head gate Named (log) float16, delta rule; "
    "bfloat16 K 256 V 256, no gate, outer product";

template <class Layer>
LayerKey key_of(int key_dim, int value_dim) {
  LayerKey key = gdr::layer_key_of<Layer>;
  key.key_dim = key_dim;
  key.value_dim = value_dim;
  return key;
}

struct Chosen {
  LayerKey layer{};
  int calls = 0;
  Status status{};
};

template <class List>
Chosen choose(const LayerKey& key) {
  Chosen chosen;
  chosen.status = gdr::with_layer<List>(key, [&chosen](auto layer) {
    chosen.layer = gdr::layer_key_of<decltype(layer)>;
    ++chosen.calls;
    return Status{};
  });
  return chosen;
}

template <class Layer, class List = Layers>
::testing::AssertionResult chooses(const LayerKey& key) {
  const LayerKey wanted = gdr::layer_key_of<Layer>;
  const Chosen chosen = choose<List>(key);
  const LayerKey& layer = chosen.layer;
  if (chosen.status.ok() && chosen.calls == 1 && layer.type == wanted.type &&
      layer.axis == wanted.axis && layer.gate_function == wanted.gate_function &&
      layer.key_dim == wanted.key_dim && layer.value_dim == wanted.value_dim) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << chosen.status.argument << ": " << chosen.status.message << "; " << chosen.calls
         << " calls, K " << layer.key_dim << " V " << layer.value_dim;
}

::testing::AssertionResult is(const Status& status, StatusCode code, const char* argument,
                              const char* message) {
  if (status.code == code && std::strcmp(status.argument, argument) == 0 &&
      std::strcmp(status.message, message) == 0 && status.cuda_error == 0) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "code " << static_cast<int>(status.code) << ", argument '" << status.argument
         << "', message '" << status.message << "'";
}

template <class Change>
::testing::AssertionResult refused(LayerKey key, const char* argument, Change change) {
  change(key);
  const Chosen chosen = choose<Layers>(key);
  if (chosen.calls != 0) return ::testing::AssertionFailure() << "a layer was chosen";
  return is(chosen.status, StatusCode::unsupported, argument, list_text);
}

// --- The key ---

TEST(DispatcherTest, KeyOfALayer) {
  const LayerKey key = gdr::layer_key_of<Delta>;
  EXPECT_EQ(key.type, DataType::bfloat16);
  EXPECT_EQ(key.key_dim, 64);
  EXPECT_EQ(key.value_dim, 32);
  EXPECT_EQ(key.axis, GateAxis::key);
  EXPECT_EQ(key.gate_function, gdr::function_id<gdr::SoftplusDecay>);
  EXPECT_EQ(key.gate_type, DataType::float32);
  EXPECT_TRUE(key.delta_rule);
  EXPECT_EQ(key.beta_function, gdr::function_id<gdr::Sigmoid>);
  EXPECT_FALSE(gdr::layer_key_of<F24>.delta_rule);
}

TEST(DispatcherTest, FunctionsAreTheirOwnIdentity) {
  const gdr::FunctionId ids[] = {
      gdr::function_id<gdr::Linear>,   gdr::function_id<gdr::Log>,
      gdr::function_id<gdr::Sigmoid>,  gdr::function_id<gdr::LogSigmoid>,
      gdr::function_id<gdr::OneMinus>, gdr::function_id<gdr::SoftplusDecay>,
      gdr::function_id<Nameless>,      gdr::function_id<Named>};
  const bool log_space[] = {false, true, false, true, false, true, true, true};
  const char* names[] = {"Linear",   "Log",           "Sigmoid",      "LogSigmoid",
                         "OneMinus", "SoftplusDecay", "own function", "Named"};
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) EXPECT_EQ(ids[i] == ids[j], i == j) << i << ' ' << j;
    EXPECT_EQ(ids[i].log_space(), log_space[i]) << i;
    EXPECT_STREQ(ids[i].name(), names[i]);
  }
}

// As seen from another shared library, where the same function's facts have another address.
TEST(DispatcherTest, ShippedFunctionsAreKnownEverywhere) {
  const gdr::detail::FunctionFacts sigmoid = *gdr::function_id<gdr::Sigmoid>.facts;
  EXPECT_EQ(gdr::FunctionId{&sigmoid}, gdr::function_id<gdr::Sigmoid>);
  EXPECT_NE(gdr::FunctionId{&sigmoid}, gdr::function_id<gdr::OneMinus>);
  const gdr::detail::FunctionFacts nameless = *gdr::function_id<Nameless>.facts;
  EXPECT_NE(gdr::FunctionId{&nameless}, gdr::function_id<Nameless>);
}

// --- The choice ---

TEST(DispatcherTest, SmallestThatHolds) {
  for (int k = 1; k <= 256; ++k) {
    for (int v = 1; v <= 256; ++v) {
      const LayerKey key = key_of<F24>(k, v);
      if (k <= 24 && v <= 24) {
        ASSERT_TRUE(chooses<F24>(key)) << k << ' ' << v;
      } else if (k <= 64 && v <= 64) {  // 4096 like both of the others, and listed first
        ASSERT_TRUE(chooses<F64>(key)) << k << ' ' << v;
      } else if (k <= 32 && v <= 128) {
        ASSERT_TRUE(chooses<F32x128>(key)) << k << ' ' << v;
      } else if (k <= 128 && v <= 32) {
        ASSERT_TRUE(chooses<F128x32>(key)) << k << ' ' << v;
      } else {
        ASSERT_EQ(choose<Layers>(key).status.code, StatusCode::unsupported) << k << ' ' << v;
      }
    }
  }
}

TEST(DispatcherTest, ExactStaysExact) {
  using Padded = gdr::PaddedLayers<float>;
  using Exact = decltype(Padded{} + LayerList<F24, F32x128>{});
  EXPECT_TRUE((chooses<F24, Exact>(key_of<F24>(24, 24))));
  EXPECT_TRUE((chooses<F32x128, Exact>(key_of<F24>(32, 128))));
  EXPECT_TRUE((chooses<Recurrence<HeadDim<32>, float>, Exact>(key_of<F24>(25, 24))));
  EXPECT_TRUE((chooses<Recurrence<HeadDim<32>, float>, Padded>(key_of<F24>(24, 24))));
  EXPECT_TRUE((chooses<Recurrence<HeadDim<128>, float>, Padded>(key_of<F24>(32, 128))));
}

TEST(DispatcherTest, PaddedLayersServeEverySize) {
  using Padded = gdr::PaddedLayers<gdr::bfloat16, gdr::KeyGate<gdr::Log, float>, gdr::DeltaRule<>>;
  using One =
      Recurrence<HeadDim<1>, gdr::bfloat16, gdr::KeyGate<gdr::Log, float>, gdr::DeltaRule<>>;
  for (int k = 1; k <= 256; ++k) {
    for (int v = 1; v <= 256; v += 5) {
      const int larger = k > v ? k : v;
      const int padded = larger <= 16    ? 16
                         : larger <= 32  ? 32
                         : larger <= 64  ? 64
                         : larger <= 96  ? 96
                         : larger <= 128 ? 128
                         : larger <= 192 ? 192
                                         : 256;
      const Chosen chosen = choose<Padded>(key_of<One>(k, v));
      ASSERT_TRUE(chosen.status.ok()) << k << ' ' << v;
      ASSERT_EQ(chosen.layer.key_dim, padded) << k << ' ' << v;
      ASSERT_EQ(chosen.layer.value_dim, padded) << k << ' ' << v;
    }
  }
}

TEST(DispatcherTest, EveryKindIsFound) {
  EXPECT_TRUE(chooses<Delta>(key_of<Delta>(64, 32)));
  EXPECT_TRUE(chooses<Own>(key_of<Own>(1, 16)));
  EXPECT_TRUE(chooses<OwnNamed>(key_of<OwnNamed>(16, 1)));
  EXPECT_TRUE(chooses<Ungated>(key_of<Ungated>(129, 200)));
}

TEST(DispatcherTest, WithoutAGateItsTypeAndFunctionAreNotRead) {
  LayerKey key = key_of<Ungated>(8, 8);
  key.gate_type = DataType::float16;
  key.gate_function = gdr::function_id<Named>;
  EXPECT_TRUE(chooses<Ungated>(key));
}

TEST(DispatcherTest, WithoutTheDeltaRuleBetasFunctionIsNotRead) {
  LayerKey key = key_of<F64>(40, 40);
  key.beta_function = gdr::function_id<gdr::Sigmoid>;
  EXPECT_TRUE(chooses<F64>(key));
}

TEST(DispatcherTest, TheStatusOfTheCallIsReturned) {
  int calls = 0;
  auto use = [&calls](auto) {
    ++calls;
    return Status{StatusCode::cuda_error, "stream", "no", 7};
  };
  const Status status = gdr::with_layer<Layers>(key_of<F24>(1, 1), use);
  EXPECT_EQ(status.code, StatusCode::cuda_error);
  EXPECT_EQ(status.cuda_error, 7);
  EXPECT_EQ(calls, 1);
}

// --- Refusals ---

TEST(DispatcherTest, NothingFits) {
  const LayerKey good = gdr::layer_key_of<Delta>;
  EXPECT_TRUE(refused(good, "key.type", [](LayerKey& k) { k.type = DataType::float64; }));
  EXPECT_TRUE(refused(good, "key.axis", [](LayerKey& k) { k.axis = GateAxis::head; }));
  EXPECT_TRUE(refused(good, "key.gate_function",
                      [](LayerKey& k) { k.gate_function = gdr::function_id<gdr::Log>; }));
  EXPECT_TRUE(
      refused(good, "key.gate_type", [](LayerKey& k) { k.gate_type = DataType::bfloat16; }));
  EXPECT_TRUE(refused(good, "key.delta_rule", [](LayerKey& k) { k.delta_rule = false; }));
  EXPECT_TRUE(refused(good, "key.beta_function",
                      [](LayerKey& k) { k.beta_function = gdr::function_id<gdr::Linear>; }));
  EXPECT_TRUE(refused(good, "key.key_dim", [](LayerKey& k) { k.key_dim = 65; }));
  EXPECT_TRUE(refused(good, "key.value_dim", [](LayerKey& k) { k.value_dim = 33; }));
}

// Of the layers that agree the longest, the field in which the last of them differs.
TEST(DispatcherTest, TheFieldNamedIsTheOneThatNoLayerPasses) {
  const LayerKey good = gdr::layer_key_of<F24>;
  EXPECT_TRUE(refused(good, "key.value_dim", [](LayerKey& k) { k.value_dim = 129; }));
  EXPECT_TRUE(refused(good, "key.value_dim", [](LayerKey& k) { k.key_dim = k.value_dim = 100; }));
  EXPECT_TRUE(refused(good, "key.key_dim", [](LayerKey& k) { k.key_dim = 129; }));
}

TEST(DispatcherTest, HeadDimensionsOutOfRange) {
  for (const int dim : {-1, 0, 257, 1 << 30}) {
    const char* message = "a head dimension goes from 1 to 256";
    EXPECT_TRUE(is(choose<Layers>(key_of<F24>(dim, 24)).status, StatusCode::invalid_argument,
                   "key.key_dim", message));
    EXPECT_TRUE(is(choose<Layers>(key_of<F24>(24, dim)).status, StatusCode::invalid_argument,
                   "key.value_dim", message));
  }
}

template <int... dims>
LayerList<Recurrence<HeadDim<dims + 1>, float>...> long_list(std::integer_sequence<int, dims...>);

TEST(DispatcherTest, LongLists) {
  using Long = decltype(long_list(std::make_integer_sequence<int, 200>{}));
  EXPECT_EQ(choose<Long>(key_of<F24>(150, 120)).layer.key_dim, 150);
  const Status status = choose<Long>(key_of<F24>(201, 1)).status;
  EXPECT_EQ(status.code, StatusCode::unsupported);
  const std::string text = status.message;
  for (int dim = 1; dim <= 200; ++dim) {
    const std::string number = std::to_string(dim);
    EXPECT_NE(text.find("float32 K " + number + " V " + number + ","), std::string::npos) << dim;
  }
}

// --- The arguments ---

// Slot n of the imagined memory, 4 GiB wide.
template <class T>
T* at(std::uintptr_t slot) {
  return reinterpret_cast<T*>(slot << 32);
}

// Every field differs from its default and from every other.
ForwardArgs<Delta> full_args() {
  ForwardArgs<Delta> args;
  args.shape.batch = 1;
  args.shape.seq_len = 6;
  args.shape.heads = 4;
  args.shape.key_heads = 2;
  args.scale = 0.25f;
  args.q = {at<const gdr::bfloat16>(1), {101, 102, 103, 104}};
  args.k = {at<const gdr::bfloat16>(2), {201, 202, 203, 204}};
  args.v = {at<const gdr::bfloat16>(3), {301, 302, 303, 304}};
  args.gate = {at<const float>(4), {401, 402, 403, 404}};
  args.beta = at<const gdr::bfloat16>(5);
  args.o = {at<gdr::bfloat16>(6), {601, 602, 603, 604}};
  args.initial_state = gdr::strided_state(at<const float>(7), 71, 72, 73);
  args.final_state = gdr::strided_state(at<float>(8), 81, 82, 83, gdr::StateLayout::vk);
  args.cu_seqlens = {at<const int64_t>(9), 3};
  args.gate_function.a_log = at<const float>(10);
  args.gate_function.dt_bias_channels = 11;
  args.beta_function.temperature = 12;
  args.qk_l2norm = true;
  args.qk_l2norm_eps = 0.5f;
  args.batch_invariant = true;
  args.algorithm = gdr::Algorithm::chunked;
  args.split_state_operand = true;
  args.workspace = at<void>(13);
  args.workspace_bytes = 14;
  args.state_in = at<const int32_t>(15);
  args.state_out = at<const int32_t>(16);
  args.has_state = at<const uint8_t>(17);
  return args;
}

template <class View>
void expect_same_view(const View& a, const View& b) {
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.contiguous, b.contiguous);
  EXPECT_EQ(a.strides.batch, b.strides.batch);
  EXPECT_EQ(a.strides.time, b.strides.time);
  EXPECT_EQ(a.strides.head, b.strides.head);
  EXPECT_EQ(a.strides.element, b.strides.element);
}

template <class State>
void expect_same_state(const State& a, const State& b) {
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.layout, b.layout);
  EXPECT_EQ(a.sequence_stride, b.sequence_stride);
  EXPECT_EQ(a.head_stride, b.head_stride);
  EXPECT_EQ(a.row_stride, b.row_stride);
  EXPECT_EQ(a.contiguous, b.contiguous);
}

TEST(DispatcherTest, EveryFieldReachesTheLayer) {
  const ForwardArgs<Delta> given = full_args();
  const LayerKey key = key_of<Delta>(48, 20);
  const ForwardArgs<Delta> args =
      gdr::detail::typed_args<Delta>(key, gdr::test::erase_types(given));
  EXPECT_EQ(args.shape.batch, 1);
  EXPECT_EQ(args.shape.seq_len, 6);
  EXPECT_EQ(args.shape.heads, 4);
  EXPECT_EQ(args.shape.key_heads, 2);
  EXPECT_EQ(args.shape.key_dim, 48);
  EXPECT_EQ(args.shape.value_dim, 20);
  EXPECT_EQ(args.scale, given.scale);
  expect_same_view(args.q, given.q);
  expect_same_view(args.k, given.k);
  expect_same_view(args.v, given.v);
  expect_same_view(args.gate, given.gate);
  expect_same_view(args.beta, given.beta);
  EXPECT_EQ(args.beta.type, DataType::bfloat16);
  expect_same_view(args.o, given.o);
  expect_same_state(args.initial_state, given.initial_state);
  expect_same_state(args.final_state, given.final_state);
  EXPECT_EQ(args.cu_seqlens.data, given.cu_seqlens.data);
  EXPECT_EQ(args.cu_seqlens.sequences, 3);
  EXPECT_TRUE(args.cu_seqlens.is_int64);
  EXPECT_EQ(args.gate_function.a_log, given.gate_function.a_log);
  EXPECT_EQ(args.gate_function.dt_bias_channels, 11);
  EXPECT_EQ(args.beta_function.temperature, 12);
  EXPECT_TRUE(args.qk_l2norm);
  EXPECT_EQ(args.qk_l2norm_eps, 0.5f);
  EXPECT_TRUE(args.batch_invariant);
  EXPECT_EQ(args.algorithm, gdr::Algorithm::chunked);
  EXPECT_TRUE(args.split_state_operand);
  EXPECT_EQ(args.workspace, given.workspace);
  EXPECT_EQ(args.workspace_bytes, 14);
  EXPECT_EQ(args.state_in, given.state_in);
  EXPECT_EQ(args.state_out, given.state_out);
  EXPECT_EQ(args.has_state, given.has_state);
}

TEST(DispatcherTest, NothingGivenIsTheLayersDefault) {
  const ForwardArgs<Delta> defaults;
  const ForwardArgs<Delta> args = gdr::detail::typed_args<Delta>(key_of<Delta>(1, 1), {});
  expect_same_view(args.q, defaults.q);
  expect_same_view(args.o, defaults.o);
  EXPECT_EQ(args.scale, defaults.scale);
  EXPECT_EQ(args.qk_l2norm, defaults.qk_l2norm);
  EXPECT_EQ(args.qk_l2norm_eps, defaults.qk_l2norm_eps);
  EXPECT_EQ(args.batch_invariant, defaults.batch_invariant);
  EXPECT_EQ(args.algorithm, defaults.algorithm);
  EXPECT_EQ(args.split_state_operand, defaults.split_state_operand);
  EXPECT_EQ(args.beta_function.temperature, 1);
  EXPECT_EQ(args.gate_function.dt_bias_channels, 1);
}

template <class Change>
::testing::AssertionResult contradicts(const char* argument, Change change) {
  const ForwardArgs<Delta> args = full_args();
  AnyForwardArgs any = gdr::test::erase_types(args);
  const LayerKey key = key_of<Delta>(48, 20);
  const Status good = gdr::detail::check_against_key(key, any);
  if (!good.ok()) return ::testing::AssertionFailure() << "refused unspoilt: " << good.argument;
  change(any);
  const Status status = gdr::detail::check_against_key(key, any);
  return is(status, StatusCode::invalid_argument, argument, status.message);
}

TEST(DispatcherTest, ArgumentsThatContradictTheKey) {
  EXPECT_TRUE(contradicts("shape.key_dim", [](AnyForwardArgs& a) { a.shape.key_dim = 47; }));
  EXPECT_TRUE(contradicts("shape.value_dim", [](AnyForwardArgs& a) { a.shape.value_dim = 21; }));
  EXPECT_TRUE(contradicts("q", [](AnyForwardArgs& a) { a.q.type = DataType::float16; }));
  EXPECT_TRUE(contradicts("k", [](AnyForwardArgs& a) { a.k.type = DataType::float32; }));
  EXPECT_TRUE(contradicts("v", [](AnyForwardArgs& a) { a.v.type = DataType::float64; }));
  EXPECT_TRUE(contradicts("gate", [](AnyForwardArgs& a) { a.gate.type = DataType::bfloat16; }));
  EXPECT_TRUE(contradicts("o", [](AnyForwardArgs& a) { a.o.type = DataType::float32; }));
  const gdr::Linear linear;
  EXPECT_TRUE(contradicts("gate_function", [&](AnyForwardArgs& a) { a.gate_function = &linear; }));
  EXPECT_TRUE(contradicts("beta_function", [&](AnyForwardArgs& a) { a.beta_function = &linear; }));
}

TEST(DispatcherTest, ArgumentsThatDoNotContradictTheKey) {
  const LayerKey key = key_of<Delta>(48, 20);
  EXPECT_TRUE(gdr::detail::check_against_key(key, {}).ok());  // null views have no type
  const ForwardArgs<Delta> args = full_args();
  AnyForwardArgs any = gdr::test::erase_types(args);
  any.shape.key_dim = 48;
  any.shape.value_dim = 20;
  EXPECT_TRUE(gdr::detail::check_against_key(key, any).ok());
}

// A layer without gate or beta takes no function but the one that does nothing.
TEST(DispatcherTest, FunctionsOfWhatTheLayerLacks) {
  const LayerKey key = gdr::layer_key_of<Ungated>;
  const gdr::Linear linear;
  const gdr::Sigmoid sigmoid;
  AnyForwardArgs args;
  args.gate_function = &linear;
  args.beta_function = &linear;
  EXPECT_TRUE(gdr::detail::check_against_key(key, args).ok());
  args.beta_function = &sigmoid;
  EXPECT_STREQ(gdr::detail::check_against_key(key, args).argument, "beta_function");
  args.gate_function = &sigmoid;
  EXPECT_STREQ(gdr::detail::check_against_key(key, args).argument, "gate_function");
}

TEST(DispatcherTest, UntypedViews) {
  const gdr::AnyTensorView q = gdr::any_input(at<const void>(1), DataType::float16);
  EXPECT_EQ(q.data, at<const void>(1));
  EXPECT_EQ(q.type, DataType::float16);
  EXPECT_TRUE(q.contiguous);
  const gdr::AnyOutputView o = gdr::any_output(at<void>(2), DataType::bfloat16, {1, 2, 3, 4});
  EXPECT_EQ(o.data, at<void>(2));
  EXPECT_EQ(o.type, DataType::bfloat16);
  EXPECT_FALSE(o.contiguous);
  EXPECT_EQ(o.strides.element, 4);
  EXPECT_FALSE(gdr::any_input(nullptr, DataType::float32, {}).contiguous);
  const gdr::AnyOutputView typed = at<gdr::float16>(3);
  EXPECT_EQ(typed.type, DataType::float16);
  EXPECT_TRUE(typed.contiguous);
}

// From the key to the layer's own checks.
TEST(DispatcherTest, TheChecksSeeTheKeysExtents) {
  const Status status = gdr::with_layer<Layers>(key_of<Delta>(48, 20), [](auto layer) {
    using Layer = decltype(layer);
    const ForwardArgs<Delta> given = full_args();
    const ForwardArgs<Layer> args =
        gdr::detail::typed_args<Layer>(key_of<Delta>(48, 20), gdr::test::erase_types(given));
    const gdr::detail::ForwardProblem problem = gdr::detail::erase_types(args, 0);
    EXPECT_EQ(problem.shape.key_dim, 48);
    EXPECT_EQ(problem.shape.value_dim, 20);
    EXPECT_EQ(problem.max_key_dim, 64);
    EXPECT_EQ(problem.inputs[0].extents[3], 48);
    EXPECT_EQ(problem.outputs[0].extents[3], 20);
    return Status{};
  });
  EXPECT_TRUE(status.ok()) << status.message;
}

}  // namespace
