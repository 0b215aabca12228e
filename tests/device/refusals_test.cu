// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Bad arguments: the status names the argument, the query says the same, nothing is written.

#include "support/device_run.cuh"

#include <limits>
#include <string>

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::DataType;
using gdr::HeadDims;
using gdr::StateLayout;
using gdr::StatusCode;

using Outer = gdr::Recurrence<HeadDims<64, 32>, float>;
using Delta = gdr::Recurrence<HeadDims<64, 32>, __nv_bfloat16, gdr::KeyGate<gdr::Log, float>,
                              gdr::DeltaRule<>>;

class Refusals : public DeviceTest {
 protected:
  static Spec base() {
    Spec spec;
    spec.shape.batch = 2;
    spec.shape.seq_len = 8;
    spec.shape.heads = 4;
    spec.shape.key_heads = 2;
    spec.algorithm = Algorithm::automatic;
    return spec.with_states();
  }
};

/// Good arguments, spoilt one at a time.
template <class L>
class Victim {
 public:
  explicit Victim(const Spec& spec) : device_(make_problem<L>(spec)) {}

  template <class Spoil>
  void refuses(const char* argument, StatusCode code, Spoil spoil) const {
    SCOPED_TRACE(std::string("refused: ") + argument);
    gdr::ForwardArgs<L> args = device_.args();
    spoil(args);
    const gdr::Status asked = gdr::can_forward<L>(args);
    const gdr::Status launched = gdr::forward<L>(args, nullptr);
    for (const gdr::Status& status : {asked, launched}) {
      EXPECT_FALSE(status.ok());
      EXPECT_EQ(status.code, code) << describe(status);
      EXPECT_STREQ(status.argument, argument) << describe(status);
      EXPECT_STRNE(status.message, "") << describe(status);
      EXPECT_EQ(status.cuda_error, 0) << describe(status);
    }
    device_.expect_nothing_written();
  }
  template <class Spoil>
  void refuses(const char* argument, Spoil spoil) const {
    refuses(argument, StatusCode::invalid_argument, spoil);
  }

  /// Unspoilt, the arguments are good: what is refused is the fault.
  void is_good() const {
    const gdr::Status status = device_.launch();
    EXPECT_TRUE(status.ok()) << describe(status);
    expect_matches(device_.problem(), device_.collect());
  }

  const DeviceProblem<L>& device() const { return device_; }

 private:
  DeviceProblem<L> device_;
};

TEST_F(Refusals, NullWhereDataIsDue) {
  using Args = gdr::ForwardArgs<Delta>;
  const Victim<Delta> victim(base());
  victim.refuses("q", [](Args& args) { args.q = {}; });
  victim.refuses("k", [](Args& args) { args.k = {}; });
  victim.refuses("v", [](Args& args) { args.v = {}; });
  victim.refuses("gate", [](Args& args) { args.gate = {}; });
  victim.refuses("beta", [](Args& args) { args.beta = {}; });
  victim.refuses("o", [](Args& args) {
    args.o = {};
    args.final_state = {};
  });
  victim.is_good();
}

TEST_F(Refusals, GivenWhereNothingIsRead) {
  const Victim<Outer> outer(base());
  outer.refuses("beta", [](gdr::ForwardArgs<Outer>& args) { args.beta = args.gate.data; });
  using Ungated = gdr::Recurrence<HeadDims<64, 32>, float, gdr::NoGate>;
  const Victim<Ungated> ungated(base());
  ungated.refuses("gate", [](gdr::ForwardArgs<Ungated>& args) { args.gate = args.v.data; });
  ungated.is_good();
}

TEST_F(Refusals, Sizes) {
  using Args = gdr::ForwardArgs<Outer>;
  const Victim<Outer> victim(base());
  victim.refuses("shape.batch", [](Args& args) { args.shape.batch = -1; });
  victim.refuses("shape.seq_len", [](Args& args) { args.shape.seq_len = -1; });
  victim.refuses("shape.heads", [](Args& args) { args.shape.heads = -4; });
  victim.refuses("shape.key_heads", [](Args& args) { args.shape.key_heads = -2; });
  victim.refuses("shape.key_dim", [](Args& args) { args.shape.key_dim = -1; });
  victim.refuses("shape.value_dim", [](Args& args) { args.shape.value_dim = -1; });
  victim.refuses("shape.key_heads", [](Args& args) { args.shape.key_heads = 3; });
  victim.refuses("shape.key_heads", [](Args& args) { args.shape.key_heads = 8; });
  victim.refuses("shape.key_dim", [](Args& args) { args.shape.key_dim = 65; });
  victim.refuses("shape.value_dim", [](Args& args) { args.shape.value_dim = 33; });
  victim.refuses("shape.key_dim", [](Args& args) { args.shape.key_dim = 257; });
  constexpr std::int64_t huge = std::int64_t{1} << 61;
  victim.refuses("shape.batch", [](Args& args) { args.shape.batch = huge; });
  victim.refuses("shape.seq_len", [](Args& args) { args.shape.seq_len = huge; });
}

