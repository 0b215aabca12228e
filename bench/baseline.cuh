// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The baseline: the kernel one writes first. One block per batch and head, one thread per value
/// column, tokens in order, q and k of a token through shared memory between two barriers.
/// Value gate, outer product; the bench and the demo time it beside the library.

#include <gdr/types.hpp>

#include <cuda_runtime.h>

namespace gdr::bench {

/// Where a thread keeps its column of the state.
enum class StateIn { shared, registers };

template <StateIn state_in, int K, int V>
struct BaselineColumn;

template <int K, int V>
struct BaselineColumn<StateIn::registers, K, V> {
  static constexpr size_t shared_bytes = 0;
  float element[K];

  __device__ explicit BaselineColumn(float* /*shared*/) {}
  __device__ float& operator[](int i) { return element[i]; }
};

template <int K, int V>
struct BaselineColumn<StateIn::shared, K, V> {
  static constexpr size_t shared_bytes = sizeof(float) * K * V;
  float* column;

  __device__ explicit BaselineColumn(float* shared) : column(shared + threadIdx.x) {}
  __device__ float& operator[](int i) { return column[i * V]; }
};

/// q, k [B, T, H, K]; v, gate, o [B, T, H, V]; contiguous. Grid B * H, block V.
template <class Layer, StateIn state_in>
__global__ void __launch_bounds__(Layer::value_dim)
    baseline_kernel(const typename Layer::Element* q, const typename Layer::Element* k,
                    const typename Layer::Element* v, const typename Layer::GateElement* gate,
                    typename Layer::Element* o, int64_t seq_len, int64_t heads, float scale) {
  constexpr int K = Layer::key_dim;
  constexpr int V = Layer::value_dim;
  __shared__ float q_t[K];
  __shared__ float k_t[K];
  extern __shared__ float shared_state[];  // [K, V]

  const int j = static_cast<int>(threadIdx.x);
  const int64_t batch = blockIdx.x / heads;
  const int64_t head = blockIdx.x % heads;

  BaselineColumn<state_in, K, V> state(shared_state);
#pragma unroll
  for (int i = 0; i < K; ++i) state[i] = 0.0f;

  for (int64_t t = 0; t < seq_len; ++t) {
    const int64_t row = (batch * seq_len + t) * heads + head;
    for (int i = j; i < K; i += V) {
      q_t[i] = static_cast<float>(q[row * K + i]);
      k_t[i] = static_cast<float>(k[row * K + i]);
    }
    __syncthreads();

    float a = static_cast<float>(gate[row * V + j]);
    if constexpr (stdx::is_same<typename Layer::Space, Log>::value) a = expf(a);
    const float v_t = static_cast<float>(v[row * V + j]);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < K; ++i) {
      state[i] = fmaf(state[i], a, k_t[i] * v_t);
      sum = fmaf(state[i], q_t[i], sum);
    }
    o[row * V + j] = static_cast<typename Layer::Element>(scale * sum);
    __syncthreads();
  }
}

/// Launches the baseline on contiguous tensors without states; Hk = Hv, K and V as in the type.
template <class Layer, StateIn state_in>
cudaError_t baseline_forward(const ForwardArgs<Layer>& args, cudaStream_t stream) {
  static_assert(Layer::Gate::axis == GateAxis::value && !Layer::Rule::uses_beta,
                "the baseline knows the value gate and the outer product");
  static_assert(stdx::is_same<typename Layer::GateFunction, typename Layer::Space>::value,
                "the baseline takes the gate's tensor as it is");
  constexpr size_t shared_bytes =
      BaselineColumn<state_in, Layer::key_dim, Layer::value_dim>::shared_bytes;

  const auto kernel = baseline_kernel<Layer, state_in>;
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  if (error != cudaSuccess) return error;

  const auto blocks = static_cast<unsigned>(args.shape.batch * args.shape.heads);
  kernel<<<blocks, Layer::value_dim, shared_bytes, stream>>>(
      args.q.data, args.k.data, args.v.data, args.gate.data, args.o.data, args.shape.seq_len,
      args.shape.heads, args.scale);
  return cudaGetLastError();
}

}  // namespace gdr::bench
