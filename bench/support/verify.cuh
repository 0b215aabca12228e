// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A row is timed only after its output was found right: whole sequences of one head, or of some of
/// its value channels where they are long, against the reference in double.

#include "bench/support/workload.cuh"

#include <gdr/reference.hpp>

#include <set>

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

/// What the library promises for a whole tensor.
inline double error_bound(DataType type, int64_t length, Algorithm algorithm) {
  if (type == DataType::float16) return 1e-3;
  if (type == DataType::bfloat16) return 4e-3;
  const double recurrent = 1e-6 * std::sqrt(std::max(1.0, static_cast<double>(length) / 1024.0));
  return algorithm == Algorithm::recurrent ? recurrent : std::max(recurrent, 1e-5);
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

/// Value channels, which do not depend on one another.
using Columns = std::vector<int>;

/// All value channels, or as many, spread over the head, as the reference does in a third of a
/// second.
template <class Layer>
Columns compared_columns(int64_t length) {
  constexpr int64_t steps = int64_t{1} << 27;  // of one state element each
  // A gate function is told the channel, and the reference counts those it is given.
  constexpr bool all = Layer::Gate::axis == GateAxis::value &&
                       !stdx::is_same<typename Layer::GateFunction, typename Layer::Space>::value;
  constexpr int value_dim = Layer::value_dim;
  const int64_t affordable = steps / std::max<int64_t>(length * Layer::key_dim, 1);
  const auto count =
      all ? value_dim : static_cast<int>(std::clamp<int64_t>(affordable, 1, value_dim));
  Columns columns;
  for (int i = 0; i < count; ++i) columns.push_back(i * value_dim / count);
  return columns;
}

/// Columns of rows of `channels` elements.
template <class T>
std::vector<T> select(const std::vector<T>& rows, size_t channels, const Columns& columns) {
  std::vector<T> selected;
  for (size_t row = 0; row < rows.size(); row += channels) {
    for (const int column : columns) selected.push_back(rows[row + static_cast<size_t>(column)]);
  }
  return selected;
}

/// What set 0's output must be over one sequence of the last head.
struct ExpectedOutput {
  int64_t sequence;
  int64_t first_row;
  int64_t length;
  Columns columns;
  std::vector<double> o;  // [length, columns]
};

template <class Layer>
std::vector<double> reference_output(const Workload<Layer>& work, int64_t first_row, int64_t length,
                                     int64_t head, const Columns& columns) {
  const Tensors<Layer>& tensors = work.set(0);
  const auto download = [&](const auto& tensor, int64_t channels) {
    return download_head(tensor, first_row, length, work.problem().heads, head, channels);
  };
  const auto q = download(tensors.q, Layer::key_dim);
  const auto k = download(tensors.k, Layer::key_dim);
  const auto v = select(download(tensors.v, Layer::value_dim), Layer::value_dim, columns);
  auto gate = download(tensors.gate, Layer::gate_channels);
  if (Layer::Gate::axis == GateAxis::value) gate = select(gate, Layer::value_dim, columns);
  const auto beta = download(tensors.beta, 1);
  std::vector<typename Layer::Element> o(v.size());

  ForwardArgs<Layer> args;
  args.shape.batch = 1;
  args.shape.seq_len = length;
  args.shape.heads = 1;
  args.shape.value_dim = static_cast<int>(columns.size());
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.gate = gate.data();
  if (Layer::Rule::uses_beta) args.beta = beta.data();
  args.o = o.data();
  args.gate_function = work.parameters().on_host(head);
  return reference::forward<Layer>(args).o;
}

/// The last head of the last sequence, and under cu_seqlens that of the first, the middle and the
/// longest one too.
template <class Layer>
std::vector<ExpectedOutput> expected_outputs(const Workload<Layer>& work) {
  const Problem& problem = work.problem();
  const std::vector<int64_t> offsets = problem.offsets();
  const auto sequences = static_cast<int64_t>(offsets.size()) - 1;
  std::set<int64_t> chosen = {sequences - 1};
  if (problem.has_offsets()) chosen.insert({0, sequences / 2});
  if (!problem.lengths.empty()) {
    const auto longest = std::max_element(problem.lengths.begin(), problem.lengths.end());
    chosen.insert(longest - problem.lengths.begin());
  }

  std::vector<ExpectedOutput> expected;
  for (const int64_t n : chosen) {
    const int64_t first = offsets[static_cast<size_t>(n)];
    const int64_t length = offsets[static_cast<size_t>(n) + 1] - first;
    const Columns columns = compared_columns<Layer>(length);
    expected.push_back({n, first, length, columns,
                        reference_output(work, first, length, problem.heads - 1, columns)});
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
    const auto rows =
        download_head(o, part.first_row, part.length, heads, heads - 1, Layer::value_dim);
    const double error = relative_error(select(rows, Layer::value_dim, part.columns), part.o);
    const double bound = error_bound(Layer::element_type, part.length, work.problem().algorithm);
    if (!(error <= bound)) {  // written so that a NaN fails
      throw std::runtime_error("wrong output: relative error " + std::to_string(error) +
                               " in sequence " + std::to_string(part.sequence));
    }
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace gdr::bench
