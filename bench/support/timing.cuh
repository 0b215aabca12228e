// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Time of one launch on the device: in a CUDA graph, launched one by one, or once on a cold L2.

#include "bench/support/cuda.cuh"

#include <algorithm>

namespace gdr::bench {

/// Time per launch, in microseconds, over many samples.
struct Timing {
  double median_us = 0;
  double p10_us = 0;
  double p90_us = 0;
  int samples = 0;
  int launches = 0;  // of one sample
};

enum class Method {
  graph,   // a graph of many launches, replayed back to back
  stream,  // as many launches, each by its own call
  cold,    // one launch by its own call after the L2 has been overwritten
};

inline const char* name_of(Method method) {
  return method == Method::graph ? "graph" : method == Method::stream ? "stream" : "cold";
}

inline Timing summarise(std::vector<double> samples_us, int launches) {
  std::sort(samples_us.begin(), samples_us.end());
  const auto quantile = [&](double p) {
    return samples_us[static_cast<size_t>(p * static_cast<double>(samples_us.size() - 1) + 0.5)];
  };
  Timing timing;
  timing.median_us = quantile(0.5);
  timing.p10_us = quantile(0.1);
  timing.p90_us = quantile(0.9);
  timing.samples = static_cast<int>(samples_us.size());
  timing.launches = launches;
  return timing;
}

/// A graph of `launches` calls of launch(stream, index), one after another.
template <class Launch>
ExecutableGraph capture(cudaStream_t stream, const Launch& launch, int launches) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t captured = nullptr;
  try {
    for (int i = 0; i < launches; ++i) launch(stream, i);
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream, &captured));
    static_cast<void>(cudaGetLastError());
    const Graph discard(captured);
    throw;
  }
  check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  const Graph graph(captured);

  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
  return ExecutableGraph(executable);
}

/// Times `samples` calls of work(), each between two events. All are queued before the first is
/// waited for, so that the host's time is not in the samples as long as it keeps ahead.
/// `prepare` runs before each sample, outside its events.
template <class Prepare, class Work>
std::vector<double> time_samples(cudaStream_t stream, int samples, const Prepare& prepare,
                                 const Work& work) {
  std::vector<std::pair<Event, Event>> events;
  for (int i = 0; i < samples; ++i) {
    events.emplace_back(make_event(), make_event());
    prepare();
    check(cudaEventRecord(events.back().first.get(), stream), "cudaEventRecord");
    work();
    check(cudaEventRecord(events.back().second.get(), stream), "cudaEventRecord");
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

  std::vector<double> times_us;
  for (const auto& [start, stop] : events) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), "cudaEventElapsedTime");
    times_us.push_back(1e3 * static_cast<double>(milliseconds));
  }
  return times_us;
}

/// Overwrites more memory than the L2 holds.
class L2Flush {
 public:
  explicit L2Flush(int64_t l2_bytes) : buffer_(std::max(4 * l2_bytes, int64_t{256} << 20)) {}
  void operator()(cudaStream_t stream) const {
    check(cudaMemsetAsync(buffer_.data(), 0x5a, buffer_.bytes(), stream), "cudaMemsetAsync");
  }

 private:
  DeviceArray<unsigned char> buffer_;
};

/// Launches of one sample: about 2 ms of work, so that the events and the graph's own start cost
/// less than a percent, and every one of `copies` sets of tensors equally often.
inline int launches_per_sample(double launch_us, int copies) {
  const double wanted = std::min(2000.0 / std::max(launch_us, 0.1), 1000.0);
  const int rounds = std::max(1, static_cast<int>(wanted / copies + 0.5));
  return rounds * copies;
}

/// Time of launch(stream, index), where `index` counts launches and selects one of `copies` sets of
/// tensors. The first calls are not timed.
template <class Launch>
Timing time_launches(cudaStream_t stream, Method method, int copies, int samples, int64_t l2_bytes,
                     const Launch& launch) {
  const auto nothing = [] {};
  int index = 0;
  const auto one = [&] { launch(stream, index++); };
  const std::vector<double> first = time_samples(stream, 8, nothing, one);
  if (method == Method::cold) {
    const L2Flush flush(l2_bytes);
    return summarise(time_samples(
                         stream, samples, [&] { flush(stream); }, one),
                     1);
  }

  const int launches = launches_per_sample(*std::min_element(first.begin(), first.end()), copies);
  std::vector<double> times;
  if (method == Method::graph) {
    const ExecutableGraph graph = capture(stream, launch, launches);
    const auto replay = [&] { check(cudaGraphLaunch(graph.get(), stream), "cudaGraphLaunch"); };
    time_samples(stream, 5, nothing, replay);
    times = time_samples(stream, samples, nothing, replay);
  } else {
    const auto many = [&] {
      for (int i = 0; i < launches; ++i) launch(stream, i);
    };
    time_samples(stream, 5, nothing, many);
    times = time_samples(stream, samples, nothing, many);
  }
  for (double& time : times) time /= launches;
  return summarise(std::move(times), launches);
}

}  // namespace gdr::bench
