// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A problem of the bench: its sizes, its tensors on the device, and what it must cost.

#include "bench/support/row.hpp"

#include <gdr/types.hpp>

#include <cmath>

namespace gdr::bench {

/// What the gates hold; ranges of the factor's natural logarithm.
enum class Gates {
  slow,    // about -0.001; in linear space about -0.004, since bfloat16 rounds exp(-0.001) to 1
  fast,    // about -0.7
  mixed,   // from -1 to 0
  resets,  // slow, and one row in 64 is reset: factor 0, logarithm -inf
  channel_resets,  // slow, and one channel in eight is reset at one token in 64, each at its own
  signs,           // factors from -1 to 1, for linear space
  logits,          // arguments of a gate function, 2 to 6
  none,            // the layer has no gate
};

inline const char* name_of(Gates gates) {
  switch (gates) {
    case Gates::slow:
      return "slow";
    case Gates::fast:
      return "fast";
    case Gates::mixed:
      return "mixed";
    case Gates::resets:
      return "resets";
    case Gates::channel_resets:
      return "channel-resets";
    case Gates::signs:
      return "signed";
    case Gates::logits:
      return "logits";
    case Gates::none:
      return "none";
  }
  return "";
}

inline const char* name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::automatic:
      return "automatic";
    case Algorithm::recurrent:
      return "recurrent";
    case Algorithm::chunked:
      return "chunked";
    case Algorithm::chunked_split:
      return "chunked_split";
    case Algorithm::by_length:
      return "by_length";
  }
  return "";
}

struct Problem {
  int64_t batch = 0;
  int64_t seq_len = 0;
  int64_t heads = 0;
  Gates gates = Gates::slow;
  Method method = Method::graph;
  Algorithm algorithm = Algorithm::recurrent;
  bool resident = false;  // every launch uses the same tensors, which then stay in the L2
  int64_t sequences = 0;  // > 0: cu_seqlens cuts the one batch row into so many equal sequences
  std::vector<int64_t> lengths;  // not empty: into these instead, which add up to seq_len

  bool has_offsets() const { return sequences > 0 || !lengths.empty(); }

  /// First tokens of the sequences, counted over all batch rows, and their sum.
  std::vector<int64_t> offsets() const {
    std::vector<int64_t> each = lengths;
    if (each.empty()) {
      const int64_t count = sequences > 0 ? sequences : batch;
      each.assign(static_cast<size_t>(count), batch * seq_len / count);
    }
    std::vector<int64_t> offsets = {0};
    for (const int64_t length : each) offsets.push_back(offsets.back() + length);
    return offsets;
  }
};

/// The parameters of a gate function, for the device and, for one head alone, for the host.
/// Functions with parameters specialise it.
template <class Function>
struct GateParameters {
  GateParameters(int64_t /*heads*/, int /*channels*/) {}
  Function on_device() const { return {}; }
  Function on_host(int64_t /*head*/) const { return {}; }
};

struct GateValue {
  UniformValue value;
  Gates gates;
  bool exponential = false;  // the value is a logarithm, and its factor is stored
  int64_t channels = 1;

  GateValue(uint64_t seed, Gates kind, bool linear, int64_t row_channels)
      : value{seed, -0.00125f, -0.00075f},
        gates(kind),
        exponential(linear && kind != Gates::logits && kind != Gates::signs),
        channels(row_channels) {
    if (linear) value = {seed, -0.006f, -0.002f};
    if (gates == Gates::fast) value = {seed, -0.875f, -0.525f};
    if (gates == Gates::mixed) value = {seed, -1.0f, 0.0f};
    if (gates == Gates::logits) value = {seed, 2.0f, 6.0f};
    if (gates == Gates::signs) value = {seed, -1.0f, 1.0f};
  }
  __device__ float operator()(int64_t i) const {
    if (is_reset(i)) return exponential ? 0.0f : -INFINITY;
    return exponential ? expf(value(i)) : value(i);
  }

 private:
  __device__ bool is_reset(int64_t i) const {
    int64_t place = i;  // that is reset together
    if (gates == Gates::resets) {
      place = i / channels;
    } else if (gates != Gates::channel_resets || i % channels % 8 != 0) {
      return false;
    }
    return random_bits(~value.seed, static_cast<uint64_t>(place)) % 64 == 0;
  }
};

/// One set of tensors, filled with random values.
template <class Layer>
struct Tensors {
  DeviceArray<typename Layer::Element> q;         // [B, T, H, K]
  DeviceArray<typename Layer::Element> k;         // [B, T, H, K]
  DeviceArray<typename Layer::Element> v;         // [B, T, H, V]
  DeviceArray<typename Layer::GateElement> gate;  // [B, T, H, channels of the gate]
  DeviceArray<float> beta;                        // [B, T, H]
  DeviceArray<typename Layer::Element> o;         // [B, T, H, V]

