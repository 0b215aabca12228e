// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Views of the caller's tensors: a pointer and strides in elements. A bare pointer is a contiguous
/// tensor whose strides follow from the arguments' shape.

#include <gdr/types/element.hpp>

GDR_NAMESPACE_BEGIN

/// Strides of a [batch, time, head, element] tensor, in elements.
struct Strides {
  int64_t batch = 0;
  int64_t time = 0;
  int64_t head = 0;
  int64_t element = 1;
};

/// A tensor [B, T, H, channels] (or [B, T, H]: `element` is then unused).
template <class T>
struct TensorView {
  T* data = nullptr;
  Strides strides{};
  bool contiguous = true;  // strides follow from the shape

  TensorView() = default;
  TensorView(T* pointer) : data(pointer) {}  // NOLINT: a bare pointer is a contiguous tensor
  TensorView(T* pointer, Strides s) : data(pointer), strides(s), contiguous(false) {}
  /// From the view of a tensor that may be written.
  template <class U, class = stdx::enable_if_t<stdx::is_same<const U, T>::value>>
  TensorView(const TensorView<U>& view)  // NOLINT
      : data(view.data), strides(view.strides), contiguous(view.contiguous) {}
};

/// A tensor with strides of the caller's. The element stride must be 1 and is checked.
template <class T>
TensorView<T> strided(T* pointer, int64_t batch, int64_t time, int64_t head, int64_t element = 1) {
  return {pointer, Strides{batch, time, head, element}};
}

/// A read-only tensor whose element type is known at run time.
struct AnyTensorView {
  const void* data = nullptr;
  DataType type = DataType::float32;
  Strides strides{};
  bool contiguous = true;

  AnyTensorView() = default;
  AnyTensorView(decltype(nullptr)) {}  // NOLINT: no tensor
  template <class T, class = decltype(ElementTraits<stdx::remove_cv_t<T>>::type)>
  AnyTensorView(T* pointer) : data(pointer), type(data_type_of<T>) {}  // NOLINT
  template <class T>
  AnyTensorView(TensorView<T> view)  // NOLINT
      : data(view.data),
        type(data_type_of<T>),
        strides(view.strides),
        contiguous(view.contiguous) {}
};

/// How a state's matrix lies in memory: S[i][j] with the value channel innermost (kv), or the key
/// channel innermost (vk).
enum class StateLayout { kv, vk };

/// States [N, Hv, K, V] (kv) or [N, Hv, V, K] (vk), float32 or bfloat16 (the reference also takes
/// float64). Strides in elements: sequence, head and row (row: of i in kv, of j in vk).
template <class Void>
struct BasicStateView {
  Void* data = nullptr;
  DataType type = DataType::float32;
  StateLayout layout = StateLayout::kv;
  int64_t sequence_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;
  bool contiguous = true;  // strides follow from the shape

  BasicStateView() = default;
  BasicStateView(decltype(nullptr)) {}  // NOLINT: no state
  template <class T, class = decltype(ElementTraits<stdx::remove_cv_t<T>>::type)>
  BasicStateView(T* pointer, StateLayout l = StateLayout::kv)  // NOLINT
      : data(pointer), type(data_type_of<T>), layout(l) {}
  /// From the view of a state that may be written.
  template <class U, class = stdx::enable_if_t<stdx::is_same<const U, Void>::value>>
  BasicStateView(const BasicStateView<U>& view)  // NOLINT
      : data(view.data),
        type(view.type),
        layout(view.layout),
        sequence_stride(view.sequence_stride),
        head_stride(view.head_stride),
        row_stride(view.row_stride),
        contiguous(view.contiguous) {}
};

using StateView = BasicStateView<void>;
using ConstStateView = BasicStateView<const void>;

/// States with strides of the caller's, in elements.
template <class T>
auto strided_state(T* pointer, int64_t sequence, int64_t head, int64_t row,
                   StateLayout layout = StateLayout::kv) {
  BasicStateView<stdx::conditional_t<stdx::is_const<T>::value, const void, void>> view(pointer,
                                                                                       layout);
  view.sequence_stride = sequence;
  view.head_stride = head;
  view.row_stride = row;
  view.contiguous = false;
  return view;
}

/// Sequences of different lengths in one batch row: N + 1 ascending token offsets on the device,
/// the first 0 and the last at most seq_len; int32 or int64, told apart by the pointer given.
struct SequenceOffsets {
  const void* data = nullptr;
  bool is_int64 = false;
  int64_t sequences = 0;  // N

  SequenceOffsets() = default;
  SequenceOffsets(decltype(nullptr)) {}  // NOLINT: sequences of one length
  SequenceOffsets(const int32_t* offsets, int64_t n) : data(offsets), sequences(n) {}
  SequenceOffsets(const int64_t* offsets, int64_t n)
      : data(offsets), is_int64(true), sequences(n) {}

  GDR_HOST_DEVICE int64_t operator[](int64_t n) const {
    return is_int64 ? static_cast<const int64_t*>(data)[n] : static_cast<const int32_t*>(data)[n];
  }
};

GDR_NAMESPACE_END