// Without tokens no tensor has elements, and sizes alone are at fault.
TEST_F(Refusals, MoreThanTheGridHolds) {
  const Victim<Outer> victim(base());
  const auto only_sizes = [](gdr::ForwardArgs<Outer>& args) {
    args = {};
    args.shape.batch = 1;
    args.shape.heads = 1;
  };
  for (const int64_t size : {int64_t{1} << 31, int64_t{1} << 32, int64_t{3} << 33}) {
    victim.refuses("shape", StatusCode::unsupported, [&](auto& args) {
      only_sizes(args);
      args.shape.heads = size;
    });
    victim.refuses("shape", StatusCode::unsupported, [&](auto& args) {
      only_sizes(args);
      args.shape.batch = size;
    });
  }
}

TEST_F(Refusals, Strides) {
  using Args = gdr::ForwardArgs<Outer>;
  const Victim<Outer> victim(base());
  // The contiguous ones, with one changed.
  const auto with = [](auto& view, std::int64_t heads, std::int64_t channels, auto change) {
    view.contiguous = false;
    view.strides = {8 * heads * channels, heads * channels, channels, 1};
    change(view.strides);
  };
  const auto element_two = [](gdr::Strides& s) { s.element = 2; };
  victim.refuses("q", [&](Args& args) { with(args.q, 2, 64, element_two); });
  victim.refuses("k", [&](Args& args) { with(args.k, 2, 64, element_two); });
  victim.refuses("v", [&](Args& args) { with(args.v, 4, 32, element_two); });
  victim.refuses("gate", [&](Args& args) { with(args.gate, 4, 32, element_two); });
  victim.refuses("o", [&](Args& args) { with(args.o, 4, 32, element_two); });
  victim.refuses("q",
                 [&](Args& args) { with(args.q, 2, 64, [](gdr::Strides& s) { s.element = 0; }); });
  victim.refuses("o",
                 [&](Args& args) { with(args.o, 4, 32, [](gdr::Strides& s) { s.batch = 0; }); });
  victim.refuses("o",
                 [&](Args& args) { with(args.o, 4, 32, [](gdr::Strides& s) { s.time = 0; }); });
  victim.refuses("o",
                 [&](Args& args) { with(args.o, 4, 32, [](gdr::Strides& s) { s.head = 0; }); });
  victim.refuses(
      "o", [&](Args& args) { with(args.o, 4, 32, [](gdr::Strides& s) { s.time = -s.time; }); });
  victim.refuses("o", [&](Args& args) {  // heads that share elements
    with(args.o, 4, 32, [](gdr::Strides& s) { s.head = 31; });
  });
  const auto state_with = [](Args& args, auto change) {
    args.final_state.contiguous = false;
    args.final_state.row_stride = 32;
    args.final_state.head_stride = 64 * 32;
    args.final_state.sequence_stride = 4 * 64 * 32;
    change(args.final_state);
  };
  victim.refuses("final_state", [&](Args& args) {
    state_with(args, [](gdr::StateView& s) { s.sequence_stride = 0; });
  });
  victim.refuses("final_state", [&](Args& args) {
    state_with(args, [](gdr::StateView& s) { s.head_stride = 0; });
  });
  victim.refuses("final_state", [&](Args& args) {
    state_with(args, [](gdr::StateView& s) { s.row_stride = 31; });
  });
  victim.is_good();
}

TEST_F(Refusals, Types) {
  using Args = gdr::ForwardArgs<Delta>;
  const Victim<Delta> victim(base());
  victim.refuses("beta", [](Args& args) { args.beta.type = DataType::float16; });
  victim.refuses("beta", [](Args& args) { args.beta.type = DataType::float64; });
  victim.refuses("initial_state", [](Args& args) { args.initial_state.type = DataType::float16; });
  victim.refuses("initial_state", [](Args& args) { args.initial_state.type = DataType::float64; });
  victim.refuses("final_state", [](Args& args) { args.final_state.type = DataType::float64; });
}

TEST_F(Refusals, MisalignedPointers) {
  using Args = gdr::ForwardArgs<Outer>;
  const Victim<Outer> victim(base());
  const auto shift = [](auto* pointer, int bytes) {
    return reinterpret_cast<decltype(pointer)>(reinterpret_cast<std::uintptr_t>(pointer) +
                                               static_cast<std::uintptr_t>(bytes));
  };
  victim.refuses("q", [&](Args& args) { args.q = shift(args.q.data, 1); });
  victim.refuses("gate", [&](Args& args) { args.gate = shift(args.gate.data, 2); });
  victim.refuses("o", [&](Args& args) { args.o = shift(args.o.data, 2); });
  victim.refuses("initial_state", [&](Args& args) {
    args.initial_state.data = shift(static_cast<const float*>(args.initial_state.data), 2);
  });
}

