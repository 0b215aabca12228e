// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Every refusal of the forward pass, one by one, with device facts given by hand. The checks read
// no tensor, so the addresses here are numbers.

#include <gdr/dispatch/checks.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

namespace {

using gdr::Algorithm;
using gdr::DeviceFacts;
using gdr::ForwardArgs;
using gdr::StateLayout;
using gdr::Status;
using gdr::StatusCode;

// Value gate, outer product; K and V differ, so that exchanged extents show.
using Layer = gdr::Recurrence<gdr::HeadDims<24, 40>, float>;
using KeyLayer =
    gdr::Recurrence<gdr::HeadDims<24, 40>, gdr::float16, gdr::KeyGate<gdr::Log, float>>;
using DeltaLayer =
    gdr::Recurrence<gdr::HeadDims<24, 40>, gdr::float16, gdr::HeadGate<>, gdr::DeltaRule<>>;
using NoGateLayer = gdr::Recurrence<gdr::HeadDims<24, 40>, float, gdr::NoGate>;

constexpr int64_t huge = int64_t{1} << 62;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Slot n of the imagined memory, 4 GiB wide.
template <class T>
T* at(std::uintptr_t slot, std::uintptr_t bytes = 0) {
  return reinterpret_cast<T*>((slot << 32) + bytes);
}

// B 2, T 6, Hk 2, Hv 4, every tensor contiguous, apart and with both states.
template <class L>
ForwardArgs<L> good() {
  using T = typename L::Element;
  ForwardArgs<L> args;
  args.shape.batch = 2;
  args.shape.seq_len = 6;
  args.shape.heads = 4;
  args.shape.key_heads = 2;
  args.q = at<const T>(1);
  args.k = at<const T>(2);
  args.v = at<const T>(3);
  if (L::Gate::axis != gdr::GateAxis::none) args.gate = at<const typename L::GateElement>(4);
  if (L::Rule::uses_beta) args.beta = at<const float>(5);
  args.o = at<T>(6);
  args.initial_state = at<const float>(7);
  args.final_state = at<float>(8);
  return args;
}

template <class L>
DeviceFacts facts_for(const ForwardArgs<L>& args) {
  DeviceFacts facts;
  facts.device = 0;
  facts.compute_capability = 90;
  const void* const pointers[] = {
      args.q.data,           args.k.data,          args.v.data, args.gate.data,
      args.beta.data,        args.cu_seqlens.data, args.o.data, args.initial_state.data,
      args.final_state.data, args.workspace};
  for (const void* pointer : pointers) {
    facts.add(pointer, 0);
  }
  return facts;
}

template <class L>
Status check(const ForwardArgs<L>& args, int64_t required_workspace = 0) {
  return gdr::check_forward(args, facts_for(args), required_workspace);
}

::testing::AssertionResult is(const Status& status, StatusCode code, const char* argument) {
  if (status.code == code && std::strcmp(status.argument, argument) == 0 &&
      std::strlen(status.message) > 10 && status.cuda_error == 0) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "code " << static_cast<int>(status.code) << ", argument '" << status.argument
         << "', message '" << status.message << "'";
}

::testing::AssertionResult invalid(const Status& status, const char* argument) {
  return is(status, StatusCode::invalid_argument, argument);
}

::testing::AssertionResult unsupported(const Status& status, const char* argument) {
  return is(status, StatusCode::unsupported, argument);
}

::testing::AssertionResult accepted(const Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.argument << ": " << status.message;
}

// Good arguments of L with one change.
template <class L, class Change>
Status changed(Change change) {
  ForwardArgs<L> args = good<L>();
  change(args);
  return check(args);
}

// --- What is legal ---

TEST(ChecksTest, GoodArgumentsPassResolvedOrNot) {
  EXPECT_TRUE(accepted(check(good<Layer>())));
  EXPECT_TRUE(accepted(check(gdr::resolve(good<Layer>()))));
  EXPECT_TRUE(accepted(check(good<KeyLayer>())));
  EXPECT_TRUE(accepted(check(gdr::resolve(good<KeyLayer>()))));
  EXPECT_TRUE(accepted(check(good<DeltaLayer>())));
  EXPECT_TRUE(accepted(check(gdr::resolve(good<DeltaLayer>()))));
  EXPECT_TRUE(accepted(check(good<NoGateLayer>())));
}

TEST(ChecksTest, KeyHeadsDefaultToHeads) {
  ForwardArgs<Layer> args = good<Layer>();
  args.shape.key_heads = 0;
  EXPECT_TRUE(accepted(check(args)));
  args.q = nullptr;
  EXPECT_TRUE(invalid(check(args), "q"));
}

TEST(ChecksTest, OptionsPass) {
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.algorithm = Algorithm::recurrent; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.batch_invariant = true; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.qk_l2norm = true; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.qk_l2norm_eps = 0; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.scale = -0.0f; })));
}

