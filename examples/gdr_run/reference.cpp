// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "reference.hpp"

#include "progress_bar.hpp"

#include <gdr/dispatch/layer_list.hpp>
#include <gdr/reference.hpp>

#include <stdexcept>

namespace gdr_run {
namespace {

/// Extents at their largest, which hold every smaller one; float holds every value of the 16-bit
/// types.
template <class Gate, class Rule>
using Layer = gdr::Recurrence<gdr::HeadDim<gdr::max_head_dim>, float, Gate, Rule>;

template <class Rule>
using LayersOfRule =
    gdr::LayerList<Layer<gdr::ValueGate<gdr::Linear>, Rule>, Layer<gdr::ValueGate<gdr::Log>, Rule>,
                   Layer<gdr::KeyGate<gdr::Linear>, Rule>, Layer<gdr::KeyGate<gdr::Log>, Rule>,
                   Layer<gdr::HeadGate<gdr::Linear>, Rule>, Layer<gdr::HeadGate<gdr::Log>, Rule>,
                   Layer<gdr::NoGate, Rule>>;

using AllLayers = decltype(LayersOfRule<gdr::OuterProduct>{} + LayersOfRule<gdr::DeltaRule<>>{});

template <class Layer>
gdr::reference::Output compute(const Problem& problem) {
  gdr::ForwardArgs<Layer> args;
  set_options(problem, args);
  args.q = problem.q.data();
  args.k = problem.k.data();
  args.v = problem.v.data();
  args.gate = problem.gate.data();
  args.beta = problem.beta.data();
  if (!problem.initial_state.empty()) {
    args.initial_state = {problem.initial_state.data(), problem.state_layout};
  }
  if (!problem.cu_seqlens.empty()) {
    args.cu_seqlens = {problem.cu_seqlens.data(), problem.sequences};
  }
  const int64_t tokens = problem.cu_seqlens.empty() ? problem.shape.batch * problem.shape.seq_len
                                                    : problem.cu_seqlens.back();
  ProgressBar bar(stderr, "reference", tokens * problem.shape.heads);
  return gdr::reference::forward(
      args, [&bar](int64_t, int64_t, int64_t, const double*) { bar.advance(); });
}

/// Matrices [rows, columns] to [columns, rows].
std::vector<double> transposed(const std::vector<double>& matrices, size_t rows, size_t columns) {
  std::vector<double> result(matrices.size());
  for (size_t first = 0; first < matrices.size(); first += rows * columns) {
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        result[first + j * rows + i] = matrices[first + i * columns + j];
      }
    }
  }
  return result;
}

}  // namespace

Expected compute_reference(const Problem& problem) {
  gdr::LayerKey key = problem.key;
  key.type = key.gate_type = gdr::DataType::float32;
  gdr::reference::Output output;
  const gdr::Status status = gdr::with_layer<AllLayers>(key, [&](auto layer) {
    output = compute<decltype(layer)>(problem);
    return gdr::Status{};
  });
  if (!status.ok()) throw std::runtime_error(std::string(status.argument) + ": " + status.message);
  if (problem.state_layout == gdr::StateLayout::vk) {
    output.final_state = transposed(output.final_state, static_cast<size_t>(key.key_dim),
                                    static_cast<size_t>(key.value_dim));
  }
  return {std::move(output.o), std::move(output.final_state)};
}

}  // namespace gdr_run
