// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The forward pass of a layer that is known at run time, out of a list of layer types that the
/// program names:
///
///     using Layers = gdr::LayerList<gdr::Recurrence<gdr::HeadDim<64>, float>, ...>;
///
///     gdr::LayerKey key;
///     key.type = gdr::DataType::float32;
///     key.key_dim = 40;
///     key.value_dim = 64;
///     key.axis = gdr::GateAxis::value;
///     key.gate_function = gdr::function_id<gdr::Linear>;
///
///     gdr::AnyForwardArgs args;
///     args.shape = ...;
///     args.q = gdr::any_input(pointer, gdr::DataType::float32);
///     ...
///     gdr::Status status = gdr::forward<Layers>(key, args, stream);
///
/// A layer with a gate function is found by its id, function_id<SoftplusDecay>, and takes the
/// function's parameters by address: args.gate_function = &decay. The extents of the layer need not
/// be the key's: the smallest that hold them are taken.
///
/// Declared here and defined in dispatcher.cuh. A translation unit that includes this header alone
/// needs no CUDA toolkit; the kernels are then in one that includes the other and says
///
///     template gdr::Status gdr::forward<Layers>(const gdr::LayerKey&, const gdr::AnyForwardArgs&,
///                                               cudaStream_t);

#include <gdr/dispatch/any_args.hpp>
#include <gdr/dispatch/layer_list.hpp>
#include <gdr/forward.hpp>

GDR_NAMESPACE_BEGIN

/// Runs forward<Layer> of the layer in the list that fits the key (see with_layer), with the key's
/// extents. Refused besides what forward<Layer> refuses: a key that no layer fits, with a message
/// that lists the list; head dimensions, element types and functions that are not the key's.
template <class List>
GDR_HIDDEN Status forward(const LayerKey& key, const AnyForwardArgs& args, CUstream_st* stream);

/// What forward<List>(key, args, stream) would answer, short of CUDA's own errors; launches
/// nothing.
template <class List>
GDR_HIDDEN Status can_forward(const LayerKey& key, const AnyForwardArgs& args);

/// Bytes of device memory that forward<List>(key, args, stream) needs as args.workspace; 0 where it
/// would refuse the key, or a type by the key.
template <class List>
GDR_HIDDEN int64_t workspace_size(const LayerKey& key, const AnyForwardArgs& args);

GDR_NAMESPACE_END