TEST(ChecksTest, OptionalPointersMayBeNull) {
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.o = nullptr; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.initial_state = {}; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.final_state = {}; })));
}

// L3: no tokens, no batch, no heads, no sequences; null and not null.
TEST(ChecksTest, EmptyProblemsPass) {
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.shape.seq_len = 0; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.shape.batch = 0; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.shape.heads = a.shape.key_heads = 0; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.shape.heads = 0; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {
    a.shape.batch = 1;
    a.cu_seqlens = {at<const int32_t>(9), 0};
  })));

  ForwardArgs<Layer> args;  // all null, all zero
  EXPECT_TRUE(accepted(check(args)));
  args.shape.batch = 2;
  args.shape.heads = 4;
  EXPECT_TRUE(accepted(check(args)));
  args.final_state = at<float>(8);  // no tokens: zeros are stored
  EXPECT_TRUE(accepted(check(args)));
}

TEST(ChecksTest, TensorsWithoutElementsMayLieAnywhere) {
  ForwardArgs<Layer> args = good<Layer>();
  args.shape.seq_len = 0;
  args.o = at<float>(1, 1);  // q's memory, unaligned and the host's
  DeviceFacts facts = facts_for(args);
  for (DeviceFacts::Pointer& p : facts.pointers) {
    if (p.pointer == args.o.data) p.device = gdr::on_host;
  }
  EXPECT_TRUE(accepted(gdr::check_forward(args, facts)));
}

TEST(ChecksTest, SmallerHeadDimensionsPass) {
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.shape.key_dim = a.shape.value_dim = 1; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {
    a.shape.key_dim = 24;
    a.shape.value_dim = 40;
  })));
}

TEST(ChecksTest, ZeroAndNegativeStridesOfInputsPass) {
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {
    a.q = gdr::strided(at<const float>(1), 0, 0, 0);
    a.k = gdr::strided(at<const float>(2, 1 << 20), 1000, -48, 24);
    a.v = gdr::strided(at<const float>(3, 1 << 20), -960, -160, 40);
    a.gate = gdr::strided(at<const float>(4), 0, 0, 40);
    a.initial_state = gdr::strided_state(at<const float>(7), 0, 0, 0);
  })));
  EXPECT_TRUE(accepted(changed<DeltaLayer>([](auto& a) {  // [B, T, H]: no element stride
    a.gate = gdr::strided(at<const gdr::float16>(4), 0, -4, 1, 77);
    a.beta = gdr::strided(at<const gdr::float16>(5), 24, 4, 1, 77);
  })));
}

// M1: q, k, v, gate and o as slices of one [B, T, 5, H, D] buffer.
TEST(ChecksTest, SlicesOfOneBufferPass) {
  using Square = gdr::Recurrence<gdr::HeadDim<24>, float>;
  ForwardArgs<Square> args = good<Square>();
  args.shape.key_heads = 4;
  const auto slice = [](int64_t i) {
    return gdr::strided(at<float>(1) + i * 96, 6 * 5 * 96, 5 * 96, 24);
  };
  args.q = slice(0);
  args.k = slice(1);
  args.v = slice(2);
  args.gate = slice(3);
  args.o = slice(4);
  EXPECT_TRUE(accepted(check(args)));
  args.o = slice(5);  // the next token's q
  EXPECT_TRUE(invalid(check(args), "o"));
}

// M8, S2: head slices of a wider row, padded state rows, strides above 2^32.
TEST(ChecksTest, WideStridesPass) {
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {
    a.q = gdr::strided(at<const float>(1), int64_t{5000000000}, 512, 256);
    a.o = gdr::strided(at<float>(16), int64_t{5000000000}, 1024, 256);
    a.final_state = gdr::strided_state(at<float>(8), 4 * 24 * 256, 24 * 256, 256);
  })));
}

TEST(ChecksTest, StridesOfSingleElementsDoNotCount) {
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {
    a.shape.batch = a.shape.seq_len = 1;
    a.o = gdr::strided(at<float>(6), 0, -5, 40);
    a.final_state = gdr::strided_state(at<float>(8), -7, 24 * 40, 40);
  })));
}

TEST(ChecksTest, InPlaceStatesPass) {
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.initial_state = a.final_state; })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {  // the same strides, once said, once implied
    a.final_state = gdr::strided_state(at<float>(7), 4 * 24 * 40, 24 * 40, 40);
  })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {
    a.final_state = {at<gdr::bfloat16>(8), StateLayout::vk};
    a.initial_state = a.final_state;
  })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {  // the stride of a single sequence is not used
    a.shape.batch = 1;
    a.final_state = gdr::strided_state(at<float>(7), 1, 24 * 40, 40);
  })));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {  // interleaved slots of [N, 2, H, K, V]
    a.initial_state = gdr::strided_state(at<const float>(7), 2 * 3840, 960, 40);
    a.final_state = gdr::strided_state(at<float>(7) + 3840, 2 * 3840, 960, 40);
  })));
}