  Tensors(cudaStream_t stream, const Problem& problem, uint64_t seed) {
    const int64_t rows = problem.batch * problem.seq_len * problem.heads;
    q = DeviceArray<typename Layer::Element>(rows * Layer::key_dim);
    k = DeviceArray<typename Layer::Element>(rows * Layer::key_dim);
    v = DeviceArray<typename Layer::Element>(rows * Layer::value_dim);
    o = DeviceArray<typename Layer::Element>(rows * Layer::value_dim);
    gate = DeviceArray<typename Layer::GateElement>(rows * Layer::gate_channels);
    beta = DeviceArray<float>(Layer::Rule::uses_beta ? rows : 0);

    // Keys of length about 1, as the delta rule needs to be stable.
    const float k_range = std::sqrt(3.0f / static_cast<float>(Layer::key_dim));
    fill(stream, q, UniformValue{seed, -1.0f, 1.0f});
    fill(stream, k, UniformValue{seed + 1, -k_range, k_range});
    fill(stream, v, UniformValue{seed + 2, -1.0f, 1.0f});
    constexpr bool linear = stdx::is_same<typename Layer::Space, Linear>::value;
    fill(stream, gate,
         GateValue(seed + 3, problem.gates, linear, std::max(Layer::gate_channels, 1)));
    fill(stream, beta, UniformValue{seed + 4, 0.0f, 1.0f});
  }

  int64_t bytes() const {
    return static_cast<int64_t>(q.bytes() + k.bytes() + v.bytes() + gate.bytes() + beta.bytes() +
                                o.bytes());
  }
};

/// The tensors of a problem, as many sets as keep one launch from finding its inputs in the L2.
template <class Layer>
class Workload {
 public:
  Workload(const Session& session, const Problem& problem)
      : problem_(problem), parameters_(problem.heads, Layer::gate_channels) {
    add_set(session.stream.get());
    const int64_t others =
        problem.resident ? 0 : 1 + (2 * session.device.l2_bytes - 1) / sets_[0].bytes();
    for (int64_t i = 0; i < others; ++i) add_set(session.stream.get());

    if (problem.has_offsets()) {
      const std::vector<int64_t> offsets = problem.offsets();
      cu_seqlens_ = DeviceArray<int32_t>(std::vector<int32_t>(offsets.begin(), offsets.end()));
    }
    check(cudaStreamSynchronize(session.stream.get()), "filling the tensors");
  }

  const Problem& problem() const { return problem_; }
  int copies() const { return static_cast<int>(sets_.size()); }
  const Tensors<Layer>& set(int index) const { return sets_[static_cast<size_t>(index)]; }
  const GateParameters<typename Layer::GateFunction>& parameters() const { return parameters_; }
  int64_t bytes() const { return sets_[0].bytes(); }

  /// Decay, write and read of every state element; the delta rule reads the state once more.
  int64_t flops() const {
    const int64_t rows = problem_.batch * problem_.seq_len * problem_.heads;
    const int64_t elements = int64_t{Layer::key_dim} * Layer::value_dim;
    int64_t row_flops = 4 * elements;
    if (Layer::Gate::axis != GateAxis::none) row_flops += elements;
    if (Layer::Rule::uses_beta) row_flops += 2 * elements + 2 * Layer::value_dim;
    return rows * row_flops;
  }

  ForwardArgs<Layer> args(int index) const {
    const Tensors<Layer>& tensors = set(index);
    ForwardArgs<Layer> args;
    args.shape.batch = problem_.batch;
    args.shape.seq_len = problem_.seq_len;
    args.shape.heads = problem_.heads;
    args.q = tensors.q.data();
    args.k = tensors.k.data();
    args.v = tensors.v.data();
    args.gate = tensors.gate.data();
    if (Layer::Rule::uses_beta) args.beta = tensors.beta.data();
    args.o = tensors.o.data();
    args.gate_function = parameters_.on_device();
    if (problem_.has_offsets()) args.cu_seqlens = {cu_seqlens_.data(), cu_seqlens_.count() - 1};
    args.algorithm = problem_.algorithm;
    return args;
  }

 private:
  void add_set(cudaStream_t stream) {
    sets_.emplace_back(stream, problem_, uint64_t{16} * (sets_.size() + 1));
  }

  Problem problem_;
  GateParameters<typename Layer::GateFunction> parameters_;
  std::vector<Tensors<Layer>> sets_;
  DeviceArray<int32_t> cu_seqlens_;
};

}  // namespace gdr::bench
