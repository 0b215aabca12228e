// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// ForwardArgs without its types. What reads it is compiled once and not once per layer.

#include <gdr/dispatch/tensor_info.hpp>
#include <gdr/types/args.hpp>

GDR_NAMESPACE_BEGIN
namespace detail {

struct ForwardProblem {
  Shape shape{};  // defaults filled in
  int max_key_dim = 0;
  int max_value_dim = 0;
  DataType element_type = DataType::float32;
  bool has_offsets = false;
  int64_t offset_sequences = 0;  // N of cu_seqlens
  float scale = 1;
  float qk_l2norm_eps = 0;
  Algorithm algorithm = Algorithm::automatic;
  bool delta_rule = false;
  bool split_state_operand = false;
  const void* state_in = nullptr;
  const void* state_out = nullptr;
  const void* has_state = nullptr;
  const void* workspace = nullptr;
  int64_t workspace_bytes = 0;
  int64_t required_workspace = 0;
  TensorInfo inputs[7];   // q, k, v, gate, beta, cu_seqlens, initial_state
  TensorInfo outputs[3];  // o, final_state, workspace
};

/// Scratch is read and written in 16-byte pieces.
inline constexpr int workspace_alignment = 16;

inline constexpr const char* data_is_due = "the pointer is null although the tensor has elements";

/// A tensor [B, T, heads, channels]; channels 0 stands for [B, T, heads].
GDR_HIDDEN inline TensorInfo describe(const char* name, const AnyTensorView& view,
                                      const ForwardProblem& problem, int64_t heads, int channels) {
  const Shape& shape = problem.shape;
  TensorInfo info;
  info.name = name;
  info.data = view.data;
  info.type = view.type;
  info.other_type = problem.element_type;
  info.element_size = info.alignment = size_of(view.type);
  info.contiguous = view.contiguous;
  const int64_t extents[4] = {shape.batch, shape.seq_len, heads, channels == 0 ? 1 : channels};
  const int64_t strides[4] = {view.strides.batch, view.strides.time, view.strides.head,
                              channels == 0 ? 1 : view.strides.element};
  for (int d = 0; d < 4; ++d) {
    info.extents[d] = extents[d];
    info.strides[d] = strides[d];
  }
  return info;
}

/// States [N, Hv, K, V] or [N, Hv, V, K].
GDR_HIDDEN inline TensorInfo describe(const char* name, const ConstStateView& view,
                                      const Shape& shape, int64_t sequences) {
  const bool kv = view.layout == StateLayout::kv;
  TensorInfo info;
  info.name = name;
  info.data = view.data;
  info.type = view.type;
  info.other_type = DataType::bfloat16;
  info.element_size = info.alignment = size_of(view.type);
  info.contiguous = view.contiguous;
  info.is_state = true;
  info.layout = view.layout;
  const int64_t extents[4] = {sequences, shape.heads, kv ? shape.key_dim : shape.value_dim,
                              kv ? shape.value_dim : shape.key_dim};
  const int64_t strides[4] = {view.sequence_stride, view.head_stride, view.row_stride, 1};
  for (int d = 0; d < 4; ++d) {
    info.extents[d] = extents[d];
    info.strides[d] = strides[d];
  }
  return info;
}

/// A plain array.
GDR_HIDDEN inline TensorInfo describe(const char* name, const void* data, int64_t count,
                                      int element_size, int alignment) {
  TensorInfo info;
  info.name = name;
  info.data = data;
  info.element_size = element_size;
  info.alignment = alignment;
  info.extents[3] = count;
  return info;
}

/// Resolved and unresolved arguments give the same problem. No arithmetic on sizes here: nothing
/// has been checked yet.
template <class Layer>
GDR_HIDDEN ForwardProblem erase_types(const ForwardArgs<Layer>& args, int64_t required_workspace) {
  constexpr GateAxis axis = Layer::Gate::axis;
  ForwardProblem p;
  p.shape = args.shape;
  if (p.shape.key_heads == 0) p.shape.key_heads = p.shape.heads;
  if (p.shape.key_dim == 0) p.shape.key_dim = Layer::key_dim;
  if (p.shape.value_dim == 0) p.shape.value_dim = Layer::value_dim;
  p.max_key_dim = Layer::key_dim;
  p.max_value_dim = Layer::value_dim;
  p.element_type = Layer::element_type;
  p.has_offsets = args.cu_seqlens.data != nullptr;
  p.offset_sequences = args.cu_seqlens.sequences;
  p.scale = args.scale;
  p.qk_l2norm_eps = args.qk_l2norm_eps;
  p.algorithm = args.algorithm;
  p.delta_rule = Layer::Rule::uses_beta;
  p.split_state_operand = args.split_state_operand;
  p.state_in = args.state_in;
  p.state_out = args.state_out;
  p.has_state = args.has_state;
  p.workspace = args.workspace;
  p.workspace_bytes = args.workspace_bytes;
  p.required_workspace = required_workspace;

  const Shape& shape = p.shape;
  const int64_t sequences = sequence_count(args);
  const int64_t offsets = p.has_offsets && sequences < INT64_MAX ? sequences + 1 : 0;
  const int gate_channels = axis == GateAxis::value ? shape.value_dim
                            : axis == GateAxis::key ? shape.key_dim
                                                    : 0;
  auto& [q, k, v, gate, beta, cu_seqlens, initial_state] = p.inputs;
  q = describe("q", args.q, p, shape.key_heads, shape.key_dim);
  k = describe("k", args.k, p, shape.key_heads, shape.key_dim);
  v = describe("v", args.v, p, shape.heads, shape.value_dim);
  gate = describe("gate", args.gate, p, shape.heads, gate_channels);
  beta = describe("beta", args.beta, p, shape.heads, 0);
  cu_seqlens = describe("cu_seqlens", args.cu_seqlens.data, offsets,
                        args.cu_seqlens.is_int64 ? 8 : 4, args.cu_seqlens.is_int64 ? 8 : 4);
  initial_state = describe("initial_state", args.initial_state, shape, sequences);
  auto& [o, final_state, workspace] = p.outputs;
  o = describe("o", args.o, p, shape.heads, shape.value_dim);
  final_state = describe("final_state", args.final_state, shape, sequences);
  workspace = describe("workspace", args.workspace, required_workspace, 1, workspace_alignment);

  q.if_null = k.if_null = v.if_null = data_is_due;
  if constexpr (axis == GateAxis::none) {
    gate.if_given = "the layer's gate axis is none and takes no gate tensor";
  } else {
    gate.if_null = data_is_due;
  }
  if constexpr (Layer::Rule::uses_beta) {
    beta.if_null = "the delta rule reads beta and the pointer is null";
  } else {
    beta.if_given = "beta belongs to the delta rule and the layer's rule is the outer product";
  }
  if (args.final_state.data == nullptr) o.if_null = "o and final_state are both null";
  return p;
}

}  // namespace detail
GDR_NAMESPACE_END
