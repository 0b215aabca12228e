// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Fills DeviceFacts from the CUDA runtime. Only queries that neither synchronise nor allocate and
/// that a capturing stream permits.

#include <gdr/dispatch/device_facts.hpp>
#include <gdr/dispatch/forward_problem.hpp>
#include <gdr/types/status.hpp>

#include <cuda_runtime_api.h>

GDR_NAMESPACE_BEGIN
namespace detail {

/// A failing runtime call also leaves its code as the thread's last error, where the caller would
/// take it for one of his own launches'. It is in the status: take it back, unless an error of the
/// caller's was there before.
template <class Query>
GDR_HIDDEN cudaError_t ask_cuda(Query query) {
  const bool was_clean = cudaPeekAtLastError() == cudaSuccess;
  const cudaError_t error = query();
  if (error != cudaSuccess && was_clean) static_cast<void>(cudaGetLastError());
  return error;
}

GDR_HIDDEN inline cudaError_t query_device(DeviceFacts& facts, bool& reads_all_host_memory) {
  if (const cudaError_t error = cudaGetDevice(&facts.device); error != cudaSuccess) return error;
  int major = 0, minor = 0, shared_memory = 0, pageable = 0;
  const struct {
    int* value;
    cudaDeviceAttr attribute;
  } queries[] = {{&major, cudaDevAttrComputeCapabilityMajor},
                 {&minor, cudaDevAttrComputeCapabilityMinor},
                 {&shared_memory, cudaDevAttrMaxSharedMemoryPerBlockOptin},
                 {&facts.multiprocessors, cudaDevAttrMultiProcessorCount},
                 {&pageable, cudaDevAttrPageableMemoryAccess}};
  for (const auto& query : queries) {
    const cudaError_t error = cudaDeviceGetAttribute(query.value, query.attribute, facts.device);
    if (error != cudaSuccess) return error;
  }
  facts.compute_capability = 10 * major + minor;
  facts.shared_memory_per_block = shared_memory;
  reads_all_host_memory = pageable != 0;
  return cudaSuccess;
}

/// Where the memory is that CUDA describes so.
GDR_HIDDEN inline int location(const cudaPointerAttributes& attributes, const void* pointer,
                               bool reads_all_host_memory) {
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return attributes.device;
    case cudaMemoryTypeManaged:
      return on_any_device;
    case cudaMemoryTypeHost:  // registered memory may have another address on the device
      return attributes.devicePointer == pointer ? on_any_device : on_host;
    default:
      return reads_all_host_memory ? on_any_device : on_host;
  }
}

GDR_HIDDEN inline Status query_problem(const ForwardProblem& problem, DeviceFacts& facts) {
  facts = DeviceFacts{};
  bool reads_all_host_memory = false;
  const cudaError_t error = ask_cuda([&] { return query_device(facts, reads_all_host_memory); });
  if (error != cudaSuccess) {
    return {StatusCode::cuda_error, "device",
            "CUDA has no current device: no GPU or no usable driver, cuda_error says which", error};
  }
  const auto note = [&](const TensorInfo& tensor) -> Status {
    if (tensor.data == nullptr) return {};
    cudaPointerAttributes attributes{};
    const cudaError_t failure =
        ask_cuda([&] { return cudaPointerGetAttributes(&attributes, tensor.data); });
    if (failure != cudaSuccess) {
      return {StatusCode::cuda_error, tensor.name, "CUDA does not describe the pointer", failure};
    }
    facts.add(tensor.data, location(attributes, tensor.data, reads_all_host_memory));
    return {};
  };
  for (const TensorInfo& input : problem.inputs) {
    if (const Status status = note(input); !status.ok()) return status;
  }
  for (const TensorInfo& output : problem.outputs) {
    if (const Status status = note(output); !status.ok()) return status;
  }
  return {};
}

}  // namespace detail

/// Describes the current device and the memory of every pointer in the arguments. A status that is
/// not ok carries CUDA's code, e.g. for a machine without a device; `facts` are then incomplete.
template <class Layer>
GDR_HIDDEN Status query_device_facts(const ForwardArgs<Layer>& args, DeviceFacts& facts) {
  return detail::query_problem(detail::erase_types(args, 0), facts);
}

GDR_NAMESPACE_END
