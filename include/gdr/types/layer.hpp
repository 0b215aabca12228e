// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The layer as a type: head dimensions, element type, gate (axis, space, function), update rule.
///
///     using Layer = gdr::Recurrence<gdr::HeadDim<24>, float>;  // value gate, linear
///     using Gla   = gdr::Recurrence<gdr::HeadDim<128>, __nv_bfloat16, gdr::KeyGate<gdr::Log>>;
///     using Gdn   = gdr::Recurrence<gdr::HeadDim<128>, __nv_bfloat16,
///                                   gdr::HeadGate<gdr::Log, float>, gdr::DeltaRule<>>;

#include <gdr/types/element.hpp>

GDR_NAMESPACE_BEGIN

inline constexpr int max_head_dim = 256;

/// Extents of a key head (K) and a value head (V).
template <int K, int V>
struct HeadDims {
  static_assert(K >= 1 && K <= max_head_dim && V >= 1 && V <= max_head_dim,
                "gdr: head dimensions go from 1 to 256");
  static constexpr int key_dim = K;
  static constexpr int value_dim = V;
};

template <int D>
using HeadDim = HeadDims<D, D>;

// --- Gate spaces. Each is also the gate function that takes the tensor's value as it is. ---

/// The gate is the factor itself: S <- S * g.
struct Linear {
  using Space = Linear;
  GDR_HOST_DEVICE float operator()(float raw, int /*head*/, int /*channel*/) const { return raw; }
  GDR_HOST_DEVICE float derivative(float /*raw*/, int /*head*/, int /*channel*/) const { return 1; }
};

/// The gate is the factor's natural logarithm: S <- S * exp(g); -inf means 0.
struct Log {
  using Space = Log;
  GDR_HOST_DEVICE float operator()(float raw, int /*head*/, int /*channel*/) const { return raw; }
  GDR_HOST_DEVICE float derivative(float /*raw*/, int /*head*/, int /*channel*/) const { return 1; }
};

namespace detail {

template <class F, class = void>
struct HasSpace : stdx::false_type {};
template <class F>
struct HasSpace<F, stdx::void_t<typename F::Space>>
    : stdx::bool_constant<stdx::is_same<typename F::Space, Linear>::value ||
                          stdx::is_same<typename F::Space, Log>::value> {};

template <class F, class = void>
struct HasValue : stdx::false_type {};
template <class F>
struct HasValue<F, stdx::void_t<decltype(float(stdx::declval<const F&>()(0.0f, 0, 0)))>>
    : stdx::true_type {};

template <class F, class = void>
struct HasDerivative : stdx::false_type {};
template <class F>
struct HasDerivative<
    F, stdx::void_t<decltype(float(stdx::declval<const F&>().derivative(0.0f, 0, 0)))>>
    : stdx::true_type {};

/// The contract of a gate function, one sentence for each missing member.
template <class F>
struct CheckGateFunction {
  static_assert(HasSpace<F>::value,
                "gdr: a gate function declares its space: using Space = gdr::Linear; or gdr::Log;");
  static_assert(
      HasValue<F>::value,
      "gdr: a gate function has float operator()(float raw, int head, int channel) const");
  static_assert(
      HasDerivative<F>::value,
      "gdr: a gate function has float derivative(float raw, int head, int channel) const");
  static_assert(stdx::is_trivially_copyable<F>::value && stdx::is_default_constructible<F>::value,
                "gdr: a gate function is default constructible and copied as bytes, as a kernel's "
                "parameters are");
  static constexpr bool value = true;
};

/// Stands for "the layer's element type" in a gate.
struct LayerElement {};

}  // namespace detail

// --- Gate axes: which channel of the state a gate belongs to. ---

enum class GateAxis { value, key, head, none };

/// a_t[j], one factor per value channel: tensor [B, T, Hv, V]. GSA's key pass.
template <class Function = Linear, class Element = detail::LayerElement>
struct ValueGate {
  static_assert(detail::CheckGateFunction<Function>::value);
  static constexpr GateAxis axis = GateAxis::value;
  using GateFunction = Function;
  using GateElement = Element;
};

/// a_t[i], one factor per key channel: tensor [B, T, Hv, K]. GLA; with the delta rule KDA.
template <class Function = Linear, class Element = detail::LayerElement>
struct KeyGate {
  static_assert(detail::CheckGateFunction<Function>::value);
  static constexpr GateAxis axis = GateAxis::key;
  using GateFunction = Function;
  using GateElement = Element;
};

/// a_t, one factor per head: tensor [B, T, Hv]. RetNet, Lightning, Mamba-2; with the delta rule
/// Gated DeltaNet.
template <class Function = Linear, class Element = detail::LayerElement>
struct HeadGate {
  static_assert(detail::CheckGateFunction<Function>::value);
  static constexpr GateAxis axis = GateAxis::head;
  using GateFunction = Function;
  using GateElement = Element;
};

/// No decay, no tensor. Linear attention; with the delta rule DeltaNet.
struct NoGate {
  static constexpr GateAxis axis = GateAxis::none;
  using GateFunction = Linear;
  using GateElement = detail::LayerElement;
};

// --- Update rules: what is written. ---

/// u_t = v_t.
struct OuterProduct {
  static constexpr bool uses_beta = false;
  using BetaFunction = Linear;
};

/// u_t = beta_t * (v_t - S^T k_t), S already decayed. `Function` maps beta's tensor to beta_t,
/// called as function(raw, head, 0); the default takes the value as it is.
template <class Function = Linear>
struct DeltaRule {
  static_assert(detail::CheckGateFunction<Function>::value);
  static_assert(stdx::is_same<typename Function::Space, Linear>::value,
                "gdr: beta is a factor, its function's space is gdr::Linear");
  static constexpr bool uses_beta = true;
  using BetaFunction = Function;
};

/// The layer. Dims: HeadDims<K, V>. T: type of q, k, v, o (float, __half, __nv_bfloat16 or the
/// storage types of the same bits). Accumulation and the state on chip are float32 always.
template <class Dims, class T, class Gate_ = ValueGate<Linear>, class Rule_ = OuterProduct>
struct Recurrence {
  static constexpr int key_dim = Dims::key_dim;
  static constexpr int value_dim = Dims::value_dim;
  using Element = T;
  using Gate = Gate_;
  using Rule = Rule_;
  using GateFunction = typename Gate::GateFunction;
  using Space = typename GateFunction::Space;
  using GateElement =
      stdx::conditional_t<stdx::is_same<typename Gate::GateElement, detail::LayerElement>::value, T,
                          typename Gate::GateElement>;
  using BetaFunction = typename Rule::BetaFunction;

  static constexpr DataType element_type = data_type_of<Element>;
  static constexpr DataType gate_type = data_type_of<GateElement>;
  static_assert(gate_type == DataType::float32 || gate_type == element_type,
                "gdr: a gate's element type is float or the layer's own");

  /// Channels of the gate's tensor; 1 stands for [B, T, Hv], 0 for no tensor.
  static constexpr int gate_channels = Gate::axis == GateAxis::value  ? value_dim
                                       : Gate::axis == GateAxis::key  ? key_dim
                                       : Gate::axis == GateAxis::head ? 1
                                                                      : 0;
};

GDR_NAMESPACE_END
