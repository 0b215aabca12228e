// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "outcome.hpp"

#include <gdr/gated_delta.cuh>

#include <cstdio>

namespace {

using Layer = gdr::Recurrence<gdr::HeadDim<8>, float>;

/// Runs a layer on the device: q, k 1, v 2, gate 0.5. Every element of the state is then s, with
/// s <- 0.5 s + 2, and o is 8 s; all exact.
Outcome run_problem() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("Skipped\nthere is no CUDA device\n");
    return no_device;
  }
  constexpr int tokens = 4, size = tokens * Layer::key_dim;
  float host[5][size];  // q, k, v, gate, o: [T, D]
  const float values[] = {1, 1, 2, 0.5f, -1};
  for (int tensor = 0; tensor < 5; ++tensor) {
    for (float& x : host[tensor]) x = values[tensor];
  }
  float* device = nullptr;
  if (cudaMalloc(&device, sizeof(host)) != cudaSuccess) return wrong;
  cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice);

  gdr::ForwardArgs<Layer> args;
  args.shape.batch = 1;
  args.shape.seq_len = tokens;
  args.shape.heads = 1;
  args.q = device;
  args.k = device + size;
  args.v = device + 2 * size;
  args.gate = device + 3 * size;
  args.o = device + 4 * size;
  const gdr::Status status = gdr::forward<Layer>(args, nullptr);
  cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost);
  cudaFree(device);
  if (!status.ok()) {
    std::printf("%s: %s\n", status.argument, status.message);
    return refused;
  }
  float s = 0;
  for (int t = 0; t < tokens; ++t) {
    s = 0.5f * s + 2;
    for (int j = 0; j < Layer::value_dim; ++j) {
      if (host[4][t * Layer::value_dim + j] != 8 * s) return wrong;
    }
  }
  return right;
}

using Forward = gdr::Status (*)(const gdr::ForwardArgs<Layer>&, cudaStream_t);
const Forward forward_function = &gdr::forward<Layer>;

}  // namespace
