// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Lists of layer types, and the step from a run-time key to one of them.

#include <gdr/dispatch/layer_key.hpp>

GDR_NAMESPACE_BEGIN

/// The layer types that a program instantiates. Lists are joined by +:
///
///     using Layers = decltype(gdr::LayerList<gdr::Recurrence<gdr::HeadDim<24>, float>>{} +
///                             gdr::PaddedLayers<__nv_bfloat16, gdr::KeyGate<gdr::Log>>{});
template <class... Layers>
struct LayerList {
  static constexpr int size = sizeof...(Layers);
};

template <class... A, class... B>
constexpr LayerList<A..., B...> operator+(LayerList<A...>, LayerList<B...>) {
  return {};
}

/// One kind of layer for every pair of equal extents: the next larger of these serves.
template <class T, class Gate = ValueGate<Linear>, class Rule = OuterProduct>
using PaddedLayers =
    LayerList<Recurrence<HeadDim<16>, T, Gate, Rule>, Recurrence<HeadDim<32>, T, Gate, Rule>,
              Recurrence<HeadDim<64>, T, Gate, Rule>, Recurrence<HeadDim<96>, T, Gate, Rule>,
              Recurrence<HeadDim<128>, T, Gate, Rule>, Recurrence<HeadDim<192>, T, Gate, Rule>,
              Recurrence<HeadDim<256>, T, Gate, Rule>>;

namespace detail {

constexpr const char* name_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return "float32";
    case DataType::float16:
      return "float16";
    case DataType::bfloat16:
      return "bfloat16";
    case DataType::float64:
      return "float64";
  }
  return "unknown type";
}

constexpr const char* name_of(GateAxis axis) {
  switch (axis) {
    case GateAxis::value:
      return "value";
    case GateAxis::key:
      return "key";
    case GateAxis::head:
      return "head";
    case GateAxis::none:
      return "no";
  }
  return "unknown";
}

/// Writes a text, or only counts its characters where `out` is null.
struct TextWriter {
  char* out;
  int size = 0;

  constexpr TextWriter& operator<<(char c) {
    if (out != nullptr) out[size] = c;
    ++size;
    return *this;
  }
  constexpr TextWriter& operator<<(const char* text) {
    while (*text != '\0') *this << *text++;
    return *this;
  }
  constexpr TextWriter& operator<<(int number) {  // 0 to 999
    if (number >= 100) *this << static_cast<char>('0' + number / 100);
    if (number >= 10) *this << static_cast<char>('0' + number / 10 % 10);
    return *this << static_cast<char>('0' + number % 10);
  }
  constexpr TextWriter& operator<<(FunctionId function) {
    *this << function.name();
    const bool is_space = function == function_id<Linear> || function == function_id<Log>;
    return is_space ? *this : *this << (function.log_space() ? " (log)" : " (linear)");
  }
};

/// E.g. "bfloat16 K 128 V 128, key gate SoftplusDecay (log) float32, delta rule".
constexpr void write_layer(TextWriter& text, const LayerKey& layer) {
  text << name_of(layer.type) << " K " << layer.key_dim << " V " << layer.value_dim << ", "
       << name_of(layer.axis) << " gate";
  if (layer.axis != GateAxis::none) {
    text << ' ' << layer.gate_function << ' ' << name_of(layer.gate_type);
  }
  text << (layer.delta_rule ? ", delta rule" : ", outer product");
  if (layer.delta_rule && layer.beta_function != function_id<Linear>) {
    text << " with beta " << layer.beta_function;
  }
}

/// Returns the characters written, the final null included.
constexpr int write_nothing_fits(const LayerKey* layers, int count, char* out) {
  TextWriter text{out};
  text << "no layer type in the list fits the key; the list has: ";
  for (int i = 0; i < count; ++i) {
    if (i > 0) text << "; ";
    write_layer(text, layers[i]);
  }
  text << '\0';
  return text.size;
}

template <int size>
struct Text {
  char characters[size];
};

template <int size>
constexpr Text<size> make_nothing_fits(const LayerKey* layers, int count) {
  Text<size> text{};
  write_nothing_fits(layers, count, text.characters);
  return text;
}

template <class List>
struct ListFacts;

template <class... Layers>
struct GDR_HIDDEN ListFacts<LayerList<Layers...>> {
  static_assert(sizeof...(Layers) > 0, "gdr: a list to choose from has at least one layer type");
  static constexpr int size = sizeof...(Layers);
  static constexpr LayerKey keys[] = {layer_key_of<Layers>...};
  static constexpr int text_size = write_nothing_fits(keys, size, nullptr);
  static constexpr Text<text_size> nothing_fits = make_nothing_fits<text_size>(keys, size);

  static constexpr LayerChoice choose(const LayerKey& key) {
    return choose_layer(keys, size, key, nothing_fits.characters);
  }
};

template <class Layer, class Use>
GDR_HIDDEN Status call_with(Use& use) {
  return use(Layer{});
}

template <class... Layers, class Use>
GDR_HIDDEN Status call_at(LayerList<Layers...>, int place, Use& use) {
  constexpr Status (*calls[])(Use&) = {&call_with<Layers, Use>...};
  return calls[place](use);
}

}  // namespace detail

/// Calls `use` with an object of the layer type in the list that fits the key, and returns its
/// Status:
///
///     with_layer<Layers>(key, [&](auto layer) {
///       using Layer = decltype(layer);
///       ...
///     });
///
/// A layer fits where type, axis, gate function, gate type and rule are the key's and its extents
/// hold the key's; of several the one with the smallest K * V is taken, so an exact one always. The
/// extents of the arguments (args.shape.key_dim and value_dim) are for `use` to set. Where none
/// fits, the status is `unsupported`, its argument the field of the key at fault ("key.axis"), and
/// its message lists the list.
template <class List, class Use>
GDR_HIDDEN Status with_layer(const LayerKey& key, Use&& use) {
  const detail::LayerChoice choice = detail::ListFacts<List>::choose(key);
  if (!choice.status.ok()) return choice.status;
  return detail::call_at(List{}, choice.place, use);
}

GDR_NAMESPACE_END
