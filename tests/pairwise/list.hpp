// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The pairwise list: layers among which any two choices that a layer can be made of (element type,
/// gate's element type, axis, gate function, rule, key extent, value extent) meet at least once.
/// Each pair of extents is one layer, and no list is shorter. The formulas for the other choices
/// were found by a search; list_test.cpp reads from the types what they cover.

#include <array>
#include <string>
#include <tuple>
#include <type_traits>

#include <gdr/gates.hpp>
#include <gdr/types/layer.hpp>

namespace gdr::test {

/// Small and large ones mixed, so that stretches of the list compile alike.
inline constexpr int pairwise_extents[] = {1, 40, 128, 16, 64, 160, 24, 96, 192, 32, 100, 256};
inline constexpr int pairwise_size = 12 * 12;
static_assert(pairwise_size <= 400, "what a machine of 16 cores compiles in minutes");

namespace detail {

template <int place, class... Choices>
using Cycle = std::tuple_element_t<place % sizeof...(Choices), std::tuple<Choices...>>;

template <int n, class Float16, class Bfloat16>
struct Pairwise {
  static constexpr int v = n / 12;
  static constexpr int k = n % 12;
  using Element = Cycle<v + k, float, Float16, Bfloat16>;
  using GateElement = Cycle<v + k, Element, float>;
  using Function =
      Cycle<2 * v + k + v / 6, Linear, Log, Sigmoid, LogSigmoid, SoftplusDecay, OneMinus>;
  using Value = ValueGate<Function, GateElement>;
  using Key = KeyGate<Function, GateElement>;
  using Head = HeadGate<Function, GateElement>;
  using Gate = Cycle<v / 2 + k + k / 6, Value, Key, Head, NoGate, Value, Key>;
  // Two thirds are outer products, which alone have the chunked forms.
  using Rule = Cycle<2 * v + v / 2 + 2 * k + k / 6, OuterProduct, OuterProduct, DeltaRule<Sigmoid>,
                     OuterProduct, OuterProduct, DeltaRule<>>;
  using Layer = Recurrence<HeadDims<pairwise_extents[k], pairwise_extents[v]>, Element, Gate, Rule>;
};

inline std::string name_of(Linear) { return "Linear"; }
inline std::string name_of(Log) { return "Log"; }
inline std::string name_of(Sigmoid) { return "Sigmoid"; }
inline std::string name_of(LogSigmoid) { return "LogSigmoid"; }
inline std::string name_of(SoftplusDecay) { return "SoftplusDecay"; }
inline std::string name_of(OneMinus) { return "OneMinus"; }
inline std::string name_of(OuterProduct) { return "OuterProduct"; }
inline std::string name_of(DeltaRule<>) { return "DeltaRule"; }
inline std::string name_of(DeltaRule<Sigmoid>) { return "DeltaRuleSigmoid"; }

}  // namespace detail

/// Layer n of the list, for n below pairwise_size.
template <int n, class Float16, class Bfloat16>
using PairwiseLayer = typename detail::Pairwise<n, Float16, Bfloat16>::Layer;

/// What a layer is made of, in words that a test's name may hold; without a gate two are empty.
template <class Layer>
std::array<std::string, 7> choices_of() {
  constexpr const char* elements[] = {"float32", "float16", "bfloat16"};
  constexpr const char* axes[] = {"ValueGate", "KeyGate", "HeadGate", "NoGate"};
  constexpr bool has_gate = Layer::Gate::axis != GateAxis::none;
  return {elements[static_cast<int>(Layer::element_type)],
          !has_gate                               ? ""
          : Layer::gate_type == DataType::float32 ? "GateFloat32"
                                                  : "GateOwn",
          axes[static_cast<int>(Layer::Gate::axis)],
          has_gate ? detail::name_of(typename Layer::GateFunction{}) : "",
          detail::name_of(typename Layer::Rule{}),
          "K" + std::to_string(Layer::key_dim),
          "V" + std::to_string(Layer::value_dim)};
}

}  // namespace gdr::test
