// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// ForwardArgs with the types as run-time values, and its way back to a layer's own ForwardArgs.

#include <gdr/dispatch/layer_key.hpp>
#include <gdr/types/args.hpp>
#include <gdr/types/status.hpp>

GDR_NAMESPACE_BEGIN

/// A tensor to be written whose element type is known at run time.
struct AnyOutputView {
  void* data = nullptr;
  DataType type = DataType::float32;
  Strides strides{};
  bool contiguous = true;

  AnyOutputView() = default;
  template <class T, class = stdx::enable_if_t<!stdx::is_const<T>::value>,
            class = decltype(ElementTraits<T>::type)>
  AnyOutputView(T* pointer) : data(pointer), type(data_type_of<T>) {}  // NOLINT
  template <class T, class = stdx::enable_if_t<!stdx::is_const<T>::value>>
  AnyOutputView(TensorView<T> view)  // NOLINT
      : data(view.data),
        type(data_type_of<T>),
        strides(view.strides),
        contiguous(view.contiguous) {}
};

/// Views of untyped pointers, contiguous or with strides in elements.
GDR_HIDDEN inline AnyTensorView any_input(const void* data, DataType type) {
  AnyTensorView view;
  view.data = data;
  view.type = type;
  return view;
}
GDR_HIDDEN inline AnyTensorView any_input(const void* data, DataType type, Strides strides) {
  AnyTensorView view = any_input(data, type);
  view.strides = strides;
  view.contiguous = false;
  return view;
}
GDR_HIDDEN inline AnyOutputView any_output(void* data, DataType type) {
  AnyOutputView view;
  view.data = data;
  view.type = type;
  return view;
}
GDR_HIDDEN inline AnyOutputView any_output(void* data, DataType type, Strides strides) {
  AnyOutputView view = any_output(data, type);
  view.strides = strides;
  view.contiguous = false;
  return view;
}

/// A gate function of any type, by its address; the call copies it. Null: a default-constructed one
/// of the layer's type.
struct AnyFunction {
  const void* data = nullptr;
  FunctionId id{};

  AnyFunction() = default;
  template <class F, class = typename F::Space>
  AnyFunction(const F* function) : data(function), id(function_id<F>) {}  // NOLINT
};

/// The arguments of forward<List>; see ForwardArgs for what the fields mean.
struct AnyForwardArgs {
  Shape shape{};  // key_dim and value_dim: 0 or the key's
  float scale = 1.0f;

  AnyTensorView q{};     // [B, T, Hk, K], of key.type
  AnyTensorView k{};     // [B, T, Hk, K], of key.type
  AnyTensorView v{};     // [B, T, Hv, V], of key.type
  AnyTensorView gate{};  // [B, T, Hv, V], [B, T, Hv, K] or [B, T, Hv], of key.gate_type
  AnyTensorView beta{};  // [B, T, Hv], float32 or key.type
  AnyOutputView o{};     // [B, T, Hv, V], of key.type

  ConstStateView initial_state{};  // [N, Hv, K, V] or [N, Hv, V, K]
  StateView final_state{};         // likewise

  SequenceOffsets cu_seqlens{};

  AnyFunction gate_function{};  // of key.gate_function's type
  AnyFunction beta_function{};  // of key.beta_function's type

  bool qk_l2norm = false;
  float qk_l2norm_eps = 1e-6f;

  bool batch_invariant = false;
  Algorithm algorithm = Algorithm::automatic;
  bool split_state_operand = false;

  void* workspace = nullptr;
  int64_t workspace_bytes = 0;

  const int32_t* state_in = nullptr;   // [N]
  const int32_t* state_out = nullptr;  // [N]
  const uint8_t* has_state = nullptr;  // [N]
};

namespace detail {

/// What of the arguments contradicts the key. Null views have no type.
GDR_HIDDEN inline Status check_against_key(const LayerKey& key, const AnyForwardArgs& args) {
  const auto wrong = [](const char* argument, const char* message) {
    return Status{StatusCode::invalid_argument, argument, message, 0};
  };
  const char* other_dim = "the head dimension is neither 0 nor the key's";
  if (args.shape.key_dim != 0 && args.shape.key_dim != key.key_dim) {
    return wrong("shape.key_dim", other_dim);
  }
  if (args.shape.value_dim != 0 && args.shape.value_dim != key.value_dim) {
    return wrong("shape.value_dim", other_dim);
  }
  const bool gated = key.axis != GateAxis::none;  // else there is no gate whose type would matter
  const struct {
    const char* name;
    const void* data;
    DataType type, wanted;
  } views[] = {{"q", args.q.data, args.q.type, key.type},
               {"k", args.k.data, args.k.type, key.type},
               {"v", args.v.data, args.v.type, key.type},
               {"gate", args.gate.data, args.gate.type, gated ? key.gate_type : args.gate.type},
               {"o", args.o.data, args.o.type, key.type}};
  for (const auto& view : views) {
    if (view.data != nullptr && view.type != view.wanted) {
      return wrong(view.name, "the tensor's element type is not the key's");
    }
  }
  const struct {
    const char* name;
    const AnyFunction& function;
    FunctionId wanted;
  } functions[] = {
      {"gate_function", args.gate_function, gated ? key.gate_function : function_id<Linear>},
      {"beta_function", args.beta_function,
       key.delta_rule ? key.beta_function : function_id<Linear>}};
  for (const auto& entry : functions) {
    if (entry.function.data != nullptr && entry.function.id != entry.wanted) {
      return wrong(entry.name, "the function's type is not the key's");
    }
  }
  return {};
}

template <class T, class AnyView>
GDR_HIDDEN TensorView<T> typed(const AnyView& any) {
  TensorView<T> view(static_cast<T*>(any.data), any.strides);
  view.contiguous = any.contiguous;
  return view;
}

template <class F>
GDR_HIDDEN F typed(const AnyFunction& any) {
  return any.data == nullptr ? F{} : *static_cast<const F*>(any.data);
}

/// The arguments for a layer that fits the key; check_against_key() has passed.
template <class Layer>
GDR_HIDDEN ForwardArgs<Layer> typed_args(const LayerKey& key, const AnyForwardArgs& any) {
  ForwardArgs<Layer> args;
  args.shape = any.shape;
  args.shape.key_dim = key.key_dim;
  args.shape.value_dim = key.value_dim;
  args.scale = any.scale;
  args.q = typed<const typename Layer::Element>(any.q);
  args.k = typed<const typename Layer::Element>(any.k);
  args.v = typed<const typename Layer::Element>(any.v);
  args.gate = typed<const typename Layer::GateElement>(any.gate);
  args.beta = any.beta;
  args.o = typed<typename Layer::Element>(any.o);
  args.initial_state = any.initial_state;
  args.final_state = any.final_state;
  args.cu_seqlens = any.cu_seqlens;
  args.gate_function = typed<typename Layer::GateFunction>(any.gate_function);
  args.beta_function = typed<typename Layer::BetaFunction>(any.beta_function);
  args.qk_l2norm = any.qk_l2norm;
  args.qk_l2norm_eps = any.qk_l2norm_eps;
  args.batch_invariant = any.batch_invariant;
  args.algorithm = any.algorithm;
  args.split_state_operand = any.split_state_operand;
  args.workspace = any.workspace;
  args.workspace_bytes = any.workspace_bytes;
  args.state_in = any.state_in;
  args.state_out = any.state_out;
  args.has_state = any.has_state;
  return args;
}

}  // namespace detail
GDR_NAMESPACE_END
