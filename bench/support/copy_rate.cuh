// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The two floors of a run: how fast this device copies its memory, and how long an empty kernel
/// takes.

#include "bench/support/device.hpp"
#include "bench/support/random.hpp"
#include "bench/support/timing.cuh"

namespace gdr::bench {

/// out[i] = value(i), by grid.x blocks of 256 threads that stride over the array.
template <class T, class Value>
__global__ void fill_kernel(T* out, int64_t count, Value value) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    out[i] = static_cast<T>(value(i));
  }
}

template <class T, class Value>
void fill(cudaStream_t stream, const DeviceArray<T>& out, const Value& value) {
  if (out.count() == 0) return;
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>((out.count() + 255) / 256, int64_t{1} << 16));
  fill_kernel<<<blocks, 256, 0, stream>>>(out.data(), out.count(), value);
  check(cudaGetLastError(), "fill_kernel");
}

struct UniformValue {
  uint64_t seed;
  float low;
  float high;
  __device__ float operator()(int64_t i) const {
    return random_uniform(seed, static_cast<uint64_t>(i), low, high);
  }
};

inline constexpr int copy_threads = 256;
inline constexpr int copy_vectors = 4;  // float4 of one thread
inline constexpr int64_t copy_block_bytes =
    int64_t{copy_threads} * copy_vectors * static_cast<int64_t>(sizeof(float4));

template <class Vector>
__global__ void __launch_bounds__(copy_threads) copy_kernel(const Vector* from, Vector* to) {
  const int64_t first = int64_t{blockIdx.x} * copy_threads * copy_vectors + threadIdx.x;
  Vector x[copy_vectors];
#pragma unroll
  for (int i = 0; i < copy_vectors; ++i) x[i] = from[first + i * copy_threads];
#pragma unroll
  for (int i = 0; i < copy_vectors; ++i) to[first + i * copy_threads] = x[i];
}

template <class T>
__global__ void empty_kernel() {}

/// A measured copy within the device's memory.
struct CopyRate {
  Timing timing;
  int64_t bytes = 0;  // read + written by one launch
  double bytes_per_second() const { return static_cast<double>(bytes) / (timing.median_us * 1e-6); }
};

/// Copies 1 GiB of random data, or an eighth of a smaller device's memory.
inline CopyRate measure_copy_rate(cudaStream_t stream, const Device& device, int samples) {
  const int64_t wanted = std::min(int64_t{1} << 30, device.memory_bytes / 8);
  const int64_t blocks = wanted / copy_block_bytes;
  const DeviceArray<float> from(blocks * copy_block_bytes / 4);
  const DeviceArray<float> to(from.count());
  fill(stream, from, UniformValue{1, -1.0f, 1.0f});

  const auto launch = [&](cudaStream_t s, int /*index*/) {
    copy_kernel<<<static_cast<unsigned>(blocks), copy_threads, 0, s>>>(
        reinterpret_cast<const float4*>(from.data()), reinterpret_cast<float4*>(to.data()));
    check(cudaGetLastError(), "copy_kernel");
  };
  CopyRate rate;
  rate.timing = time_launches(stream, Method::graph, 1, samples, device.l2_bytes, launch);
  rate.bytes = 2 * static_cast<int64_t>(from.bytes());
  return rate;
}

inline Timing measure_empty_kernel(cudaStream_t stream, int samples) {
  const auto launch = [](cudaStream_t s, int /*index*/) {
    empty_kernel<void><<<1, 32, 0, s>>>();
    check(cudaGetLastError(), "empty_kernel");
  };
  return time_launches(stream, Method::graph, 1, samples, 0, launch);
}

}  // namespace gdr::bench