TEST(ChecksTest, BetaOfEitherTypePasses) {
  EXPECT_TRUE(accepted(changed<DeltaLayer>([](auto& a) { a.beta = at<const float>(5); })));
  EXPECT_TRUE(accepted(changed<DeltaLayer>([](auto& a) { a.beta = at<const gdr::float16>(5); })));
}

TEST(ChecksTest, OffsetsOfEitherTypePass) {
  const auto packed = [](auto offsets) {
    return changed<Layer>([&](auto& a) {
      a.shape.batch = 1;
      a.cu_seqlens = {offsets, 3};
    });
  };
  EXPECT_TRUE(accepted(packed(at<const int32_t>(9, 4))));
  EXPECT_TRUE(accepted(packed(at<const int64_t>(9, 8))));
}

// --- 1. Sizes ---

TEST(ChecksTest, NegativeSizesAreRefused) {
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.batch = -1; }), "shape.batch"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.seq_len = -1; }), "shape.seq_len"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.heads = -4; }), "shape.heads"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.key_heads = -2; }), "shape.key_heads"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.key_dim = -1; }), "shape.key_dim"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.value_dim = -1; }), "shape.value_dim"));
}

TEST(ChecksTest, HeadsThatAreNoMultipleOfKeyHeadsAreRefused) {
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.key_heads = 3; }), "shape.key_heads"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.key_heads = 8; }), "shape.key_heads"));
}

// S6: 257 and 512 as well as one above the type's extent.
TEST(ChecksTest, HeadDimensionsBeyondTheTypeAreRefused) {
  for (const int beyond : {1, 233, 488}) {
    EXPECT_TRUE(
        invalid(changed<Layer>([&](auto& a) { a.shape.key_dim = 24 + beyond; }), "shape.key_dim"));
    EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.shape.value_dim = 40 + beyond; }),
                        "shape.value_dim"));
  }
}

TEST(ChecksTest, SequencesThatContradictTheShapeAreRefused) {
  const auto packed = [](int64_t batch, const int32_t* offsets, int64_t n) {
    return changed<Layer>([&](auto& a) {
      a.shape.batch = batch;
      a.cu_seqlens = {offsets, n};
    });
  };
  EXPECT_TRUE(invalid(packed(2, at<const int32_t>(9), 3), "cu_seqlens"));
  EXPECT_TRUE(invalid(packed(0, at<const int32_t>(9), 3), "cu_seqlens"));
  EXPECT_TRUE(invalid(packed(1, at<const int32_t>(9), -1), "cu_seqlens"));
  EXPECT_TRUE(invalid(packed(1, nullptr, 3), "cu_seqlens"));
}

TEST(ChecksTest, SizesWhoseProductsDoNotFitAreRefused) {
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.batch = huge; }), "shape.batch"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.seq_len = huge; }), "shape.seq_len"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.shape.heads = huge; }), "shape.heads"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {
                        a.shape.heads = 0;
                        a.shape.key_heads = huge;
                      }),
                      "shape.key_heads"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {  // the product wraps to 0
                        a.shape.batch = a.shape.seq_len = int64_t{1} << 32;
                      }),
                      "shape.batch"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {  // strides that wrap although nothing is there
                        a.shape.seq_len = huge;
                        a.shape.batch = 0;
                      }),
                      "shape.seq_len"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {
                        a.shape.seq_len = 0;
                        a.shape.batch = huge;
                      }),
                      "shape.batch"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {
                        a.shape.heads = a.shape.key_heads = 0;
                        a.shape.seq_len = huge;
                      }),
                      "shape.seq_len"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {  // the states alone
                        a.shape.batch = int64_t{1} << 46;
                        a.shape.seq_len = 1;
                      }),
                      "shape.batch"));
  for (const int64_t sequences : {huge, std::numeric_limits<int64_t>::max()}) {
    EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) {
                          a.shape.batch = 1;
                          a.cu_seqlens = {at<const int32_t>(9), sequences};
                        }),
                        "cu_seqlens"));
  }
}

// --- 2. and 3. Options and the device ---

TEST(ChecksTest, Float64IsRefused) {
  using Double = gdr::Recurrence<gdr::HeadDim<8>, double>;
  EXPECT_TRUE(unsupported(check(good<Double>()), "q"));
}

TEST(ChecksTest, NumbersThatAreNotFiniteAreRefused) {
  for (const float x : {infinity, -infinity, nan}) {
    EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.scale = x; }), "scale"));
    EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.qk_l2norm_eps = x; }), "qk_l2norm_eps"));
  }
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.qk_l2norm_eps = -1e-6f; }), "qk_l2norm_eps"));
}

