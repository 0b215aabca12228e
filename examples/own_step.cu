// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
// A kernel of one's own that takes only the step: one thread per value column, with the column's K
// rows in registers, here for Gated DeltaNet. The sum over rows stays within the thread.
#include <gdr/gated_delta.cuh>
#include <gdr/reference.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

constexpr int B = 2, T = 200, H = 3, K = 32, V = 64;
using Layer =
    gdr::Recurrence<gdr::HeadDims<K, V>, float, gdr::HeadGate<gdr::Log>, gdr::DeltaRule<>>;

__global__ void __launch_bounds__(V)
    own_kernel(const __grid_constant__ gdr::ForwardArgs<Layer> args) {
  const int column = static_cast<int>(threadIdx.x);
  float S[1][K] = {};
  for (int t = 0; t < T; ++t) {
    const int row =
        (static_cast<int>(blockIdx.x) / H * T + t) * H + static_cast<int>(blockIdx.x) % H;
    float k[K], q[K];
#pragma unroll
    for (int i = 0; i < K; ++i) {
      k[i] = args.k.data[row * K + i];
      q[i] = args.q.data[row * K + i];
    }
    const float v[1] = {args.v.data[row * V + column]};
    const float beta = static_cast<const float*>(args.beta.data)[row];
    gdr::LayerDecays<Layer, K, 1> a;
    a.factor[0] = gdr::make_decay<Layer>(args.gate.data[row]);
    float o[1] = {0};
    gdr::step<Layer::Rule>(
        S, a, k, q, v, beta, /*sum=*/[](float(&)[1]) {}, o);
    args.o.data[row * V + column] = args.scale * o[0];
  }
}

static void require(cudaError_t error, const char* what, int exit_code = 1) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(exit_code);
}

// Memory that the kernel and the reference share, filled with numbers of low .. high.
static float* random_floats(size_t count, float low, float high) {
  static std::mt19937 random(1);
  float* data = nullptr;
  require(cudaMallocManaged(&data, count * sizeof(float)), "cudaMallocManaged");
  for (size_t n = 0; n < count; ++n)
    data[n] = std::uniform_real_distribution<float>(low, high)(random);
  return data;
}

int main() {
  int devices = 0;
  require(cudaGetDeviceCount(&devices), "Skipped\nno usable GPU", 77);

  gdr::ForwardArgs<Layer> args;
  args.shape.batch = B, args.shape.seq_len = T, args.shape.heads = H;
  args.scale = 1 / std::sqrt(static_cast<float>(K));
  args.q = random_floats(B * T * H * K, -1, 1);
  args.k = random_floats(B * T * H * K, -0.3f, 0.3f);  // about of length 1
  args.v = random_floats(B * T * H * V, -1, 1);
  args.gate = random_floats(B * T * H, -0.1f, 0);
  args.beta = random_floats(B * T * H, 0, 1);
  args.o = random_floats(B * T * H * V, 0, 0);

  own_kernel<<<B * H, V>>>(args);
  require(cudaGetLastError(), "launch");
  require(cudaDeviceSynchronize(), "kernel");

  const gdr::reference::Output expected = gdr::reference::forward(args);
  double difference = 0, size = 0;
  for (size_t n = 0; n < expected.o.size(); ++n) {
    difference += std::pow(static_cast<double>(args.o.data[n]) - expected.o[n], 2);
    size += expected.o[n] * expected.o[n];
  }
  const double error = std::sqrt(difference / size);
  std::printf("relative error of o: %.1e\n", error);
  return error <= 1e-6 ? 0 : 1;
}
