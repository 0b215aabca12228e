// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Tensors and states of a test problem as places in guarded storages: where an element lies, how
/// a layout's paddings, orders and repetitions become strides.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <gdr/types/view.hpp>

#include "element_bits.hpp"
#include "fills.hpp"

namespace gdr::test {

/// What lies where no tensor element does: guard bands and paddings. NaN shows every read that
/// reaches a result; a large finite number also shows reads whose NaN would be dropped (by a max).
enum class Gap { nan, large };

/// Memory of one allocation, a guard band at either end included.
struct Storage {
  static constexpr std::int64_t front_guard = 4096;  // keeps the first element's alignment
  static constexpr std::int64_t back_guard = 32768;

  std::vector<unsigned char> bytes;

  static Storage make(DataType type, std::int64_t elements, Gap gap) {
    const std::int64_t data = elements * size_of(type);
    Storage storage;
    storage.bytes.assign(static_cast<std::size_t>(front_guard + data + back_guard), 0xff);
    if (gap == Gap::large) {
      const double value = type == DataType::float16 ? 60000 : 1e30;
      for (std::size_t at = 0; at + 8 <= storage.bytes.size(); at += size_of(type)) {
        encode(type, value, storage.bytes.data() + at);
      }
    }
    return storage;
  }
};

/// How a [B, T, H, C] tensor lies in its storage. All defaults: contiguous.
struct Layout {
  std::int64_t offset = 0;           // elements before the tensor: 1 breaks every alignment
  std::int64_t channel_padding = 0;  // unused elements after each head's channels
  std::int64_t head_padding = 0;     // unused elements after the heads of a token
  std::int64_t batch_padding = 0;    // unused elements after a batch row
  bool heads_outside_time = false;   // [B, H, T, C]
  bool batch_inside_time = false;    // [T, B, H, C]
  bool reversed_time = false;        // negative time stride
  bool repeat_batch = false;         // stride 0
  bool repeat_time = false;
  bool repeat_head = false;
  bool explicit_strides = false;  // pass strides even where they are the contiguous ones

  bool contiguous() const {
    return channel_padding == 0 && head_padding == 0 && batch_padding == 0 && !heads_outside_time &&
           !batch_inside_time && !reversed_time && !repeat_batch && !repeat_time && !repeat_head &&
           !explicit_strides;
  }
  std::string describe() const {
    std::ostringstream text;
    if (offset != 0) text << " offset " << offset;
    if (channel_padding != 0) text << " channel+" << channel_padding;
    if (head_padding != 0) text << " head+" << head_padding;
    if (batch_padding != 0) text << " batch+" << batch_padding;
    if (heads_outside_time) text << " BHTC";
    if (batch_inside_time) text << " TBHC";
    if (reversed_time) text << " reversed";
    if (repeat_batch) text << " batch*0";
    if (repeat_time) text << " time*0";
    if (repeat_head) text << " head*0";
    if (explicit_strides) text << " strided";
    return text.str();
  }
};

/// A [B, T, H, C] tensor in a storage; storage -1: null.
struct Tensor {
  int storage = -1;
  DataType type = DataType::float32;
  std::int64_t offset = 0;  // of [0, 0, 0, 0], in elements after the front guard
  std::int64_t batch = 0;
  std::int64_t time = 0;
  std::int64_t heads = 0;
  std::int64_t channels = 0;
  Strides strides{};
  bool contiguous = true;

