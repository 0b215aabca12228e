// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// One sequence of one value head, as the block collectives see it: base pointers, time strides and
/// valid extents. Made from the arguments by `span_of`, or filled in by hand in a kernel of one's
/// own.

#include <gdr/types/args.hpp>

#if defined(GDR_DEBUG) && !defined(__CUDACC_RTC__)
#include <cassert>
#endif

GDR_NAMESPACE_BEGIN

/// The rows of one tensor of one sequence and head: row t starts at data + t * time_stride.
template <class T>
struct Rows {
  T* data = nullptr;
  int64_t time_stride = 0;  // elements
};

/// Tokens of one sequence and one value head.
template <class Layer>
struct Span {
  using Element = typename Layer::Element;

  int64_t length = 0;  // tokens
  int head = 0;        // value head: what gate and beta functions are told
  int key_dim = Layer::key_dim;
  int value_dim = Layer::value_dim;
  float scale = 1.0f;

  Rows<const Element> q;                         // [length, K]
  Rows<const Element> k;                         // [length, K]
  Rows<const Element> v;                         // [length, V]
  Rows<const typename Layer::GateElement> gate;  // [length, V | K | 1]
  const void* beta = nullptr;                    // [length], float32 or Element
  bool beta_is_float = true;
  int64_t beta_time_stride = 0;
  typename Layer::GateFunction gate_function{};
  typename Layer::BetaFunction beta_function{};
  bool qk_l2norm = false;
  float qk_l2norm_eps = 1e-6f;
  bool only_state = false;  // chunked form: no outputs are made, and q is not read
};

/// Where sequence `n` lies: its batch row, first token and length.
struct SequenceBounds {
  uint32_t batch;
  int64_t first_token;
  int64_t length;
};

template <class Layer>
GDR_DEVICE SequenceBounds sequence_bounds(const ForwardArgs<Layer>& args, uint32_t n) {
  if (GDR_LIKELY(args.cu_seqlens.data == nullptr)) return {n, 0, args.shape.seq_len};
  const int64_t begin = args.cu_seqlens[n];
  const int64_t end = args.cu_seqlens[n + 1];
#if defined(GDR_DEBUG)
  assert(begin >= 0 && end >= begin && end <= args.shape.seq_len);
#endif
  return {0, begin, end - begin};
}

/// The last sequence of cu_seqlens for which holds what holds for it and all before it, or the
/// first.
template <class Layer, class Holds>
GDR_DEVICE unsigned last_sequence(const ForwardArgs<Layer>& args, Holds&& holds) {
  unsigned low = 0, high = static_cast<unsigned>(args.cu_seqlens.sequences);
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

/// The key head that a value head reads. In 32 bits, as heads fit the grid, and not divided where
/// there is nothing to divide: small problems feel each hundred cycles before the first load.
GDR_DEVICE int key_head_of(const Shape& shape, int head) {
  const auto heads = static_cast<unsigned>(shape.heads);
  const auto key_heads = static_cast<unsigned>(shape.key_heads);
  if (GDR_LIKELY(heads == key_heads)) return head;
  return static_cast<int>(static_cast<unsigned>(head) / (heads / key_heads));
}

/// The rows of a tensor [B, T, H, ..] at one sequence and head.
template <class T>
GDR_DEVICE Rows<T> rows_of(const TensorView<T>& tensor, const SequenceBounds& at, int head) {
  const Strides& s = tensor.strides;
  return {tensor.data + at.batch * s.batch + at.first_token * s.time + head * s.head, s.time};
}

/// The span of sequence bounds `at` and value head `head`. `args` are resolved.
template <class Layer>
GDR_DEVICE Span<Layer> span_of(const ForwardArgs<Layer>& args, const SequenceBounds& at, int head) {
  const int key_head = key_head_of(args.shape, head);
  Span<Layer> span;
  span.length = at.length;
  span.head = head;
  span.key_dim = args.shape.key_dim;
  span.value_dim = args.shape.value_dim;
  span.scale = args.scale;
  span.q = rows_of(args.q, at, key_head);
  span.k = rows_of(args.k, at, key_head);
  span.v = rows_of(args.v, at, head);
  if constexpr (Layer::gate_channels > 0) {
    span.gate = rows_of(args.gate, at, head);
    span.gate_function = args.gate_function;
  }
  if constexpr (Layer::Rule::uses_beta) {
    const Strides& s = args.beta.strides;
    span.beta_is_float = args.beta.type == DataType::float32;
    span.beta =
        static_cast<const char*>(args.beta.data) +
        (at.batch * s.batch + at.first_token * s.time + head * s.head) * size_of(args.beta.type);
    span.beta_time_stride = s.time;
    span.beta_function = args.beta_function;
  }
  span.qk_l2norm = args.qk_l2norm;
  span.qk_l2norm_eps = args.qk_l2norm_eps;
  return span;
}

/// Tiles of `Tokens` tokens that a span has.
template <int Tokens, class Layer>
GDR_DEVICE int tile_count(const Span<Layer>& span) {
  if (span.length <= 0) return 0;  // offsets that decrease are the caller's error, not a hang
  return static_cast<int>((span.length + Tokens - 1) / Tokens);
}
/// How many tokens of its tile n exist.
template <int Tokens, class Layer>
GDR_DEVICE int tokens_of_tile(const Span<Layer>& span, int n) {
  const int64_t left = span.length - int64_t{n} * Tokens;
  return left < Tokens ? static_cast<int>(left) : Tokens;
}

GDR_NAMESPACE_END
