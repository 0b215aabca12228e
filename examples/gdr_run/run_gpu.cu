// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "run_gpu.hpp"

#include "bench/support/copy_rate.cuh"
#include "gdr_run_layers.hpp"

#include <gdr/dispatcher.hpp>

namespace gdr_run {
namespace {

using gdr::bench::check;
using gdr::bench::DeviceArray;

/// For fill(): the elements of another array.
template <class T>
struct ElementsOf {
  const T* from;
  __device__ float operator()(int64_t i) const { return static_cast<float>(from[i]); }
};

/// Values that T holds exactly.
template <class T>
DeviceArray<T> upload(cudaStream_t stream, const std::vector<float>& values) {
  const DeviceArray<float> source(values);
  DeviceArray<T> target(source.count());
  // A copy from pageable memory may still be under way, and the stream does not wait for it.
  check(cudaDeviceSynchronize(), "the upload");
  gdr::bench::fill(stream, target, ElementsOf<float>{source.data()});
  check(cudaStreamSynchronize(stream), "the conversion of an input");
  return target;
}

template <class T>
std::vector<float> download(cudaStream_t stream, const DeviceArray<T>& values) {
  const DeviceArray<float> target(values.count());
  gdr::bench::fill(stream, target, ElementsOf<T>{values.data()});
  check(cudaStreamSynchronize(stream), "the conversion of an output");
  return target.download();
}

template <class T>
GpuResult run(const Problem& problem) {
  const gdr::bench::Stream owner = gdr::bench::make_stream();
  cudaStream_t stream = owner.get();
  const DeviceArray<T> q = upload<T>(stream, problem.q);
  const DeviceArray<T> k = upload<T>(stream, problem.k);
  const DeviceArray<T> v = upload<T>(stream, problem.v);
  const DeviceArray<T> gate = upload<T>(stream, problem.gate);
  const DeviceArray<T> beta = upload<T>(stream, problem.beta);
  const DeviceArray<T> o(problem.o_count());
  const DeviceArray<float> initial_state(problem.initial_state);
  const DeviceArray<float> final_state(problem.wants_final_state ? problem.state_count() : 0);
  const DeviceArray<int64_t> cu_seqlens(problem.cu_seqlens);
  // Tokens past the last sequence are not written.
  check(cudaMemsetAsync(o.data(), 0, o.bytes(), stream), "cudaMemsetAsync");
  check(cudaDeviceSynchronize(), "the upload");

  gdr::AnyForwardArgs args;
  set_options(problem, args);
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.gate = gate.data();
  args.beta = beta.data();
  args.o = o.data();
  args.initial_state = {initial_state.data(), problem.state_layout};
  args.final_state = {final_state.data(), problem.state_layout};
  if (!problem.cu_seqlens.empty()) args.cu_seqlens = {cu_seqlens.data(), problem.sequences};
  const DeviceArray<unsigned char> workspace(gdr::workspace_size<Layers>(problem.key, args));
  args.workspace = workspace.data();
  args.workspace_bytes = workspace.count();

  const auto launch = [&](cudaStream_t s, int /*index*/) {
    check(gdr::forward<Layers>(problem.key, args, s), "gdr::forward");
  };
  using gdr::bench::Method;
  GpuResult result;
  result.time_us =
      gdr::bench::time_launches(stream, Method::graph, 1, samples, 0, launch).median_us;
  result.o = download(stream, o);
  result.final_state = final_state.download();
  result.empty_us = gdr::bench::measure_empty_kernel(stream, samples).median_us;
  result.copy_bytes_per_second =
      gdr::bench::measure_copy_rate(stream, gdr::bench::find_device(), samples).bytes_per_second();
  return result;
}

}  // namespace

GpuResult run_on_gpu(const Problem& problem) {
  switch (problem.key.type) {
    case gdr::DataType::float16:
      return run<__half>(problem);
    case gdr::DataType::bfloat16:
      return run<__nv_bfloat16>(problem);
    default:
      return run<float>(problem);
  }
}

}  // namespace gdr_run