  bool present() const { return storage >= 0; }
  std::int64_t count() const { return batch * time * heads * channels; }
  std::int64_t byte_of(const Index& at) const {
    return Storage::front_guard + (offset + at.batch * strides.batch + at.time * strides.time +
                                   at.head * strides.head + at.channel) *
                                      size_of(type);
  }
  template <class Visit>
  void for_each(Visit visit) const {
    Index at;
    for (at.batch = 0; at.batch < batch; ++at.batch) {
      for (at.time = 0; at.time < time; ++at.time) {
        for (at.head = 0; at.head < heads; ++at.head) {
          for (at.channel = 0; at.channel < channels; ++at.channel) visit(at, byte_of(at));
        }
      }
    }
  }
};

/// Gives a tensor its strides and offset; returns the elements of storage it needs.
inline std::int64_t place(Tensor& tensor, const Layout& layout) {
  std::int64_t size = tensor.channels + layout.channel_padding;
  const auto take = [&size](std::int64_t extent, bool repeat) {
    const std::int64_t stride = size;
    if (!repeat) size *= extent;
    return repeat ? 0 : stride;
  };
  const auto take_time = [&] { return take(tensor.time, layout.repeat_time); };
  const auto take_heads = [&] {
    const std::int64_t stride = take(tensor.heads, layout.repeat_head);
    size += layout.head_padding;
    return stride;
  };
  const auto take_batch = [&] {
    size += layout.batch_padding;
    return take(tensor.batch, layout.repeat_batch);
  };
  if (layout.heads_outside_time) {
    tensor.strides.time = take_time();
    tensor.strides.head = take_heads();
    tensor.strides.batch = take_batch();
  } else if (layout.batch_inside_time) {
    tensor.strides.head = take_heads();
    tensor.strides.batch = take_batch();
    tensor.strides.time = take_time();
  } else {
    tensor.strides.head = take_heads();
    tensor.strides.time = take_time();
    tensor.strides.batch = take_batch();
  }
  tensor.strides.element = 1;
  tensor.offset = layout.offset;
  if (layout.reversed_time) {
    tensor.offset += std::max<std::int64_t>(tensor.time - 1, 0) * tensor.strides.time;
    tensor.strides.time = -tensor.strides.time;
  }
  tensor.contiguous = layout.contiguous();
  return layout.offset + size;
}

/// How a state lies in its storage.
struct StateSpec {
  bool present = false;
  DataType type = DataType::float32;
  StateLayout layout = StateLayout::kv;
  std::int64_t offset = 0;
  std::int64_t row_padding = 0;
  std::int64_t head_padding = 0;
  std::int64_t sequence_padding = 0;
  bool explicit_strides = false;

  std::string describe() const {
    if (!present) return " none";
    std::ostringstream text;
    text << ' ' << name_of(type) << (layout == StateLayout::kv ? " kv" : " vk");
    if (offset != 0) text << " offset " << offset;
    if (row_padding + head_padding + sequence_padding != 0) {
      text << " padded " << row_padding << ',' << head_padding << ',' << sequence_padding;
    }
    if (explicit_strides) text << " strided";
    return text.str();
  }
};

/// States [N, H, K, V] in a storage; storage -1: null.
struct StateTensor {
  int storage = -1;
  DataType type = DataType::float32;
  StateLayout layout = StateLayout::kv;
  std::int64_t offset = 0;
  std::int64_t sequences = 0;
  std::int64_t heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t sequence_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;
  bool contiguous = true;

  bool present() const { return storage >= 0; }
  std::int64_t count() const { return sequences * heads * key_dim * value_dim; }
  std::int64_t byte_of(std::int64_t n, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t inner = layout == StateLayout::kv ? i * row_stride + j : j * row_stride + i;
    return Storage::front_guard +
           (offset + n * sequence_stride + h * head_stride + inner) * size_of(type);
  }
  /// In the order of [N, H, K, V], whatever the layout.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t n = 0; n < sequences; ++n) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t i = 0; i < key_dim; ++i) {
          for (std::int64_t j = 0; j < value_dim; ++j) visit(byte_of(n, h, i, j));
        }
      }
    }
  }
};

/// Gives states their strides; returns the elements of storage they need.
inline std::int64_t place(StateTensor& state, const StateSpec& spec) {
  const bool kv = spec.layout == StateLayout::kv;
  state.type = spec.type;
  state.layout = spec.layout;
  state.offset = spec.offset;
  state.row_stride = (kv ? state.value_dim : state.key_dim) + spec.row_padding;
  state.head_stride = state.row_stride * (kv ? state.key_dim : state.value_dim) + spec.head_padding;
  state.sequence_stride = state.head_stride * state.heads + spec.sequence_padding;
  state.contiguous = spec.row_padding == 0 && spec.head_padding == 0 &&
                     spec.sequence_padding == 0 && !spec.explicit_strides;
  return spec.offset + state.sequence_stride * state.sequences;
}

}  // namespace gdr::test
