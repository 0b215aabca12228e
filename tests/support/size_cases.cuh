// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Sizes beyond 32-bit offsets and beyond what a grid's y and z hold (S1 to S9). Bodies of the
/// sizes tests, for a layer and a form.

#include <cuda_runtime.h>

#include <utility>
#include <vector>

#include "device_run.cuh"

namespace gdr::test::size_cases {

inline constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

inline Spec size_spec(Algorithm algorithm, std::int64_t batch, std::int64_t tokens,
                      std::int64_t heads) {
  Spec spec;
  spec.shape.batch = batch;
  spec.shape.seq_len = tokens;
  spec.shape.heads = heads;
  spec.algorithm = algorithm;
  return spec;
}

inline std::int64_t free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

/// The workspace that the arguments ask for, or one byte.
template <class L>
DeviceMemory give_workspace(ForwardArgs<L>& args) {
  DeviceMemory workspace(static_cast<std::size_t>(workspace_size<L>(args) + 1));
  cuda_check(cudaMemset(workspace.data(), 0xff, workspace.bytes()), "poison");
  args.workspace = workspace.data();
  args.workspace_bytes = static_cast<std::int64_t>(workspace.bytes());
  return workspace;
}

/// Uniform numbers in (low, high) that depend on the index and the salt alone.
static __global__ void fill_by_hash(__nv_bfloat16* x, std::int64_t count, std::uint32_t salt,
                                    float low, float high) {
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
static __global__ void count_different(const std::uint32_t* a, const std::uint32_t* b,
                                       std::int64_t count, unsigned long long* different) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  unsigned long long own = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    own += a[i] != (b == nullptr ? 0xffffffffu : b[i]);
  }
  if (own != 0) atomicAdd(different, own);
}