TEST(ChecksTest, LaterFeaturesAreRefusedByName) {
  EXPECT_TRUE(
      unsupported(changed<Layer>([](auto& a) { a.state_in = at<const int32_t>(9); }), "state_in"));
  EXPECT_TRUE(unsupported(changed<Layer>([](auto& a) { a.state_out = at<const int32_t>(9); }),
                          "state_out"));
  EXPECT_TRUE(unsupported(changed<Layer>([](auto& a) { a.has_state = at<const uint8_t>(9); }),
                          "has_state"));
}

TEST(ChecksTest, FormsThatDoNotServeTheLayerAreRefused) {
  for (const Algorithm form :
       {Algorithm::chunked, Algorithm::chunked_split, Algorithm::by_length}) {
    EXPECT_TRUE(accepted(changed<Layer>([&](auto& a) { a.algorithm = form; })));
    const Status status = changed<DeltaLayer>([&](auto& a) { a.algorithm = form; });
    EXPECT_TRUE(unsupported(status, "algorithm"));
    EXPECT_NE(std::string(status.message).find("recurrent"), std::string::npos);
  }
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.split_state_operand = true; })));
  EXPECT_TRUE(unsupported(changed<Layer>([](auto& a) {
                            a.algorithm = Algorithm::recurrent;
                            a.split_state_operand = true;
                          }),
                          "split_state_operand"));
}

TEST(ChecksTest, ValuesOutsideAnEnumerationAreRefused) {
  for (const int value : {-1, 5, 1000}) {
    const auto change = [&](auto& a) { a.algorithm = static_cast<Algorithm>(value); };
    EXPECT_TRUE(invalid(changed<Layer>(change), "algorithm"));
    EXPECT_TRUE(invalid(changed<DeltaLayer>(change), "algorithm"));
    const auto layout = static_cast<StateLayout>(value);
    EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.initial_state.layout = layout; }),
                        "initial_state"));
    EXPECT_TRUE(
        invalid(changed<Layer>([&](auto& a) { a.final_state.layout = layout; }), "final_state"));
  }
}

TEST(ChecksTest, OldDevicesAreRefused) {
  const ForwardArgs<Layer> args = good<Layer>();
  DeviceFacts facts = facts_for(args);
  for (const int capability : {0, 75, 79}) {
    facts.compute_capability = capability;
    const Status status = gdr::check_forward(args, facts);
    EXPECT_TRUE(unsupported(status, "device"));
    EXPECT_NE(std::string(status.message).find("CMAKE_CUDA_ARCHITECTURES"), std::string::npos);
  }
  for (const int capability : {80, 86, 100, 120}) {
    facts.compute_capability = capability;
    EXPECT_TRUE(accepted(gdr::check_forward(args, facts)));
  }
}

// --- 4. Workspace ---

TEST(ChecksTest, WorkspaceThatDoesNotSufficeIsRefused) {
  ForwardArgs<Layer> args = good<Layer>();
  EXPECT_TRUE(invalid(check(args, 256), "workspace"));
  args.workspace_bytes = 256;
  EXPECT_TRUE(invalid(check(args, 256), "workspace"));
  args.workspace = at<char>(9);
  EXPECT_TRUE(accepted(check(args, 256)));
  EXPECT_TRUE(accepted(check(args, 0)));
  args.workspace_bytes = 255;
  EXPECT_TRUE(invalid(check(args, 256), "workspace_bytes"));
  args.workspace_bytes = -1;
  EXPECT_TRUE(invalid(check(args, 0), "workspace_bytes"));
}

TEST(ChecksTest, WorkspaceIsCheckedAsMemory) {
  ForwardArgs<Layer> args = good<Layer>();
  args.workspace_bytes = 256;
  args.workspace = at<char>(9, 8);
  EXPECT_TRUE(invalid(check(args, 256), "workspace"));  // not aligned to 16 bytes
  args.workspace = at<char>(9);
  DeviceFacts facts = facts_for(args);
  for (DeviceFacts::Pointer& p : facts.pointers) {
    if (p.pointer == args.workspace) p.device = 1;
  }
  EXPECT_TRUE(invalid(gdr::check_forward(args, facts, 256), "workspace"));
  args.workspace = at<char>(8, 4096);  // inside final_state
  EXPECT_TRUE(invalid(check(args, 256), "workspace"));
  args.workspace = at<char>(1, 16);  // inside q
  EXPECT_TRUE(invalid(check(args, 256), "workspace"));
}

// --- 5. Each tensor ---

