// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A tensor of the arguments as a plain description, and its geometry: which addresses it covers
/// and whether two tensors share one. Products of extents must fit size_limit; reach() tells
/// whether the strides do, and what follows it below takes strides that do.

#include <gdr/types/view.hpp>

GDR_NAMESPACE_BEGIN
namespace detail {

/// One tensor of the arguments: what of it the checks look at. Extents and strides from the
/// outermost dimension to the innermost; unused dimensions have extent 1.
struct TensorInfo {
  const char* name = "";  // the field of ForwardArgs
  const void* data = nullptr;
  DataType type = DataType::float32;
  DataType other_type = DataType::float32;  // float32 and this one are legal
  int element_size = 1;                     // bytes
  int alignment = 1;                        // bytes
  int64_t extents[4] = {1, 1, 1, 1};
  int64_t strides[4] = {1, 1, 1, 1};  // elements; not read where `contiguous`
  bool contiguous = true;
  bool is_state = false;
  StateLayout layout = StateLayout::kv;
  const char* if_null = nullptr;   // why null is refused; null where it is legal
  const char* if_given = nullptr;  // why anything else is refused; null where it is legal
};

/// No size in bytes passes this: beyond any address space, and a sum of a few fits an int64_t.
inline constexpr int64_t size_limit = int64_t{1} << 60;

/// a * b, at most size_limit; a and b not negative.
GDR_HIDDEN inline int64_t limited_product(int64_t a, int64_t b) {
  return b != 0 && a > size_limit / b ? size_limit : a * b;
}

GDR_HIDDEN inline int64_t element_count(const TensorInfo& t) {
  return t.extents[0] * t.extents[1] * t.extents[2] * t.extents[3];
}

GDR_HIDDEN inline bool has_elements(const TensorInfo& t) {
  return t.data != nullptr && element_count(t) > 0;
}

GDR_HIDDEN inline void fill_strides(TensorInfo& t) {
  if (!t.contiguous) return;
  int64_t stride = 1;
  for (int d = 3; d >= 0; --d) {
    t.strides[d] = stride;
    stride *= t.extents[d];
  }
}

/// Elements from the lowest address through the highest; where that passes size_limit, any number
/// above it.
GDR_HIDDEN inline int64_t reach(const TensorInfo& t) {
  int64_t sum = 1;
  for (int d = 0; d < 4; ++d) {
    const int64_t s = t.strides[d];
    const int64_t distance = s < -size_limit ? size_limit : s < 0 ? -s : s;
    sum += limited_product(distance, t.extents[d] - 1);
  }
  return sum;
}

/// Bytes from the tensor's pointer on of which every one belongs to the tensor: all of a contiguous
/// one, at least the first row of any.
GDR_HIDDEN inline int64_t leading_bytes(const TensorInfo& t) {
  int64_t count = 1;
  for (int d = 3; d >= 0; --d) {
    if (t.extents[d] > 1 && t.strides[d] != count) break;
    count *= t.extents[d];
  }
  return count * t.element_size;
}

GDR_HIDDEN inline bool same_strides(const TensorInfo& a, const TensorInfo& b) {
  for (int d = 0; d < 4; ++d) {
    if (a.extents[d] != b.extents[d]) return false;
    if (a.extents[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

/// Whether two elements of t lie `distance` elements apart (strides positive). Every yes is
/// certain; every no too where an inner dimension's span fits in the next outer stride.
GDR_HIDDEN inline bool has_distance(const TensorInfo& t, int64_t distance, int d = 0) {
  if (d >= 4) return distance == 0;
  if (t.extents[d] == 1) return has_distance(t, distance, d + 1);
  const int64_t towards_zero = distance / t.strides[d];
  for (int64_t steps = towards_zero - 1; steps <= towards_zero + 1; ++steps) {
    const bool within = steps > -t.extents[d] && steps < t.extents[d];
    if (within && has_distance(t, distance - steps * t.strides[d], d + 1)) return true;
  }
  return false;
}

/// Whether elements share an address (strides positive): one step along a dimension ends where
/// steps along the others do. Every yes is certain.
GDR_HIDDEN inline bool overlaps_itself(const TensorInfo& t) {
  for (int d = 0; d < 4; ++d) {
    TensorInfo others = t;
    others.extents[d] = 1;
    if (t.extents[d] > 1 && has_distance(others, t.strides[d])) return true;
  }
  return false;
}

/// Whether the output shares an address with the other tensor, where that is certain. Both pointers
/// are aligned to their elements.
GDR_HIDDEN inline bool meet(const TensorInfo& output, const TensorInfo& other) {
  const auto a = reinterpret_cast<std::uintptr_t>(output.data);
  const auto b = reinterpret_cast<std::uintptr_t>(other.data);
  const auto a_bytes = static_cast<std::uintptr_t>(leading_bytes(output));
  const auto b_bytes = static_cast<std::uintptr_t>(leading_bytes(other));
  if (a <= b ? b - a < a_bytes : a - b < b_bytes) return true;
  if (output.element_size != other.element_size || !same_strides(output, other)) return false;
  const std::uintptr_t distance =
      (a <= b ? b - a : a - b) / static_cast<unsigned>(output.element_size);
  return has_distance(output, static_cast<int64_t>(distance));
}

}  // namespace detail
GDR_NAMESPACE_END