inline unsigned long long different_words(const void* a, const void* b, std::int64_t bytes) {
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
template <class L>
void more_than_two_to_the_31_elements(Algorithm algorithm) {
  using Policy = DefaultPolicy<L>;
  constexpr std::int64_t B = 16, T = 17477, H = 64, D = 128;
  static_assert(L::key_dim == D && L::value_dim == D && L::element_type == DataType::bfloat16);
  constexpr std::int64_t row = T * H * D;
  static_assert((B - 1) * row > std::int64_t{1} << 31);
  constexpr std::int64_t bytes = B * row * 2;

  ForwardArgs<L> args;
  args.shape.batch = B;
  args.shape.seq_len = T;
  args.shape.heads = H;
  args.algorithm = algorithm;
  // Where a policy may choose by the size of the batch, it is asked not to.
  args.batch_invariant = form_of(algorithm) == Form::chunked;
  const std::int64_t needed = 5 * bytes + workspace_size<L>(args) + gibibyte;
  if (free_memory() < needed) {
    GTEST_SKIP() << "needs " << needed / gibibyte << " GiB of device memory";
  }

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
  cuda_check(cudaMemset(alone.data(), 0xff, alone.bytes()), "cudaMemset");

  const auto run = [&](std::int64_t batch, std::int64_t first, __nv_bfloat16* output) {
    args.shape.batch = batch;
    args.q = elements(q) + first;
    args.k = elements(k) + first;
    args.v = elements(v) + first;
    args.gate = elements(gate) + first;
    args.o = output;
    const DeviceMemory workspace = give_workspace(args);
    const Status status = forward<L, Policy>(args, nullptr);
    ASSERT_TRUE(status.ok()) << describe(status);
    cuda_check(cudaDeviceSynchronize(), "forward");
  };
  run(B, 0, elements(o));
  run(1, (B - 1) * row, elements(alone));
  EXPECT_EQ(different_words(elements(o) + (B - 1) * row, elements(alone), row * 2), 0u);

  // Its last head's first tokens, against the reference.
  Problem<L> problem = make_problem<L>(size_spec(algorithm, 1, 1000, 1));
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

// mamba#880: batch rows 5e9 elements apart, states past 2^31; all are slices of one buffer.
template <class L>
void batch_stride_beyond_32_bits(Algorithm algorithm) {
  using Element = typename L::Element;
  static_assert(L::key_dim == 64 && L::value_dim == 64 && L::Gate::axis == GateAxis::value &&
                L::gate_type == L::element_type);
  constexpr std::int64_t size = sizeof(Element);
  constexpr std::int64_t batch_stride = 5'000'000'000;
  constexpr std::int64_t state_stride = batch_stride * size / 4;
  static_assert(state_stride > std::int64_t{1} << 31);
  constexpr std::int64_t region = 100'000;  // elements from one tensor to the next
  constexpr std::int64_t bytes = (batch_stride + 6 * region) * size;
  if (free_memory() < bytes + gibibyte) {
    GTEST_SKIP() << "needs " << bytes / gibibyte + 2 << " GiB of device memory";
  }

  const Problem<L> problem = make_problem<L>(size_spec(algorithm, 2, 9, 2).with_states());
  const DeviceMemory buffer(bytes);
  cuda_check(cudaMemset(buffer.data(), 0xff, bytes), "cudaMemset");
  // Where batch row b of the slice-th tensor begins.
  const auto place = [&](std::int64_t slice, std::int64_t b) {
    return buffer.data() + (b * batch_stride + slice * region) * size;
  };
  const auto row_bytes = [](const auto& tensor) {
    return static_cast<std::size_t>(tensor.count() / 2 * size_of(tensor.type));
  };
  const auto fill = [&](const auto& tensor, std::int64_t first_byte, std::int64_t slice) {
    for (std::int64_t b = 0; b < 2; ++b) {
      const auto from = first_byte + b * static_cast<std::int64_t>(row_bytes(tensor));
      cuda_check(cudaMemcpy(place(slice, b), problem.byte(tensor.storage, from), row_bytes(tensor),
                            cudaMemcpyHostToDevice),
                 "cudaMemcpy");
    }
  };
  const auto view = [&](std::int64_t slice) {
    return strided(reinterpret_cast<Element*>(place(slice, 0)), batch_stride, 2 * 64, 64);
  };

  ForwardArgs<L> args = problem.host_args();
  fill(problem.q, problem.q.byte_of({}), 0);
  fill(problem.k, problem.k.byte_of({}), 1);
  fill(problem.v, problem.v.byte_of({}), 2);
  fill(problem.gate, problem.gate.byte_of({}), 3);
  fill(problem.initial_state, problem.initial_state.byte_of(0, 0, 0, 0), 5);
  args.q = view(0);
  args.k = view(1);
  args.v = view(2);
  args.gate = view(3);
  args.o = view(4);
  args.final_state =
      strided_state(reinterpret_cast<float*>(place(5, 0)), state_stride, 64 * 64, 64);
  args.initial_state = args.final_state;
  const DeviceMemory workspace = give_workspace(args);
  const Status status = forward<L, TestPolicy<L>>(args, nullptr);
  ASSERT_TRUE(status.ok()) << describe(status);
  cuda_check(cudaDeviceSynchronize(), "forward");

  const auto fetch = [&](const auto& tensor, std::int64_t slice) {
    std::vector<float> values;
    std::vector<unsigned char> raw(row_bytes(tensor));
    for (std::int64_t b = 0; b < 2; ++b) {
      cuda_check(cudaMemcpy(raw.data(), place(slice, b), raw.size(), cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
      for (std::size_t at = 0; at < raw.size();
           at += static_cast<std::size_t>(size_of(tensor.type)))
        values.push_back(decode_float(tensor.type, raw.data() + at));
    }
    return values;
  };
  expect_matches(problem, {fetch(problem.o, 4), fetch(problem.final_state, 5)});

  // Beside the slices every byte is as it was.
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t slice = 0; slice < 6; ++slice) {
      const auto written = slice == 5 ? row_bytes(problem.final_state) : row_bytes(problem.o);
      cuda_check(cudaMemset(place(slice, b), 0xff, written), "cudaMemset");
    }
  }
  EXPECT_EQ(different_words(buffer.data(), nullptr, bytes), 0u);
}

// fla#172, mamba#505
template <class L>
void many_batch_rows(Algorithm algorithm) {
  run_and_check<L>(size_spec(algorithm, 10923, 5, 6));
  run_and_check<L>(size_spec(algorithm, 70000, 5, 1));
}

template <class L>
void many_heads(Algorithm algorithm) {
  run_and_check<L>(size_spec(algorithm, 1, 3, 70000).with_states());
}

// fla#1077
template <class L>
void many_sequences_of_one_token(Algorithm algorithm) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{2050, 32}, {70000, 1}};
  for (const auto& [sequences, heads] : sizes) {
    Spec spec = size_spec(algorithm, sequences, 1, heads).with_states();
    run_and_check<L>(spec);
    spec = size_spec(algorithm, 1, sequences, heads).with_states();
    for (std::int64_t n = 0; n <= sequences; ++n) spec.cu_seqlens.push_back(n);
    run_and_check<L>(spec);
  }
}

template <class L>
void most_sequences_empty(Algorithm algorithm) {
  Spec spec = size_spec(algorithm, 1, 700, 1).with_states();
  for (std::int64_t n = 0; n <= 70000; ++n) spec.cu_seqlens.push_back(n / 100);
  run_and_check<L>(spec);
}

// mamba#1015
template <class L>
void a_very_long_sequence(Algorithm algorithm) {
  run_and_check<L>(size_spec(algorithm, 1, 300000, 1).with_states());
}
}  // namespace gdr::test::size_cases