TEST(ChecksTest, NullWhereDataIsDueIsRefused) {
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.q = nullptr; }), "q"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.k = nullptr; }), "k"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.v = nullptr; }), "v"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.gate = nullptr; }), "gate"));
  EXPECT_TRUE(invalid(changed<KeyLayer>([](auto& a) { a.gate = nullptr; }), "gate"));
  EXPECT_TRUE(invalid(changed<DeltaLayer>([](auto& a) { a.gate = nullptr; }), "gate"));
  EXPECT_TRUE(invalid(changed<DeltaLayer>([](auto& a) { a.beta = {}; }), "beta"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {
                        a.o = nullptr;
                        a.final_state = {};
                      }),
                      "o"));
}

TEST(ChecksTest, TensorsTheLayerDoesNotTakeAreRefused) {
  EXPECT_TRUE(invalid(changed<NoGateLayer>([](auto& a) { a.gate = at<const float>(4); }), "gate"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.beta = at<const float>(5); }), "beta"));
}

TEST(ChecksTest, WrongElementTypesAreRefused) {
  EXPECT_TRUE(
      invalid(changed<DeltaLayer>([](auto& a) { a.beta = at<const gdr::bfloat16>(5); }), "beta"));
  EXPECT_TRUE(invalid(changed<DeltaLayer>([](auto& a) { a.beta = at<const double>(5); }), "beta"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.initial_state = at<const gdr::float16>(7); }),
                      "initial_state"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.initial_state = at<const double>(7); }),
                      "initial_state"));
  EXPECT_TRUE(invalid(changed<DeltaLayer>([](auto& a) { a.final_state = at<gdr::float16>(8); }),
                      "final_state"));
}

// M2.
TEST(ChecksTest, InnermostStridesAreRefused) {
  const auto spread = [](auto* p) { return gdr::strided(p, 4096, 512, 128, 2); };
  EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.q = spread(a.q.data); }), "q"));
  EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.k = spread(a.k.data); }), "k"));
  EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.v = spread(a.v.data); }), "v"));
  EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.gate = spread(a.gate.data); }), "gate"));
  EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.o = spread(a.o.data); }), "o"));
  EXPECT_TRUE(
      invalid(changed<Layer>([](auto& a) {  // also where there is one channel or none at all
                a.shape.key_dim = 1;
                a.shape.seq_len = 0;
                a.q = gdr::strided(a.q.data, 4096, 512, 128, 0);
              }),
              "q"));
}

TEST(ChecksTest, StridesThatReachTooFarAreRefused) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  for (const int64_t stride : {huge, -huge, least, int64_t{1} << 58}) {
    EXPECT_TRUE(invalid(
        changed<Layer>([&](auto& a) { a.q = gdr::strided(a.q.data, stride, stride, stride); }),
        "q"));
    EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) {
                          a.initial_state = gdr::strided_state(at<const float>(7), stride, 960, 40);
                        }),
                        "initial_state"));
  }
}

TEST(ChecksTest, UnalignedPointersAreRefused) {
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.q = at<const float>(1, 2); }), "q"));
  EXPECT_TRUE(invalid(changed<KeyLayer>([](auto& a) { a.k = at<const gdr::float16>(2, 1); }), "k"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.v = at<const float>(3, 1); }), "v"));
  EXPECT_TRUE(invalid(changed<KeyLayer>([](auto& a) { a.gate = at<const float>(4, 2); }), "gate"));
  EXPECT_TRUE(
      invalid(changed<DeltaLayer>([](auto& a) { a.beta = at<const float>(5, 2); }), "beta"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.o = at<float>(6, 3); }), "o"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) { a.initial_state = at<const float>(7, 2); }),
                      "initial_state"));
  EXPECT_TRUE(
      invalid(changed<Layer>([](auto& a) { a.final_state = at<float>(8, 2); }), "final_state"));
  const auto packed = [](auto offsets) {
    return changed<Layer>([&](auto& a) {
      a.shape.batch = 1;
      a.cu_seqlens = {offsets, 3};
    });
  };
  EXPECT_TRUE(invalid(packed(at<const int32_t>(9, 2)), "cu_seqlens"));
  EXPECT_TRUE(invalid(packed(at<const int64_t>(9, 4)), "cu_seqlens"));
  // M3: an element's own size is enough.
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) { a.q = at<const float>(1, 4); })));
  EXPECT_TRUE(accepted(changed<KeyLayer>([](auto& a) { a.q = at<const gdr::float16>(1, 2); })));
}

