// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// States between device memory and a block collective: any type, layout and strides. A collective
/// offers for_each(use), which calls use(i, j, S_ij by reference) for a thread's elements.

#include <gdr/block/span.cuh>
#include <gdr/thread/convert.cuh>
#include <gdr/types/view.hpp>

GDR_NAMESPACE_BEGIN
namespace detail {

/// The matrix of one sequence (or pool slot) and head. The layout is a type here, so that the inner
/// stride is known to be 1 and neighbouring elements share their address arithmetic.
template <class T, StateLayout Layout>
struct StateMatrix {
  T* data;
  int64_t row_stride;

  template <class Void>
  GDR_DEVICE StateMatrix(const BasicStateView<Void>& view, int64_t sequence, int head)
      : data(static_cast<T*>(view.data) + sequence * view.sequence_stride +
             head * view.head_stride),
        row_stride(view.row_stride) {}

  GDR_DEVICE T& at(int i, int j) const {
    return Layout == StateLayout::kv ? data[i * row_stride + j] : data[j * row_stride + i];
  }
};

template <class T, StateLayout Layout, class Block>
GDR_DEVICE void load_state(Block& block, const StateMatrix<const T, Layout>& state, int key_dim,
                           int value_dim) {
  // Bits first and numbers after: a conversion would wait for its load before the next is issued.
  block.for_each([&](int i, int j, float& s) {
    PackedVector<T, 1> bits{};
    if (i < key_dim && j < value_dim) bits.set(0, state.at(i, j));
    s = __uint_as_float(bits.word[0]);
  });
  block.for_each([](int, int, float& s) {
    PackedVector<T, 1> bits;
    bits.word[0] = static_cast<decltype(bits.word[0] + 0)>(__float_as_uint(s));
    s = bits.get(0);
  });
}

template <class T, StateLayout Layout, class Block>
GDR_DEVICE void store_state(Block& block, const StateMatrix<T, Layout>& state, int key_dim,
                            int value_dim) {
  block.for_each([&](int i, int j, float& s) {
    if (i < key_dim && j < value_dim) state.at(i, j) = from_float<T>(s);
  });
}

/// Calls use(StateMatrix) with the view's type and layout.
template <class View, class Use>
GDR_DEVICE void with_matrix(const View& view, int64_t sequence, int head, Use&& use) {
  constexpr bool is_const = stdx::is_same<View, ConstStateView>::value;
  using Float = stdx::conditional_t<is_const, const float, float>;
  using BFloat16 = stdx::conditional_t<is_const, const __nv_bfloat16, __nv_bfloat16>;
  const bool kv = view.layout == StateLayout::kv;
  if (view.type == DataType::float32) {
    if (kv) {
      use(StateMatrix<Float, StateLayout::kv>(view, sequence, head));
    } else {
      use(StateMatrix<Float, StateLayout::vk>(view, sequence, head));
    }
  } else {
    if (kv) {
      use(StateMatrix<BFloat16, StateLayout::kv>(view, sequence, head));
    } else {
      use(StateMatrix<BFloat16, StateLayout::vk>(view, sequence, head));
    }
  }
}

}  // namespace detail

/// Reads the state of a sequence and head; channels past the extents become 0.
template <class Block>
GDR_DEVICE void load_state(Block& block, const ConstStateView& view, int64_t sequence, int head,
                           int key_dim, int value_dim) {
  detail::with_matrix(view, sequence, head, [&](const auto& state) {
    detail::load_state(block, state, key_dim, value_dim);
  });
}

/// Writes the state of a sequence and head, as far as the extents go.
template <class Block>
GDR_DEVICE void store_state(Block& block, const StateView& view, int64_t sequence, int head,
                            int key_dim, int value_dim) {
  detail::with_matrix(view, sequence, head, [&](const auto& state) {
    detail::store_state(block, state, key_dim, value_dim);
  });
}

/// The same for a span's head and extents. Without a state (null) the block's is cleared.
template <class Block, class Layer>
GDR_DEVICE void load_state(Block& block, const ConstStateView& view, int64_t sequence,
                           const Span<Layer>& span) {
  if (GDR_LIKELY(view.data == nullptr)) {
    block.clear();
  } else {
    load_state(block, view, sequence, span.head, span.key_dim, span.value_dim);
  }
}

/// The same for a span's head and extents. Nothing is written where there is no state (null).
template <class Block, class Layer>
GDR_DEVICE void store_state(Block& block, const StateView& view, int64_t sequence,
                            const Span<Layer>& span) {
  if (view.data != nullptr) {
    store_state(block, view, sequence, span.head, span.key_dim, span.value_dim);
  }
}

/// Writes the state of a block whose for_each_pair calls use(i, j, S_ij, S_i+1,j) to a matrix aligned
/// to 8 bytes, with an even stride: where K is odd, one element more.
template <class Block>
GDR_DEVICE void store_in_pairs(Block& block,
                               const detail::StateMatrix<float, StateLayout::vk>& state,
                               int key_dim, int value_dim) {
  block.for_each_pair([&](int i, int j, float x, float y) {
    if (i >= key_dim || j >= value_dim) return;
    *reinterpret_cast<float2*>(&state.at(i, j)) = make_float2(x, y);
  });
}

GDR_NAMESPACE_END
