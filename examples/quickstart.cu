// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
// The default case. With q = k = v = 1 and every gate 1/2 the state tends to 2, and o to 24 * 2.
#include <gdr/gated_delta.cuh>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void require(cudaError_t error, const char* what, int exit_code = 1) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(exit_code);
}

int main() {
  using Layer = gdr::Recurrence<gdr::HeadDim<24>, float>;
  gdr::ForwardArgs<Layer> args;
  args.shape.batch = 2, args.shape.seq_len = 128, args.shape.heads = 4;
  const size_t count = 2 * 128 * 4 * 24, bytes = count * sizeof(float);  // [B, T, H, D]
  std::vector<float> ones(count, 1.0f), halves(count, 0.5f), o(count);

  int devices = 0;
  require(cudaGetDeviceCount(&devices), "Skipped\nno usable GPU", 77);
  float* data = nullptr;  // ones, halves, o
  require(cudaMalloc(&data, 3 * bytes), "cudaMalloc");
  require(cudaMemcpy(data, ones.data(), bytes, cudaMemcpyHostToDevice), "ones");
  require(cudaMemcpy(data + count, halves.data(), bytes, cudaMemcpyHostToDevice), "halves");

  args.q = args.k = args.v = data;
  args.gate = data + count, args.o = data + 2 * count;
  const gdr::Status status = gdr::forward<Layer>(args, /*stream=*/nullptr);
  if (!status.ok()) return std::fprintf(stderr, "%s: %s\n", status.argument, status.message), 1;
  require(cudaMemcpy(o.data(), args.o.data, bytes, cudaMemcpyDeviceToHost), "o");
  require(cudaFree(data), "cudaFree");

  std::printf("o of the first token: %g, of the last: %g\n", o.front(), o.back());
  return o.front() == 24.0f && o.back() == 48.0f ? 0 : 1;
}
