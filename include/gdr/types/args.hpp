// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The arguments of the forward pass: one plain struct, every optional field null by default.

#include <gdr/types/layer.hpp>
#include <gdr/types/view.hpp>

GDR_NAMESPACE_BEGIN

/// Sizes of a problem. Zero in `key_heads`, `key_dim` and `value_dim` means the default named
/// there.
struct Shape {
  int64_t batch = 0;    // B
  int64_t seq_len = 0;  // T; with cu_seqlens the tokens of all sequences together
  int64_t heads = 0;    // Hv, value heads
  int64_t key_heads =
      0;              // Hk, a divisor of Hv; default Hv. Value head h reads key head h / (Hv / Hk)
  int key_dim = 0;    // K; default and maximum: the layer type's
  int value_dim = 0;  // V; default and maximum: the layer type's
};

/// The form of the algorithm.
enum class Algorithm {
  automatic,
  recurrent,
  chunked,
  chunked_split,  // chunked, sequences cut into pieces
  by_length       // each sequence by its own length: short ones recurrent, the others chunked
};

/// Arguments of forward<Layer>. Pointers are device memory for the launchers, host memory for the
/// reference. Strides are in elements.
template <class Layer>
struct ForwardArgs {
  using Element = typename Layer::Element;
  using GateElement = typename Layer::GateElement;

  Shape shape{};
  float scale = 1.0f;  // multiplies o. Other libraries often default to K^-0.5

  TensorView<const Element> q{};  // [B, T, Hk, K]
  TensorView<const Element> k{};  // [B, T, Hk, K]
  TensorView<const Element> v{};  // [B, T, Hv, V]
  TensorView<const GateElement>
      gate{};               // [B, T, Hv, V], [B, T, Hv, K] or [B, T, Hv] by the gate's axis
  AnyTensorView beta{};     // [B, T, Hv], float32 or Element; the delta rule's alone
  TensorView<Element> o{};  // [B, T, Hv, V]; null: only the final state is made

  ConstStateView initial_state{};  // [N, Hv, K, V] or [N, Hv, V, K]; null: zero
  StateView final_state{};  // likewise; null: not stored; may be exactly initial_state's buffer

  SequenceOffsets cu_seqlens{};  // null: N = B sequences of T tokens; else B = 1

  typename Layer::GateFunction gate_function{};  // parameters of the gate function
  typename Layer::BetaFunction beta_function{};  // parameters of beta's function

  bool qk_l2norm = false;       // q, k <- x / sqrt(sum x^2 + qk_l2norm_eps), before scale
  float qk_l2norm_eps = 1e-6f;  // >= 0; a zero row stays zero

  bool batch_invariant = false;  // a sequence's bits do not depend on its batch mates
  Algorithm algorithm = Algorithm::automatic;
  bool split_state_operand =
      false;  // chunked forms: state operand in two parts, for inputs that cancel

  void* workspace = nullptr;  // device memory of at least workspace_size(args) bytes
  int64_t workspace_bytes = 0;

  // State pools, which are refused as yet: initial_state and final_state are then [slots, ...].
  const int32_t* state_in = nullptr;   // [N] slot of the initial state; -1: zero
  const int32_t* state_out = nullptr;  // [N] slot of the final state; -1: not stored
  const uint8_t* has_state = nullptr;  // [N] 0: zero start, whatever the slot holds
};

/// The arguments with every default made explicit: key_heads, key_dim, value_dim and all strides.
/// The checks and the kernels read only resolved arguments.
template <class Layer>
GDR_HIDDEN ForwardArgs<Layer> resolve(ForwardArgs<Layer> args) {
  Shape& shape = args.shape;
  if (shape.key_heads == 0) shape.key_heads = shape.heads;
  if (shape.key_dim == 0) shape.key_dim = Layer::key_dim;
  if (shape.value_dim == 0) shape.value_dim = Layer::value_dim;

  const auto fill = [&shape](auto& view, int64_t heads, int64_t channels) {
    if (!view.contiguous) return;
    view.strides.element = 1;
    view.strides.head = channels;
    view.strides.time = heads * channels;
    view.strides.batch = shape.seq_len * heads * channels;
  };
  const int gate_channels = Layer::Gate::axis == GateAxis::value ? shape.value_dim
                            : Layer::Gate::axis == GateAxis::key ? shape.key_dim
                                                                 : 1;
  fill(args.q, shape.key_heads, shape.key_dim);
  fill(args.k, shape.key_heads, shape.key_dim);
  fill(args.v, shape.heads, shape.value_dim);
  fill(args.gate, shape.heads, gate_channels);
  fill(args.beta, shape.heads, 1);
  fill(args.o, shape.heads, shape.value_dim);

  const auto fill_state = [&shape](auto& state) {
    if (!state.contiguous) return;
    state.row_stride = state.layout == StateLayout::kv ? shape.value_dim : shape.key_dim;
    state.head_stride = int64_t{shape.key_dim} * shape.value_dim;
    state.sequence_stride = shape.heads * state.head_stride;
  };
  fill_state(args.initial_state);
  fill_state(args.final_state);
  return args;
}

/// Sequences of the problem, N.
template <class Layer>
GDR_HOST_DEVICE int64_t sequence_count(const ForwardArgs<Layer>& args) {
  return args.cu_seqlens.data == nullptr ? args.shape.batch : args.cu_seqlens.sequences;
}

GDR_NAMESPACE_END
