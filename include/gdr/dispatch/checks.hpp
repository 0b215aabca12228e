// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What the forward pass refuses. Host functions of the arguments and of DeviceFacts alone; they
/// read no tensor. The first fault in this order is the one returned:
///
///   1. sizes: shape.batch, seq_len, heads, key_heads, key_dim, value_dim; cu_seqlens with its
///      number of sequences; a shape whose tensors pass 2^60 bytes
///   2. options: the element type, scale, qk_l2norm_eps; fields of later feature sets
///   3. the device's compute capability
///   4. workspace, workspace_bytes
///   5. q, k, v, gate, beta, cu_seqlens, initial_state, o, final_state, workspace; of each: null or
///      given where it must not be, element type, layout, innermost stride, reach of the strides,
///      alignment; on outputs every stride and elements that share an address; the memory's device
///   6. o, final_state, workspace: elements shared with an input or with an earlier output
///
/// A stride counts where its extent is above 1, the innermost always. Tensors without elements are
/// checked for being given where they must not be, type, layout and innermost stride only, and null
/// is legal for them: so o and final_state may both be null where o has no elements. cu_seqlens
/// wants shape.batch 1, also for no sequences. Overlap is refused where it is certain and cheap to
/// see: some element of both has one address.

#include <gdr/dispatch/device_facts.hpp>
#include <gdr/dispatch/forward_problem.hpp>
#include <gdr/types/status.hpp>

#include <cstring>

