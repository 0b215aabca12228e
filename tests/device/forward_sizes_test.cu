// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Sizes beyond 32-bit offsets and beyond what a grid's y and z hold, and a launch that fails.

#include "support/device_run.cuh"

#include <cuda_runtime.h>

namespace {

using namespace gdr::test;
using gdr::Algorithm;
using gdr::HeadDim;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

class ForwardSizes : public DeviceTestByForm {
 protected:
  Spec base(std::int64_t batch, std::int64_t tokens, std::int64_t heads) const {
    Spec spec;
    spec.shape.batch = batch;
    spec.shape.seq_len = tokens;
    spec.shape.heads = heads;
    spec.algorithm = GetParam();
    return spec;
  }
  static std::int64_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return static_cast<std::int64_t>(free);
  }
};

INSTANTIATE_TEST_SUITE_P(Form, ForwardSizes, every_form(), form_name);

/// Uniform numbers in (low, high) that depend on the index and the salt alone.
__global__ void fill_by_hash(__nv_bfloat16* x, std::int64_t count, std::uint32_t salt, float low,
                             float high) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint64_t z = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u + salt;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    const float unit = static_cast<float>(z >> 40) * 0x1p-24f;
    x[i] = __float2bfloat16_rn(low + (high - low) * unit);
  }
}

/// Counts the words of a that differ from b's; b null: from all ones.
__global__ void count_different(const std::uint32_t* a, const std::uint32_t* b, std::int64_t count,
                                unsigned long long* different) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  unsigned long long own = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    own += a[i] != (b == nullptr ? 0xffffffffu : b[i]);
  }
  if (own != 0) atomicAdd(different, own);
}

unsigned long long different_words(const void* a, const void* b, std::int64_t bytes) {
  const DeviceMemory counter(sizeof(unsigned long long));
  cuda_check(cudaMemset(counter.data(), 0, counter.bytes()), "cudaMemset");
  count_different<<<1024, 256>>>(static_cast<const std::uint32_t*>(a),
                                 static_cast<const std::uint32_t*>(b), bytes / 4,
                                 reinterpret_cast<unsigned long long*>(counter.data()));
  cuda_check(cudaGetLastError(), "count_different");
  unsigned long long different = 0;
  cuda_check(cudaMemcpy(&different, counter.data(), sizeof(different), cudaMemcpyDeviceToHost),
             "cudaMemcpy");
  return different;
}

// fla#1080: the last batch row begins past element 2^31.
TEST_P(ForwardSizes, S1MoreThanTwoToThe31Elements) {
  using L = gdr::Recurrence<HeadDim<128>, __nv_bfloat16>;
  using Policy = gdr::DefaultPolicy<L>;
  constexpr std::int64_t B = 16, T = 17477, H = 64, D = 128;
  constexpr std::int64_t row = T * H * D;
  static_assert((B - 1) * row > std::int64_t{1} << 31);
  constexpr std::int64_t bytes = B * row * 2;
  if (free_memory() < 5 * bytes + gibibyte) GTEST_SKIP() << "needs 23 GiB of device memory";

  const DeviceMemory q(bytes), k(bytes), v(bytes), gate(bytes), o(bytes), alone(row * 2);
  const auto elements = [](const DeviceMemory& memory) {
    return reinterpret_cast<__nv_bfloat16*>(memory.data());
  };
  std::uint32_t salt = 0;
  for (const DeviceMemory* input : {&q, &k, &v, &gate}) {
    const bool is_gate = input == &gate;
    fill_by_hash<<<4096, 256>>>(elements(*input), B * row, ++salt, is_gate ? 0.9f : -1.7f,
                                is_gate ? 1.0f : 1.7f);
    cuda_check(cudaGetLastError(), "fill_by_hash");
  }
  cuda_check(cudaMemset(o.data(), 0xff, bytes), "cudaMemset");

  const auto run = [&](std::int64_t batch, std::int64_t first, __nv_bfloat16* output) {
    gdr::ForwardArgs<L> args;
    args.shape.batch = batch;
    args.shape.seq_len = T;
    args.shape.heads = H;
    args.algorithm = GetParam();
    args.q = elements(q) + first;
    args.k = elements(k) + first;
    args.v = elements(v) + first;
    args.gate = elements(gate) + first;
    args.o = output;
    const DeviceMemory workspace(static_cast<std::size_t>(gdr::workspace_size<L>(args) + 1));
    args.workspace = workspace.data();
    args.workspace_bytes = static_cast<std::int64_t>(workspace.bytes());
    const gdr::Status status = gdr::forward<L, Policy>(args, nullptr);
    ASSERT_TRUE(status.ok()) << describe(status);
    cuda_check(cudaDeviceSynchronize(), "forward");
  };
  run(B, 0, elements(o));
  run(1, (B - 1) * row, elements(alone));
  EXPECT_EQ(different_words(elements(o) + (B - 1) * row, elements(alone), row * 2), 0u);

  // Its last head's first tokens, against the reference.
  Problem<L> problem = make_problem<L>(base(1, 1000, 1));
  const auto fetch = [&](const DeviceMemory& memory, unsigned char* to) {
    cuda_check(cudaMemcpy2D(to, D * 2, elements(memory) + (B - 1) * row + (H - 1) * D, H * D * 2,
                            D * 2, 1000, cudaMemcpyDeviceToHost),
               "cudaMemcpy2D");
  };
  fetch(q, problem.byte(problem.q.storage, problem.q.byte_of({})));
  fetch(k, problem.byte(problem.k.storage, problem.k.byte_of({})));
  fetch(v, problem.byte(problem.v.storage, problem.v.byte_of({})));
  fetch(gate, problem.byte(problem.gate.storage, problem.gate.byte_of({})));
  fetch(o, problem.byte(problem.o.storage, problem.o.byte_of({})));
  Result result;
  problem.o.for_each([&](const Index& at, std::int64_t) {
    result.o.push_back(static_cast<float>(problem.value(problem.o, at)));
  });
  expect_matches(problem, result);
}