TEST_F(Refusals, Options) {
  using Args = gdr::ForwardArgs<Outer>;
  const Victim<Outer> victim(base());
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, infinity, -infinity}) {
    victim.refuses("scale", [=](Args& args) { args.scale = bad; });
  }
  for (const float bad : {nan, infinity, -1e-6f}) {
    victim.refuses("qk_l2norm_eps", [=](Args& args) {
      args.qk_l2norm = true;
      args.qk_l2norm_eps = bad;
    });
  }
}

TEST_F(Refusals, FieldsOfLaterFeatures) {
  using Args = gdr::ForwardArgs<Outer>;
  const Victim<Outer> victim(base());
  const StatusCode later = StatusCode::unsupported;
  const DeviceMemory indices(1024);
  auto* const slots = reinterpret_cast<const std::int32_t*>(indices.data());
  victim.refuses("state_in", later, [=](Args& args) { args.state_in = slots; });
  victim.refuses("state_out", later, [=](Args& args) { args.state_out = slots; });
  victim.refuses("has_state", later, [&](Args& args) { args.has_state = indices.data(); });
  victim.is_good();
}

// Asked for by name, under the delta rule; the sentence names the form that serves it.
TEST_F(Refusals, ChunkedFormsOfTheDeltaRule) {
  const Victim<Delta> victim(base());
  for (const Algorithm algorithm :
       {Algorithm::chunked, Algorithm::chunked_split, Algorithm::by_length}) {
    const auto ask = [=](gdr::ForwardArgs<Delta>& args) { args.algorithm = algorithm; };
    victim.refuses("algorithm", StatusCode::unsupported, ask);
    gdr::ForwardArgs<Delta> args = victim.device().args();
    ask(args);
    EXPECT_NE(std::string(gdr::can_forward<Delta>(args).message).find("recurrent"),
              std::string::npos);
  }
  victim.is_good();
}

TEST_F(Refusals, Sequences) {
  using Args = gdr::ForwardArgs<Outer>;
  Spec spec = base();
  spec.shape.batch = 1;
  spec.cu_seqlens = {0, 3, 8};
  const Victim<Outer> victim(spec);
  victim.refuses("cu_seqlens", [](Args& args) { args.shape.batch = 2; });
  victim.refuses("cu_seqlens", [](Args& args) { args.shape.batch = 0; });
  victim.refuses("cu_seqlens", [](Args& args) { args.cu_seqlens.sequences = -1; });
  victim.refuses("cu_seqlens", [](Args& args) { args.cu_seqlens.data = nullptr; });
  victim.is_good();
}

TEST_F(Refusals, Overlap) {
  using Args = gdr::ForwardArgs<Outer>;
  const Victim<Outer> victim(base());
  const auto mutable_float = [](const void* pointer) {
    return const_cast<float*>(static_cast<const float*>(pointer));
  };
  victim.refuses("o", [&](Args& args) { args.o = mutable_float(args.v.data); });
  victim.refuses("o", [&](Args& args) { args.o = mutable_float(args.gate.data); });
  victim.refuses("o", [&](Args& args) { args.o = mutable_float(args.q.data) + 100; });
  victim.refuses("o", [&](Args& args) { args.o = mutable_float(args.k.data) - 100; });
  victim.refuses("o", [&](Args& args) { args.o = mutable_float(args.initial_state.data); });
  victim.refuses("final_state", [&](Args& args) { args.final_state = mutable_float(args.q.data); });
  victim.refuses("final_state", [&](Args& args) { args.final_state = args.o.data; });
  victim.refuses("final_state", [&](Args& args) { args.final_state = args.o.data + 64; });
  victim.refuses("final_state", [&](Args& args) {
    args.final_state = mutable_float(args.initial_state.data) + 32;
  });
  victim.is_good();
}

TEST_F(Refusals, InPlaceInAnotherShape) {
  using Args = gdr::ForwardArgs<Outer>;
  Spec spec = base();
  spec.in_place = true;
  const Victim<Outer> victim(spec);
  victim.refuses("final_state", [](Args& args) { args.final_state.layout = StateLayout::vk; });
  victim.refuses("final_state", [](Args& args) { args.final_state.type = DataType::bfloat16; });
  victim.refuses("final_state", [](Args& args) {
    args.final_state.contiguous = false;
    args.final_state.row_stride = 33;
    args.final_state.head_stride = 64 * 33;
    args.final_state.sequence_stride = 4 * 64 * 33;
  });
  victim.is_good();
}

TEST_F(Refusals, Workspace) {
  using Args = gdr::ForwardArgs<Outer>;
  const Victim<Outer> victim(base());
  victim.refuses("workspace_bytes", [](Args& args) { args.workspace_bytes = -1; });
  const std::int64_t needed = gdr::workspace_size<Outer>(victim.device().args());
  EXPECT_GE(needed, 0);
  if (needed == 0) return;
  victim.refuses("workspace", [](Args& args) { args.workspace = nullptr; });
  victim.refuses("workspace_bytes", [=](Args& args) { args.workspace_bytes = needed - 1; });
}

}  // namespace
