// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A layer's arguments with their types as run-time values.

#include <gdr/dispatch/any_args.hpp>

namespace gdr::test {

/// The functions are taken by address: `args` must outlive the result.
template <class Layer>
AnyForwardArgs erase_types(const ForwardArgs<Layer>& args) {
  AnyForwardArgs any;
  any.shape = args.shape;
  any.scale = args.scale;
  any.q = args.q;
  any.k = args.k;
  any.v = args.v;
  any.gate = args.gate;
  any.beta = args.beta;
  any.o = args.o;
  any.initial_state = args.initial_state;
  any.final_state = args.final_state;
  any.cu_seqlens = args.cu_seqlens;
  any.gate_function = &args.gate_function;
  any.beta_function = &args.beta_function;
  any.qk_l2norm = args.qk_l2norm;
  any.qk_l2norm_eps = args.qk_l2norm_eps;
  any.batch_invariant = args.batch_invariant;
  any.algorithm = args.algorithm;
  any.split_state_operand = args.split_state_operand;
  any.workspace = args.workspace;
  any.workspace_bytes = args.workspace_bytes;
  any.state_in = args.state_in;
  any.state_out = args.state_out;
  any.has_state = args.has_state;
  return any;
}

}  // namespace gdr::test