TEST(ChecksTest, ZeroAndNegativeStridesOfOutputsAreRefused) {
  const auto o = [](int64_t batch, int64_t time, int64_t head) {
    return changed<Layer>([&](auto& a) { a.o = gdr::strided(a.o.data, batch, time, head); });
  };
  EXPECT_TRUE(accepted(o(960, 160, 40)));
  EXPECT_TRUE(invalid(o(0, 160, 40), "o"));
  EXPECT_TRUE(invalid(o(960, 0, 40), "o"));
  EXPECT_TRUE(invalid(o(960, 160, 0), "o"));
  EXPECT_TRUE(invalid(o(-960, 160, 40), "o"));
  EXPECT_TRUE(invalid(o(960, -160, 40), "o"));
  EXPECT_TRUE(invalid(o(960, 160, -40), "o"));
  EXPECT_STREQ(o(960, 0, 40).message, "an output's stride is zero or negative");

  const auto final_state = [](int64_t sequence, int64_t head, int64_t row) {
    return changed<Layer>(
        [&](auto& a) { a.final_state = gdr::strided_state(at<float>(8), sequence, head, row); });
  };
  EXPECT_TRUE(accepted(final_state(3840, 960, 40)));
  EXPECT_TRUE(invalid(final_state(0, 960, 40), "final_state"));
  EXPECT_TRUE(invalid(final_state(3840, 0, 40), "final_state"));
  EXPECT_TRUE(invalid(final_state(3840, 960, 0), "final_state"));
  EXPECT_TRUE(invalid(final_state(3840, -960, 40), "final_state"));
}

TEST(ChecksTest, OutputsThatOverlapThemselvesAreRefused) {
  const auto o = [](int64_t batch, int64_t time, int64_t head) {
    return changed<Layer>([&](auto& a) { a.o = gdr::strided(a.o.data, batch, time, head); });
  };
  EXPECT_TRUE(accepted(o(40, 320, 80)));       // another order of the dimensions
  EXPECT_TRUE(invalid(o(960, 160, 39), "o"));  // rows overlap
  EXPECT_TRUE(invalid(o(960, 40, 40), "o"));   // a token at the next head's place
  EXPECT_TRUE(invalid(o(800, 160, 40), "o"));  // the second row starts at the first's last token
  EXPECT_TRUE(invalid(o(840, 160, 40), "o"));  // inside it
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {  // 40 wide rows in the layout of 24 wide ones
                        a.final_state = gdr::strided_state(at<float>(8), 3840, 960, 24);
                      }),
                      "final_state"));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {
    a.final_state = gdr::strided_state(at<float>(8), 3840, 960, 24, StateLayout::vk);
  })));
}

TEST(ChecksTest, MemoryOfAnotherDeviceAndOfTheHostIsRefused) {
  ForwardArgs<DeltaLayer> args = good<DeltaLayer>();
  args.shape.batch = 1;
  args.cu_seqlens = {at<const int32_t>(9), 3};
  const struct {
    const char* name;
    const void* pointer;
  } arguments[] = {{"q", args.q.data},
                   {"k", args.k.data},
                   {"v", args.v.data},
                   {"gate", args.gate.data},
                   {"beta", args.beta.data},
                   {"cu_seqlens", args.cu_seqlens.data},
                   {"initial_state", args.initial_state.data},
                   {"o", args.o.data},
                   {"final_state", args.final_state.data}};
  for (const auto& argument : arguments) {
    DeviceFacts facts = facts_for(args);
    int* where = nullptr;
    for (DeviceFacts::Pointer& p : facts.pointers) {
      if (p.pointer == argument.pointer) where = &p.device;
    }
    ASSERT_NE(where, nullptr);
    *where = 1;
    EXPECT_TRUE(invalid(gdr::check_forward(args, facts), argument.name));
    *where = gdr::on_host;
    EXPECT_TRUE(invalid(gdr::check_forward(args, facts), argument.name));
    *where = gdr::on_any_device;
    EXPECT_TRUE(accepted(gdr::check_forward(args, facts)));
  }
}

TEST(ChecksTest, TheCurrentDeviceDecides) {
  const ForwardArgs<Layer> args = good<Layer>();
  DeviceFacts facts = facts_for(args);
  facts.device = 1;
  EXPECT_TRUE(invalid(gdr::check_forward(args, facts), "q"));
  for (DeviceFacts::Pointer& p : facts.pointers) p.device = 1;
  EXPECT_TRUE(accepted(gdr::check_forward(args, facts)));
}

TEST(ChecksTest, PointersWithoutFactsAreRefused) {
  DeviceFacts facts;
  facts.compute_capability = 90;
  EXPECT_TRUE(invalid(gdr::check_forward(good<Layer>(), facts), "q"));
  for (int i = 0; i < 2 * DeviceFacts::max_pointers; ++i) facts.add(at<const float>(100), 0);
  EXPECT_EQ(facts.pointer_count, DeviceFacts::max_pointers);
}

// --- 6. Pairs of tensors ---

