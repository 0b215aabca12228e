// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The demo's problems on the GPU: outputs, times, and the baseline's times.

#include "bench/baseline.cuh"
#include "bench/support/copy_rate.cuh"
#include "demo_problem.hpp"

#include <gdr/gated_delta.cuh>

namespace demo {
namespace {

using gdr::bench::DeviceArray;

constexpr int samples = 30;

template <int D>
Result run(const Problem& problem, cudaStream_t stream) {
  const DeviceArray<float> q(problem.q);
  const DeviceArray<float> k(problem.k);
  const DeviceArray<float> v(problem.v);
  const DeviceArray<float> gate(problem.gate);
  const DeviceArray<float> o(problem.count());
  auto args = problem.args<D>(q.data(), k.data(), v.data(), gate.data(), o.data());
  const DeviceArray<unsigned char> workspace(gdr::workspace_size<Layer<D>>(args));
  args.workspace = workspace.data();
  args.workspace_bytes = workspace.count();

  const auto time_us = [stream](const auto& launch) {
    using gdr::bench::Method;
    return gdr::bench::time_launches(stream, Method::graph, 1, samples, 0, launch).median_us;
  };
  const auto launch_baseline = [&args](cudaStream_t s, int /*index*/) {
    using gdr::bench::StateIn;
    gdr::bench::check(gdr::bench::baseline_forward<Layer<D>, StateIn::registers>(args, s),
                      "the baseline");
  };
  const auto launch = [&args](cudaStream_t s, int /*index*/) {
    gdr::bench::check(gdr::forward<Layer<D>>(args, s), "gdr::forward");
  };

  Result result;
  result.baseline_us = time_us(launch_baseline);
  // NaN, so that what the baseline left cannot pass for the library's output.
  gdr::bench::check(cudaMemsetAsync(o.data(), 0xff, o.bytes(), stream), "cudaMemsetAsync");
  result.time_us = time_us(launch);
  result.o = o.download();
  return result;
}

}  // namespace

GpuReport run_on_gpu(const std::vector<Problem>& problems) {
  const gdr::bench::Stream stream = gdr::bench::make_stream();
  GpuReport report;
  report.copy_bytes_per_second =
      gdr::bench::measure_copy_rate(stream.get(), gdr::bench::find_device(), samples)
          .bytes_per_second();
  for (const Problem& problem : problems) {
    report.results.push_back(problem.dim == small_dim ? run<small_dim>(problem, stream.get())
                                                      : run<text_dim>(problem, stream.get()));
  }
  return report;
}

}  // namespace demo