// mamba#880: batch rows 5e9 elements apart, states too; all tensors are slices of one buffer.
TEST_P(ForwardSizes, S2BatchStrideBeyond32Bits) {
  using L = gdr::Recurrence<HeadDim<64>, float>;
  constexpr std::int64_t batch_stride = 5'000'000'000;
  constexpr std::int64_t region = 100'000;  // elements from one tensor to the next
  constexpr std::int64_t bytes = (batch_stride + 6 * region) * 4;
  if (free_memory() < bytes + gibibyte) GTEST_SKIP() << "needs 20 GiB of device memory";

  const Problem<L> problem = make_problem<L>(base(2, 9, 2).with_states());
  const DeviceMemory buffer(bytes);
  cuda_check(cudaMemset(buffer.data(), 0xff, bytes), "cudaMemset");
  float* const data = reinterpret_cast<float*>(buffer.data());
  const auto row_bytes = [](const auto& tensor) { return tensor.count() / 2 * 4; };
  const auto fill = [&](const auto& tensor, std::int64_t first_byte, float* to) {
    for (std::int64_t b = 0; b < 2; ++b) {
      cuda_check(cudaMemcpy(to + b * batch_stride,
                            problem.byte(tensor.storage, first_byte + b * row_bytes(tensor)),
                            static_cast<std::size_t>(row_bytes(tensor)), cudaMemcpyHostToDevice),
                 "cudaMemcpy");
    }
  };
  const auto view = [&](float* from) { return gdr::strided(from, batch_stride, 2 * 64, 64); };

  gdr::ForwardArgs<L> args = problem.host_args();
  float* const o = data + 4 * region;
  float* const state = data + 5 * region;
  fill(problem.q, problem.q.byte_of({}), data);
  fill(problem.k, problem.k.byte_of({}), data + region);
  fill(problem.v, problem.v.byte_of({}), data + 2 * region);
  fill(problem.gate, problem.gate.byte_of({}), data + 3 * region);
  fill(problem.initial_state, problem.initial_state.byte_of(0, 0, 0, 0), state);
  args.q = view(data);
  args.k = view(data + region);
  args.v = view(data + 2 * region);
  args.gate = view(data + 3 * region);
  args.o = view(o);
  args.final_state = gdr::strided_state(state, batch_stride, 64 * 64, 64);
  args.initial_state = args.final_state;
  const DeviceMemory workspace(static_cast<std::size_t>(gdr::workspace_size<L>(args) + 1));
  args.workspace = workspace.data();
  args.workspace_bytes = static_cast<std::int64_t>(workspace.bytes());
  const gdr::Status status = gdr::forward<L>(args, nullptr);
  ASSERT_TRUE(status.ok()) << describe(status);

  const auto fetch = [&](const auto& tensor, const float* from) {
    std::vector<float> values(static_cast<std::size_t>(tensor.count()));
    for (std::int64_t b = 0; b < 2; ++b) {
      cuda_check(cudaMemcpy(values.data() + b * tensor.count() / 2, from + b * batch_stride,
                            static_cast<std::size_t>(row_bytes(tensor)), cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
    }
    return values;
  };
  expect_matches(problem, {fetch(problem.o, o), fetch(problem.final_state, state)});

  // Beside the slices every byte is as it was.
  for (std::int64_t b = 0; b < 2; ++b) {
    for (int slice = 0; slice < 6; ++slice) {
      const auto size = slice == 5 ? row_bytes(problem.final_state) : row_bytes(problem.o);
      cuda_check(cudaMemset(data + b * batch_stride + slice * region, 0xff,
                            static_cast<std::size_t>(size)),
                 "cudaMemset");
    }
  }
  EXPECT_EQ(different_words(data, nullptr, bytes), 0u);
}

// fla#172, mamba#505
TEST_P(ForwardSizes, S4ManyBatchRows) {
  using L = gdr::Recurrence<HeadDim<16>, float>;
  run_and_check<L>(base(10923, 5, 6));
  run_and_check<L>(base(70000, 5, 1));
}

TEST_P(ForwardSizes, S4ManyHeads) {
  using L = gdr::Recurrence<HeadDim<16>, float>;
  run_and_check<L>(base(1, 3, 70000).with_states());
}

// fla#1077
TEST_P(ForwardSizes, S5ManySequencesOfOneToken) {
  using L = gdr::Recurrence<HeadDim<16>, float>;
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{2050, 32}, {70000, 1}};
  for (const auto& [sequences, heads] : sizes) {
    Spec spec = base(sequences, 1, heads).with_states();
    run_and_check<L>(spec);
    spec = base(1, sequences, heads).with_states();
    for (std::int64_t n = 0; n <= sequences; ++n) spec.cu_seqlens.push_back(n);
    run_and_check<L>(spec);
  }
}

TEST_P(ForwardSizes, S5MostSequencesEmpty) {
  using L = gdr::Recurrence<HeadDim<16>, float>;
  Spec spec = base(1, 700, 1).with_states();
  for (std::int64_t n = 0; n <= 70000; ++n) spec.cu_seqlens.push_back(n / 100);
  run_and_check<L>(spec);
}

// flashinfer#3125: the legacy stream cannot take work while a stream that it waits for is captured.
TEST_P(ForwardSizes, S8AFailingLaunchReachesTheCaller) {
  using L = gdr::Recurrence<HeadDim<16>, float>;
  const DeviceProblem<L> device(make_problem<L>(base(2, 5, 2).with_states()));
  cudaStream_t captured = nullptr;  // a blocking stream, unlike Stream
  cuda_check(cudaStreamCreate(&captured), "cudaStreamCreate");
  cuda_check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed), "begin capture");
  const gdr::Status status = device.launch(cudaStreamLegacy);
  cudaGraph_t graph = nullptr;
  (void)cudaStreamEndCapture(captured, &graph);
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  (void)cudaStreamDestroy(captured);
  (void)cudaGetLastError();
  EXPECT_EQ(status.code, gdr::StatusCode::cuda_error) << describe(status);
  EXPECT_EQ(status.cuda_error, static_cast<int>(cudaErrorStreamCaptureImplicit))
      << describe(status);
  EXPECT_STRNE(status.message, "");
  device.expect_nothing_written();

  const gdr::Status next = device.launch(nullptr);
  EXPECT_TRUE(next.ok()) << describe(next);
  expect_matches(device.problem(), device.collect());
}

// An error that another call left behind is not this call's.
TEST_P(ForwardSizes, S8AnEarlierErrorIsNotOurs) {
  using L = gdr::Recurrence<HeadDim<16>, float>;
  const DeviceProblem<L> device(make_problem<L>(base(2, 5, 2).with_states()));
  void* too_much = nullptr;
  EXPECT_NE(cudaMalloc(&too_much, std::size_t{1} << 60), cudaSuccess);
  const gdr::Status status = device.launch();
  EXPECT_TRUE(status.ok()) << describe(status);
  (void)cudaGetLastError();
  expect_matches(device.problem(), device.collect());
}

// mamba#1015
TEST_P(ForwardSizes, S9AVeryLongSequence) {
  using L = gdr::Recurrence<HeadDim<64>, float>;
  run_and_check<L>(base(1, 300000, 1).with_states());
}

}  // namespace
