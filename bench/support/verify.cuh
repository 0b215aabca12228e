// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A row is timed only after its output was found right: whole sequences of one head against the
/// reference in double.

#include "bench/support/workload.cuh"

#include <gdr/reference.hpp>

namespace gdr::bench {

/// |x - reference| / |reference| in 2-norms. A NaN in either makes it NaN.
template <class T>
double relative_error(const std::vector<T>& x, const std::vector<double>& reference) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double d = static_cast<double>(static_cast<float>(x[i])) - reference[i];
    difference += d * d;
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference / norm);
}

/// What the library promises for a whole tensor, step by step.
inline double error_bound(DataType type, int64_t length) {
  if (type == DataType::float16) return 1e-3;
  if (type == DataType::bfloat16) return 4e-3;
  return 1e-6 * std::sqrt(std::max(1.0, static_cast<double>(length) / 1024.0));
}

/// Rows of one head, [length, channels], from a tensor [B * T, heads, channels].
template <class T>
std::vector<T> download_head(const DeviceArray<T>& tensor, int64_t first_row, int64_t length,
                             int64_t heads, int64_t head, int64_t channels) {
  std::vector<T> rows(static_cast<size_t>(length * channels));
  if (tensor.count() == 0 || rows.empty()) return rows;
  const size_t row_bytes = static_cast<size_t>(channels) * sizeof(T);
  check(cudaMemcpy2D(rows.data(), row_bytes, tensor.data() + (first_row * heads + head) * channels,
                     static_cast<size_t>(heads) * row_bytes, row_bytes, static_cast<size_t>(length),
                     cudaMemcpyDeviceToHost),
        "cudaMemcpy2D");
  return rows;
}

/// What set 0's output must be over one sequence of the last head.
struct ExpectedOutput {
  int64_t sequence;
  int64_t first_row;
  int64_t length;
  std::vector<double> o;  // [length, V]
};

template <class Layer>
std::vector<double> reference_output(const Workload<Layer>& work, int64_t first_row, int64_t length,
                                     int64_t head) {
  const Tensors<Layer>& tensors = work.set(0);
  const auto download = [&](const auto& tensor, int64_t channels) {
    return download_head(tensor, first_row, length, work.problem().heads, head, channels);
  };
  const auto q = download(tensors.q, Layer::key_dim);
  const auto k = download(tensors.k, Layer::key_dim);
  const auto v = download(tensors.v, Layer::value_dim);
  const auto gate = download(tensors.gate, Layer::gate_channels);
  const auto beta = download(tensors.beta, 1);
  std::vector<typename Layer::Element> o(static_cast<size_t>(length * Layer::value_dim));

  ForwardArgs<Layer> args;
  args.shape.batch = 1;
  args.shape.seq_len = length;
  args.shape.heads = 1;
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.gate = gate.data();
  if (Layer::Rule::uses_beta) args.beta = beta.data();
  args.o = o.data();
  args.gate_function = work.parameters().on_host(head);
  return reference::forward<Layer>(args).o;
}

/// The last head of the last sequence, and under cu_seqlens that of the first and the middle one
/// too.
template <class Layer>
std::vector<ExpectedOutput> expected_outputs(const Workload<Layer>& work) {
  const Problem& problem = work.problem();
  const int64_t sequences = problem.sequences > 0 ? problem.sequences : problem.batch;
  const int64_t length = problem.batch * problem.seq_len / sequences;
  std::vector<int64_t> chosen = {sequences - 1};
  if (problem.sequences > 0) chosen = {0, sequences / 2, sequences - 1};

  std::vector<ExpectedOutput> expected;
  for (const int64_t n : chosen) {
    expected.push_back(
        {n, n * length, length, reference_output(work, n * length, length, problem.heads - 1)});
  }
  return expected;
}

/// Runs launch(stream, 0) on poisoned outputs and compares. Throws where the error is too large,
/// else returns the largest.
template <class Layer, class Launch>
double verify(const Session& session, const Workload<Layer>& work,
              const std::vector<ExpectedOutput>& expected, const Launch& launch) {
  const auto& o = work.set(0).o;
  cudaStream_t stream = session.stream.get();
  check(cudaMemsetAsync(o.data(), 0xff, o.bytes(), stream), "cudaMemsetAsync");  // NaN
  launch(stream, 0);
  check(cudaStreamSynchronize(stream), "the verified launch");

  const int64_t heads = work.problem().heads;
  double worst = 0;
  for (const ExpectedOutput& part : expected) {
    const auto found =
        download_head(o, part.first_row, part.length, heads, heads - 1, Layer::value_dim);
    const double error = relative_error(found, part.o);
    // Written so that a NaN fails.
    if (!(error <= error_bound(Layer::element_type, part.length))) {
      throw std::runtime_error("wrong output: relative error " + std::to_string(error) +
                               " in sequence " + std::to_string(part.sequence));
    }
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace gdr::bench
