// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A layer type as a run-time value, and the choice of one layer among several by such a value.

#include <gdr/gates.hpp>
#include <gdr/types/layer.hpp>
#include <gdr/types/status.hpp>

GDR_NAMESPACE_BEGIN
namespace detail {

struct FunctionFacts {
  const char* name;
  bool log_space;
  int shipped;  // one number for each of the functions in gates.hpp; 0: a user's own
};

/// What a user's function is called in messages: its `static constexpr const char* name`, if any.
template <class F, class = void>
struct FunctionName {
  static constexpr const char* value = "own function";
};
template <class F>
struct FunctionName<F, stdx::void_t<decltype(static_cast<const char*>(F::name))>> {
  static constexpr const char* value = F::name;
};

template <class F>
GDR_HIDDEN constexpr FunctionFacts describe_function() {
  constexpr bool log_space = stdx::is_same<typename F::Space, Log>::value;
  if (stdx::is_same<F, Linear>::value) return {"Linear", log_space, 1};
  if (stdx::is_same<F, Log>::value) return {"Log", log_space, 2};
  if (stdx::is_same<F, Sigmoid>::value) return {"Sigmoid", log_space, 3};
  if (stdx::is_same<F, LogSigmoid>::value) return {"LogSigmoid", log_space, 4};
  if (stdx::is_same<F, SoftplusDecay>::value) return {"SoftplusDecay", log_space, 5};
  if (stdx::is_same<F, OneMinus>::value) return {"OneMinus", log_space, 6};
  return {FunctionName<F>::value, log_space, 0};
}

/// One object per function type; its address is the identity of a user's function.
template <class F>
GDR_HIDDEN inline constexpr FunctionFacts function_facts = describe_function<F>();

}  // namespace detail

/// The type of a gate function as a run-time value, made by function_id<F> and compared by == and
/// !=. The id of a function that gdr does not ship means something only inside the program or
/// shared library that made it.
struct FunctionId {
  const detail::FunctionFacts* facts = &detail::function_facts<Linear>;

  constexpr const char* name() const { return facts->name; }
  constexpr bool log_space() const { return facts->log_space; }
};
GDR_HIDDEN constexpr bool operator==(FunctionId a, FunctionId b) {
  return a.facts->shipped != 0 || b.facts->shipped != 0 ? a.facts->shipped == b.facts->shipped
                                                        : a.facts == b.facts;
}
GDR_HIDDEN constexpr bool operator!=(FunctionId a, FunctionId b) { return !(a == b); }

template <class F>
GDR_HIDDEN inline constexpr FunctionId function_id{&detail::function_facts<F>};

/// What tells layer types apart. A gate's space is its function's: function_id<Linear> and
/// function_id<Log> are the gates that take the tensor's value as it is.
struct LayerKey {
  DataType type = DataType::float32;  // of q, k, v, o
  int key_dim = 0;                    // K, 1 to 256
  int value_dim = 0;                  // V, likewise
  GateAxis axis = GateAxis::value;
  FunctionId gate_function = function_id<Linear>;  // not read where the axis is none
  DataType gate_type = DataType::float32;          // not read where the axis is none
  bool delta_rule = false;
  FunctionId beta_function = function_id<Linear>;  // not read without the delta rule
};

/// The key of a layer type, with its own extents.
template <class Layer>
GDR_HIDDEN inline constexpr LayerKey layer_key_of{Layer::element_type,
                                                  Layer::key_dim,
                                                  Layer::value_dim,
                                                  Layer::Gate::axis,
                                                  function_id<typename Layer::GateFunction>,
                                                  Layer::gate_type,
                                                  Layer::Rule::uses_beta,
                                                  function_id<typename Layer::BetaFunction>};

namespace detail {

/// The fields of a key in the order in which layers are told apart.
GDR_HIDDEN inline constexpr const char* layer_key_fields[] = {
    "key.type",       "key.axis",          "key.gate_function", "key.gate_type",
    "key.delta_rule", "key.beta_function", "key.key_dim",       "key.value_dim"};
inline constexpr int layer_key_field_count = 8;

/// How many fields of a layer agree with the key, up to the first that does not. The layer's
/// extents agree where they hold the key's.
GDR_HIDDEN constexpr int agreeing_fields(const LayerKey& layer, const LayerKey& key) {
  const bool gated = key.axis != GateAxis::none;
  const bool agrees[layer_key_field_count] = {
      layer.type == key.type,
      layer.axis == key.axis,
      !gated || layer.gate_function == key.gate_function,
      !gated || layer.gate_type == key.gate_type,
      layer.delta_rule == key.delta_rule,
      !key.delta_rule || layer.beta_function == key.beta_function,
      layer.key_dim >= key.key_dim,
      layer.value_dim >= key.value_dim};
  int count = 0;
  while (count < layer_key_field_count && agrees[count]) ++count;
  return count;
}

struct LayerChoice {
  int place;  // in the list; -1: none fits
  Status status;
};

/// The layer that agrees with the key in everything and whose K * V, the work of a token, is the
/// smallest; the first of several. Exact extents are the smallest there are. `nothing_fits` is the
/// message where there is none; the argument is then the first field in which every layer that
/// agreed up to there differs.
GDR_HIDDEN constexpr LayerChoice choose_layer(const LayerKey* layers, int count,
                                              const LayerKey& key, const char* nothing_fits) {
  const char* range = "a head dimension goes from 1 to 256";
  if (key.key_dim < 1 || key.key_dim > max_head_dim) {
    return {-1, {StatusCode::invalid_argument, "key.key_dim", range, 0}};
  }
  if (key.value_dim < 1 || key.value_dim > max_head_dim) {
    return {-1, {StatusCode::invalid_argument, "key.value_dim", range, 0}};
  }
  int chosen = -1, most_agreeing = 0;
  for (int i = 0; i < count; ++i) {
    const int agreeing = agreeing_fields(layers[i], key);
    if (agreeing > most_agreeing) most_agreeing = agreeing;
    if (agreeing < layer_key_field_count) continue;
    const auto area = [layers](int at) { return layers[at].key_dim * layers[at].value_dim; };
    if (chosen == -1 || area(i) < area(chosen)) chosen = i;
  }
  if (chosen != -1) return {chosen, {}};
  return {-1, {StatusCode::unsupported, layer_key_fields[most_agreeing], nothing_fits, 0}};
}

}  // namespace detail
GDR_NAMESPACE_END