TEST(ChecksTest, OutputAtAnInputsAddressIsRefused) {
  const auto spread = [](auto* p) { return gdr::strided(p, 8192, 1024, 128); };
  for (const std::uintptr_t slot : {1u, 2u, 3u, 4u, 7u}) {
    EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.o = at<float>(slot); }), "o"));
    EXPECT_TRUE(invalid(changed<Layer>([&](auto& a) { a.o = spread(at<float>(slot)); }), "o"));
    if (slot == 7) continue;  // the initial state's
    EXPECT_TRUE(
        invalid(changed<Layer>([&](auto& a) { a.final_state = at<float>(slot); }), "final_state"));
  }
  EXPECT_TRUE(invalid(changed<DeltaLayer>([](auto& a) { a.o = at<gdr::float16>(5); }), "o"));
  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {
                        a.shape.batch = 1;
                        a.cu_seqlens = {at<const int64_t>(9), 3};
                        a.o = at<float>(9);
                      }),
                      "o"));
}

TEST(ChecksTest, ContiguousRangesThatMeetAreRefused) {
  const auto o = [](std::uintptr_t bytes) {
    return changed<Layer>([&](auto& a) { a.o = at<float>(3, bytes); });
  };
  const std::uintptr_t v_bytes = 2 * 6 * 4 * 40 * 4;
  EXPECT_TRUE(invalid(o(v_bytes - 4), "o"));
  EXPECT_TRUE(accepted(o(v_bytes)));
  EXPECT_TRUE(invalid(o(4 - v_bytes), "o"));
  EXPECT_TRUE(accepted(o(0 - v_bytes)));

  const auto final_state = [](std::uintptr_t slot, std::uintptr_t bytes) {
    return changed<Layer>([&](auto& a) { a.final_state = at<float>(slot, bytes); });
  };
  EXPECT_TRUE(invalid(final_state(3, v_bytes - 4), "final_state"));
  EXPECT_TRUE(accepted(final_state(3, v_bytes)));
  EXPECT_TRUE(invalid(final_state(6, v_bytes - 4), "final_state"));  // o is as large as v
  EXPECT_TRUE(accepted(final_state(6, v_bytes)));

  EXPECT_TRUE(invalid(changed<Layer>([](auto& a) {  // strides of single elements do not count
                        a.shape.seq_len = 1;
                        a.o = gdr::strided(at<float>(1) - 319, 160, 7, 40);
                      }),
                      "o"));
}

// Where each tensor ends: an output there is legal, one element before it is not.
TEST(ChecksTest, TheShapesOfTheTensorsAreTheDocumentedOnes) {
  const auto expect_bytes = [](auto args, const void* start, std::uintptr_t bytes) {
    using Element = typename decltype(args)::Element;
    const auto end = reinterpret_cast<std::uintptr_t>(start) + bytes;
    args.o = reinterpret_cast<Element*>(end);
    EXPECT_TRUE(accepted(check(args)));
    args.o = reinterpret_cast<Element*>(end - sizeof(Element));
    EXPECT_TRUE(invalid(check(args), "o"));
  };
  const ForwardArgs<Layer> value = good<Layer>();  // tokens: B * T = 12
  expect_bytes(value, value.q.data, 12 * 2 * 24 * 4);
  expect_bytes(value, value.k.data, 12 * 2 * 24 * 4);
  expect_bytes(value, value.v.data, 12 * 4 * 40 * 4);
  expect_bytes(value, value.gate.data, 12 * 4 * 40 * 4);
  expect_bytes(value, value.initial_state.data, 2 * 4 * 24 * 40 * 4);
  const ForwardArgs<KeyLayer> key = good<KeyLayer>();
  expect_bytes(key, key.gate.data, 12 * 4 * 24 * 4);
  const ForwardArgs<DeltaLayer> delta = good<DeltaLayer>();
  expect_bytes(delta, delta.gate.data, 12 * 4 * 2);
  expect_bytes(delta, delta.beta.data, 12 * 4 * 4);

  ForwardArgs<Layer> narrow = good<Layer>();
  narrow.shape.key_dim = 5;
  narrow.shape.value_dim = 7;
  expect_bytes(narrow, narrow.q.data, 12 * 2 * 5 * 4);
  expect_bytes(narrow, narrow.v.data, 12 * 4 * 7 * 4);

  ForwardArgs<Layer> packed = good<Layer>();
  packed.shape.batch = 1;
  packed.cu_seqlens = {at<const int64_t>(9), 3};
  expect_bytes(packed, packed.cu_seqlens.data, 4 * 8);
  expect_bytes(packed, packed.initial_state.data, 3 * 4 * 24 * 40 * 4);
  packed.cu_seqlens = {at<const int32_t>(9), 3};
  expect_bytes(packed, packed.cu_seqlens.data, 4 * 4);
}