GDR_NAMESPACE_BEGIN
namespace detail {

/// By its bits, so that -ffast-math does not decide.
GDR_HIDDEN inline bool is_finite(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return (bits & 0x7f800000u) != 0x7f800000u;
}

GDR_HIDDEN inline Status invalid(const char* argument, const char* message) {
  return {StatusCode::invalid_argument, argument, message, 0};
}

GDR_HIDDEN inline Status unsupported(const char* argument, const char* message) {
  return {StatusCode::unsupported, argument, message, 0};
}

// --- 1. Sizes ---

/// Products of sizes, zeros counted as ones: strides are such products too.
GDR_HIDDEN inline Status check_extent(const ForwardProblem& p) {
  const Shape& s = p.shape;
  const char* too_large = "the tensors of this shape pass 2^60 bytes";
  const int64_t element = sizeof(double);
  const int64_t heads = s.heads > s.key_heads ? s.heads : s.key_heads;
  const int64_t sequences = p.has_offsets ? p.offset_sequences : s.batch;
  const auto grow = [](int64_t& bytes, int64_t size) {
    bytes = limited_product(bytes, size > 1 ? size : 1);
    return bytes < size_limit;
  };
  int64_t tokens = element * (s.key_dim > s.value_dim ? s.key_dim : s.value_dim);
  int64_t states = element * s.key_dim * s.value_dim;
  if (!grow(tokens, heads) || !grow(states, heads)) {
    return invalid(s.heads == heads ? "shape.heads" : "shape.key_heads", too_large);
  }
  if (!grow(tokens, s.seq_len)) return invalid("shape.seq_len", too_large);
  if (!grow(tokens, s.batch)) return invalid("shape.batch", too_large);
  if (!grow(states, sequences)) {
    return invalid(p.has_offsets ? "cu_seqlens" : "shape.batch", too_large);
  }
  return {};
}

GDR_HIDDEN inline Status check_sizes(const ForwardProblem& p) {
  const Shape& s = p.shape;
  const struct {
    const char* name;
    int64_t value;
  } sizes[] = {{"shape.batch", s.batch},     {"shape.seq_len", s.seq_len},
               {"shape.heads", s.heads},     {"shape.key_heads", s.key_heads},
               {"shape.key_dim", s.key_dim}, {"shape.value_dim", s.value_dim}};
  for (const auto& size : sizes) {
    if (size.value < 0) return invalid(size.name, "a size is negative");
  }
  if (s.key_heads > 0 && s.heads % s.key_heads != 0) {
    return invalid("shape.key_heads", "shape.heads is not a multiple of shape.key_heads");
  }
  const char* too_wide = "a head dimension passes the extent in the layer's type";
  if (s.key_dim > p.max_key_dim) return invalid("shape.key_dim", too_wide);
  if (s.value_dim > p.max_value_dim) return invalid("shape.value_dim", too_wide);

  const char* offsets = "cu_seqlens";
  if (p.offset_sequences < 0) return invalid(offsets, "the number of sequences is negative");
  if (!p.has_offsets && p.offset_sequences > 0) {
    return invalid(offsets, "sequences are given but their offsets are null");
  }
  if (p.has_offsets && s.batch != 1) return invalid(offsets, "cu_seqlens needs shape.batch 1");
  return check_extent(p);
}

// --- 2. and 3. Options and the device ---

GDR_HIDDEN inline Status check_options(const ForwardProblem& p) {
  if (p.element_type == DataType::float64) {
    return unsupported("q", "float64 tensors are for the reference alone");
  }
  if (!is_finite(p.scale)) return invalid("scale", "the scale is not finite");
  if (!is_finite(p.qk_l2norm_eps) || p.qk_l2norm_eps < 0) {
    return invalid("qk_l2norm_eps", "the epsilon is negative or not finite");
  }
  if (p.algorithm < Algorithm::automatic || p.algorithm > Algorithm::by_length) {
    return invalid("algorithm", "the value names no form");
  }
  const bool chunked = p.algorithm != Algorithm::automatic && p.algorithm != Algorithm::recurrent;
  if (chunked && p.delta_rule) {
    return unsupported(
        "algorithm",
        "the chunked forms serve the outer product rule: use Algorithm::recurrent or "
        "Algorithm::automatic for the delta rule");
  }
  if (p.split_state_operand && p.algorithm == Algorithm::recurrent) {
    return unsupported("split_state_operand",
                       "the recurrent form has no such operand: use Algorithm::chunked");
  }
  const char* no_pools = "state pools are not built yet";
  if (p.state_in != nullptr) return unsupported("state_in", no_pools);
  if (p.state_out != nullptr) return unsupported("state_out", no_pools);
  if (p.has_state != nullptr) return unsupported("has_state", no_pools);
  return {};
}

GDR_HIDDEN inline Status check_device(const DeviceFacts& facts) {
  if (facts.compute_capability >= 80) return {};
  return unsupported("device",
                     "the current device is below compute capability 8.0: gdr needs sm_80 or later "
                     "(CMAKE_CUDA_ARCHITECTURES 80 or later)");
}

// --- 4. Workspace ---

GDR_HIDDEN inline Status check_workspace(const ForwardProblem& p) {
  if (p.required_workspace > 0 && p.workspace == nullptr) {
    return invalid("workspace", "scratch of workspace_size(args) bytes is needed and this is null");
  }
  if (p.workspace_bytes < p.required_workspace) {
    return invalid("workspace_bytes", "the workspace is smaller than workspace_size(args)");
  }
  return {};
}

// --- 5. Each tensor ---

GDR_HIDDEN inline Status check_output_strides(const TensorInfo& t) {
  for (int d = 0; d < 4; ++d) {
    if (t.extents[d] > 1 && t.strides[d] <= 0) {
      return invalid(t.name, "an output's stride is zero or negative");
    }
  }
  if (overlaps_itself(t)) return invalid(t.name, "elements of the output share an address");
  return {};
}

GDR_HIDDEN inline Status check_location(const TensorInfo& t, const DeviceFacts& facts) {
  const int device = facts.device_of(t.data);
  if (device == facts.device || device == on_any_device) return {};
  return invalid(t.name, device == on_host
                             ? "the pointer is host memory that the device cannot read"
                             : "the pointer belongs to another device than the current one");
}

GDR_HIDDEN inline Status check_tensor(const TensorInfo& t, bool is_output,
                                      const DeviceFacts& facts) {
  if (t.data == nullptr) {
    const bool due = t.if_null != nullptr && element_count(t) > 0;
    return due ? invalid(t.name, t.if_null) : Status{};
  }
  if (t.if_given != nullptr) return invalid(t.name, t.if_given);
  if (t.type != DataType::float32 && t.type != t.other_type) {
    return invalid(t.name, t.is_state ? "a state is float32 or bfloat16"
                                      : "the tensor is float32 or of the layer's element type");
  }
  if (t.is_state && t.layout != StateLayout::kv && t.layout != StateLayout::vk) {
    return invalid(t.name, "a state's layout is kv or vk");
  }
  if (t.strides[3] != 1) return invalid(t.name, "the innermost stride is not 1");
  if (!has_elements(t)) return {};
  if (reach(t) >= size_limit / t.element_size) {
    return invalid(t.name, "the strides reach over 2^60 bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(t.data) % static_cast<unsigned>(t.alignment) != 0) {
    return invalid(t.name, "the pointer is not aligned to the size of its elements");
  }
  if (is_output) {
    if (const Status status = check_output_strides(t); !status.ok()) return status;
  }
  return check_location(t, facts);
}

// --- 6. Pairs of tensors ---

GDR_HIDDEN inline Status check_pair(const TensorInfo& output, const TensorInfo& other) {
  if (!has_elements(output) || !has_elements(other)) return {};
  if (output.is_state && other.is_state && output.data == other.data) {
    if (output.type == other.type && output.layout == other.layout && same_strides(output, other)) {
      return {};
    }
    return invalid(output.name, "in place needs initial_state's type, layout and strides");
  }
  return meet(output, other) ? invalid(output.name, "the output overlaps another tensor")
                             : Status{};
}

GDR_HIDDEN inline Status check_tensors(const ForwardProblem& p, const DeviceFacts& facts) {
  for (const TensorInfo& input : p.inputs) {
    if (const Status status = check_tensor(input, false, facts); !status.ok()) return status;
  }
  for (const TensorInfo& output : p.outputs) {
    if (const Status status = check_tensor(output, true, facts); !status.ok()) return status;
  }
  for (const TensorInfo& output : p.outputs) {
    for (const TensorInfo& input : p.inputs) {
      if (const Status status = check_pair(output, input); !status.ok()) return status;
    }
    for (const TensorInfo* earlier = p.outputs; earlier != &output; ++earlier) {
      if (const Status status = check_pair(output, *earlier); !status.ok()) return status;
    }
  }
  return {};
}

GDR_HIDDEN inline Status check_problem(ForwardProblem p, const DeviceFacts& facts) {
  if (const Status status = check_sizes(p); !status.ok()) return status;
  if (const Status status = check_options(p); !status.ok()) return status;
  if (const Status status = check_device(facts); !status.ok()) return status;
  if (const Status status = check_workspace(p); !status.ok()) return status;
  for (TensorInfo& input : p.inputs) fill_strides(input);
  for (TensorInfo& output : p.outputs) fill_strides(output);
  return check_tensors(p, facts);
}

}  // namespace detail

/// The status of a forward call with these arguments on this device: ok, or the first fault in the
/// order above. `required_workspace`: what workspace_size(args) returns, in bytes. Takes arguments
/// before or after resolve(); before is safer, as resolve() multiplies sizes that are not yet known
/// to fit.
template <class Layer>
GDR_HIDDEN Status check_forward(const ForwardArgs<Layer>& args, const DeviceFacts& facts,
                                int64_t required_workspace = 0) {
  return detail::check_problem(detail::erase_types(args, required_workspace), facts);
}

GDR_NAMESPACE_END
