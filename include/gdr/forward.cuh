// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The forward pass: arguments -> checks -> policy -> launch.

#include <gdr/dispatch/checks.hpp>
#include <gdr/dispatch/device_facts.cuh>
#include <gdr/dispatch/form.hpp>
#include <gdr/dispatch/launch.cuh>
#include <gdr/forward.hpp>

GDR_NAMESPACE_BEGIN

/// Bytes of device memory that forward<Layer>(args) makes use of as args.workspace, 16-byte
/// aligned. Host arithmetic on the arguments alone. Algorithm::chunked_split needs it; under
/// Algorithm::automatic it is what lets few heads with long sequences be split, and may be left
/// out. The other forms need none.
template <class Layer>
GDR_HIDDEN int64_t workspace_size(const ForwardArgs<Layer>& args) {
  detail::FormProblem problem = detail::form_problem(args);
  problem.has_workspace = true;
  const bool split = detail::choose_form(problem) == Algorithm::chunked_split;
  return split && !problem.delta_rule ? detail::split_workspace(problem) : 0;
}

namespace detail {

/// Asks for the device's facts, checks the arguments, and calls use(launch, resolved arguments,
/// facts) with the launch of the policy's that serves them.
template <class Layer, class Policy, class Use>
GDR_HIDDEN Status prepare(const ForwardArgs<Layer>& args, Use use) {
  DeviceFacts facts;
  if (const Status status = query_device_facts(args, facts); !status.ok()) return status;
  const bool takes_workspace = args.algorithm != Algorithm::automatic || args.workspace != nullptr;
  const int64_t workspace = takes_workspace ? workspace_size(args) : 0;
  if (const Status status = check_forward(args, facts, workspace); !status.ok()) return status;
  const ForwardArgs<Layer> resolved = resolve(args);
  return with_launch<Layer, Policy>(resolved, facts, [&](auto launch) {
    if (const Status status = launch.check(resolved, facts); !status.ok()) return status;
    return use(launch, resolved, facts);
  });
}

}  // namespace detail

/// What forward<Layer, Policy>(args, stream) would answer, short of CUDA refusing the launch
/// itself; launches nothing.
template <class Layer, class Policy>
GDR_HIDDEN Status can_forward(const ForwardArgs<Layer>& args) {
  return detail::prepare<Layer, Policy>(args,
                                        [](auto, const auto&, const auto&) { return Status{}; });
}

/// Runs the recurrence
///
///     S <- S * a_t;   S <- S + k_t (outer) u_t;   o_t = scale * S^T q_t
///
/// over every sequence and value head, on `stream` of the current device.
///
/// \tparam Layer   a Recurrence: head dimensions, element type, gate, rule
/// \tparam Policy  tuning; by default DefaultPolicy<Layer>, or a type of the caller's with members
///                 `static constexpr RecurrentTuning recurrent`, `static constexpr ChunkedTuning
///                 chunked` or both
/// \param args     shapes and pointers, see ForwardArgs; read before the call returns
/// \return ok, or the argument at fault; then nothing was launched and nothing written.
///
/// Neither allocates nor synchronises, keeps no state, may be captured in a graph. Bitwise the same
/// from run to run on one GPU model. In the recurrent and the chunked form and by_length, asked for
/// by name, a sequence's bits do not depend on what else is in the batch; args.batch_invariant asks
/// the same of Algorithm::automatic and chunked_split.
template <class Layer, class Policy>
GDR_HIDDEN Status forward(const ForwardArgs<Layer>& args, cudaStream_t stream) {
  return detail::prepare<Layer, Policy>(
      args, [stream](auto launch, const auto& resolved, const DeviceFacts& facts) {
        return launch.run(resolved, facts, stream);
      });
}

GDR_NAMESPACE_END