TEST(ChecksTest, InPlaceStatesOfAnotherShapeAreRefused) {
  const auto in_place = [](gdr::StateView final_state) {
    return changed<Layer>([&](auto& a) { a.final_state = final_state; });
  };
  EXPECT_TRUE(accepted(in_place(at<float>(7))));
  EXPECT_TRUE(invalid(in_place(at<gdr::bfloat16>(7)), "final_state"));
  EXPECT_TRUE(invalid(in_place({at<float>(7), StateLayout::vk}), "final_state"));
  EXPECT_TRUE(invalid(in_place(gdr::strided_state(at<float>(7), 7680, 960, 40)), "final_state"));
  EXPECT_TRUE(invalid(in_place(gdr::strided_state(at<float>(7), 3840, 960, 80)), "final_state"));

  using Square = gdr::Recurrence<gdr::HeadDim<24>, float>;  // the layouts have the same strides
  EXPECT_TRUE(invalid(changed<Square>([](auto& a) {
                        a.final_state = {at<float>(7), StateLayout::vk};
                      }),
                      "final_state"));
}

TEST(ChecksTest, StatesThatOverlapInPartAreRefused) {
  const std::uintptr_t bytes = 2 * 4 * 24 * 40 * 4;
  const auto shifted = [](std::uintptr_t shift) {
    return changed<Layer>([&](auto& a) { a.final_state = at<float>(7, shift); });
  };
  EXPECT_TRUE(invalid(shifted(4), "final_state"));
  EXPECT_TRUE(invalid(shifted(bytes / 2), "final_state"));
  EXPECT_TRUE(invalid(shifted(bytes - 4), "final_state"));
  EXPECT_TRUE(invalid(shifted(4 - bytes), "final_state"));
  EXPECT_TRUE(accepted(shifted(bytes)));
  EXPECT_TRUE(accepted(shifted(0 - bytes)));
  const auto shifted_vk = [](std::uintptr_t shift) {
    return changed<Layer>([&](auto& a) {
      a.initial_state = {at<const float>(7), StateLayout::vk};
      a.final_state = {at<float>(7, shift), StateLayout::vk};
    });
  };
  EXPECT_TRUE(invalid(shifted_vk(bytes - 4), "final_state"));
  EXPECT_TRUE(accepted(shifted_vk(bytes)));

  // Rows padded to 80 elements, heads to 32 rows, the final state `shift` elements later.
  const auto padded = [](int64_t shift) {
    return changed<Layer>([&](auto& a) {
      a.initial_state = gdr::strided_state(at<const float>(7), 10240, 2560, 80);
      a.final_state = gdr::strided_state(at<float>(7) + shift, 10240, 2560, 80);
    });
  };
  EXPECT_TRUE(invalid(padded(39), "final_state"));
  EXPECT_TRUE(accepted(padded(40)));  // in the padding of the rows
  EXPECT_TRUE(invalid(padded(41), "final_state"));
  EXPECT_TRUE(invalid(padded(80), "final_state"));
  EXPECT_TRUE(invalid(padded(2560), "final_state"));
  EXPECT_TRUE(invalid(padded(10240), "final_state"));
  EXPECT_TRUE(invalid(padded(10240 - 2560 + 80 - 1), "final_state"));
  EXPECT_TRUE(invalid(padded(-10240), "final_state"));
  EXPECT_TRUE(accepted(padded(2 * 10240)));
  EXPECT_TRUE(accepted(changed<Layer>([](auto& a) {  // 10240 elements of 4 bytes are 20480 of 2
    a.initial_state = gdr::strided_state(at<const gdr::bfloat16>(7), 10240, 2560, 80);
    a.final_state = gdr::strided_state(at<float>(7) + 10240, 10240, 2560, 80);
  })));
}

// --- Order ---

TEST(ChecksTest, TheFirstFaultInTheDocumentedOrderIsReturned) {
  ForwardArgs<Layer> args = good<Layer>();
  args.shape.batch = -1;
  args.scale = nan;
  args.state_in = at<const int32_t>(9);
  args.workspace_bytes = -1;
  args.q = nullptr;
  args.v = nullptr;
  args.o = at<float>(2);
  DeviceFacts facts = facts_for(args);
  facts.compute_capability = 75;
  const auto first = [&] { return gdr::check_forward(args, facts); };
  EXPECT_TRUE(invalid(first(), "shape.batch"));
  args.shape.batch = 2;
  EXPECT_TRUE(invalid(first(), "scale"));
  args.scale = 1;
  EXPECT_TRUE(unsupported(first(), "state_in"));
  args.state_in = nullptr;
  EXPECT_TRUE(unsupported(first(), "device"));
  facts.compute_capability = 80;
  EXPECT_TRUE(invalid(first(), "workspace_bytes"));
  args.workspace_bytes = 0;
  EXPECT_TRUE(invalid(first(), "q"));
  args.q = at<const float>(2);
  EXPECT_TRUE(invalid(first(), "v"));
  args.v = at<const float>(2);
  EXPECT_TRUE(invalid(first(), "o"));
}

}  // namespace
