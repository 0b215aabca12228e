// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The forward pass in double precision on the host, for tests and for programs without a GPU.
/// Plain C++17: no CUDA toolkit is needed.
///
///     const auto expected = gdr::reference::forward(args);  // gdr::forward's, with host pointers
///
/// The recurrence is detail::step in gdr/reference/recurrence.hpp. Everything that changes a result
/// is implemented: rules, gates and their functions, scale, qk_l2norm, grouped heads, strides,
/// cu_seqlens, states and state pools, and elements of type double besides the launchers' types.
/// What only chooses how a result is made (algorithm, workspace, batch_invariant,
/// split_state_operand) is ignored. Arguments are not checked; gdr::forward refuses what is
/// illegal.

#include <gdr/reference/recurrence.hpp>
#include <gdr/types.hpp>

#include <algorithm>
#include <vector>

GDR_NAMESPACE_BEGIN

namespace reference {

/// Results before any rounding, whether args.o and args.final_state are given or not.
struct Output {
  std::vector<double> o;            // [B, T, Hv, V]; 0 where no sequence has a token
  std::vector<double> final_state;  // [N, Hv, K, V], by sequence and not by slot; 0 in padding rows
};

namespace detail {

/// Where sequence n lies in the tensors and in the states.
struct Sequence {
  int64_t batch;
  int64_t begin;  // first token
  int64_t end;
  int64_t slot_in;   // of the initial state; -1: zero
  int64_t slot_out;  // of the final state; -1: not stored
  bool padding;      // a row of a state pool that stands for no sequence: o = 0
};

template <class Layer>
Sequence find_sequence(const ForwardArgs<Layer>& args, int64_t n) {
  Sequence sequence{n, 0, args.shape.seq_len, n, n, false};
  if (args.cu_seqlens.data != nullptr) {
    sequence.batch = 0;
    sequence.begin = args.cu_seqlens[n];
    sequence.end = args.cu_seqlens[n + 1];
  }
  if (args.state_in != nullptr) sequence.slot_in = args.state_in[n];
  if (args.state_out != nullptr) sequence.slot_out = args.state_out[n];
  sequence.padding = sequence.slot_in == -1 && sequence.slot_out == -1;
  if (args.has_state != nullptr && args.has_state[n] == 0) sequence.slot_in = -1;
  if (args.initial_state.data == nullptr) sequence.slot_in = -1;
  if (args.final_state.data == nullptr) sequence.slot_out = -1;
  return sequence;
}

/// Offset of S[i][j] in a state tensor with strides.
template <class View>
int64_t state_offset(const View& view, int64_t slot, int64_t head, int i, int j) {
  const bool kv = view.layout == StateLayout::kv;
  return slot * view.sequence_stride + head * view.head_stride +
         (kv ? i * view.row_stride + j : j * view.row_stride + i);
}

inline State read_state(const ConstStateView& view, int64_t slot, int64_t head, int K, int V) {
  State S(K, V);
  if (slot == -1) return S;
  S.each([&](double& s, int i, int j) {
    s = load_element(view.data, view.type, state_offset(view, slot, head, i, j));
  });
  return S;
}

inline void write_state(const StateView& view, int64_t slot, int64_t head, int K, int V,
                        const double* state) {
  for (int i = 0; i < K; ++i)
    for (int j = 0; j < V; ++j)
      store_element(view.data, view.type, state_offset(view, slot, head, i, j),
                    state[int64_t{i} * V + j]);
}

}  // namespace detail

/// Runs the recurrence; reads host pointers and writes through none. After each token calls
/// observe(sequence, time, head, state) with the state [K, V] of that value head as a const
/// double*; `time` counts from the batch row's start.
template <class Layer, class Observe>
GDR_HIDDEN Output forward(const ForwardArgs<Layer>& given, Observe&& observe) {
  const ForwardArgs<Layer> args = resolve(given);
  const Shape& shape = args.shape;
  const int K = shape.key_dim, V = shape.value_dim;
  const int64_t sequences = sequence_count(args);

  Output output;
  output.o.resize(static_cast<size_t>(shape.batch * shape.seq_len * shape.heads * V));
  output.final_state.resize(static_cast<size_t>(sequences * shape.heads * K * V));
  for (int64_t n = 0; n < sequences; ++n) {
    const detail::Sequence sequence = detail::find_sequence(args, n);
    if (sequence.padding) continue;
    for (int head = 0; head < shape.heads; ++head) {
      detail::State S = detail::read_state(args.initial_state, sequence.slot_in, head, K, V);
      for (int64_t t = sequence.begin; t < sequence.end; ++t) {
        const int64_t row = (sequence.batch * shape.seq_len + t) * shape.heads + head;
        const detail::Token token = detail::read_token(args, sequence.batch, t, head);
        const detail::Vector o = detail::step<Layer>(S, token, static_cast<double>(args.scale));
        std::copy(std::begin(o), std::end(o), output.o.begin() + row * V);
        observe(n, t, int64_t{head}, static_cast<const double*>(S.row(0)));
      }
      std::copy(std::begin(S.elements), std::end(S.elements),
                output.final_state.begin() + (n * shape.heads + head) * K * V);
    }
  }
  return output;
}

/// The same without an observer.
template <class Layer>
GDR_HIDDEN Output forward(const ForwardArgs<Layer>& args) {
  return forward(args, [](int64_t, int64_t, int64_t, const double*) {});
}

/// Rounds a result into args.o and args.final_state, where they are given: what the launcher would
/// have written. Tokens that belong to no sequence and slots that are not named stay untouched.
template <class Layer>
GDR_HIDDEN void store(const ForwardArgs<Layer>& given, const Output& output) {
  const ForwardArgs<Layer> args = resolve(given);
  const Shape& shape = args.shape;
  const Strides& stride = args.o.strides;
  const int K = shape.key_dim, V = shape.value_dim;

  for (int64_t n = 0; n < sequence_count(args); ++n) {
    const detail::Sequence sequence = detail::find_sequence(args, n);
    for (int64_t head = 0; head < shape.heads; ++head) {
      for (int64_t t = sequence.begin; args.o.data != nullptr && t < sequence.end; ++t) {
        const int64_t row = (sequence.batch * shape.seq_len + t) * shape.heads + head;
        const int64_t to = sequence.batch * stride.batch + t * stride.time + head * stride.head;
        for (int j = 0; j < V; ++j)
          store_element(args.o.data, Layer::element_type, to + j * stride.element,
                        output.o[row * V + j]);
      }
      if (sequence.slot_out != -1)
        detail::write_state(args.final_state, sequence.slot_out, head, K, V,
                            &output.final_state[(n * shape.heads + head) * K * V]);
    }
  }
}

}  // namespace reference

GDR_NAMESPACE_END
