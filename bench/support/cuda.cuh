// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// CUDA's handles with owners, and its error codes as exceptions.

#include <gdr/types/status.hpp>

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gdr::bench {

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  // The error is reported here; left pending it would be reported again by the next launch.
  static_cast<void>(cudaGetLastError());
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(error) + ", " +
                           cudaGetErrorString(error));
}

inline void check(const Status& status, const char* what) {
  if (status.ok()) return;
  std::string text = std::string(what) + ": ";
  if (status.argument[0] != '\0') text += std::string(status.argument) + ": ";
  text += status.message;
  if (status.cuda_error != 0) {
    text += std::string(" (") + cudaGetErrorName(static_cast<cudaError_t>(status.cuda_error)) + ")";
  }
  throw std::runtime_error(text);
}

// Destructors cannot report; an error there has been seen by a checked call before.
struct DestroyHandle {
  void operator()(CUstream_st* stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
  void operator()(CUevent_st* event) const { static_cast<void>(cudaEventDestroy(event)); }
  void operator()(CUgraph_st* graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
  void operator()(CUgraphExec_st* graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};

using Stream = std::unique_ptr<CUstream_st, DestroyHandle>;
using Event = std::unique_ptr<CUevent_st, DestroyHandle>;
using Graph = std::unique_ptr<CUgraph_st, DestroyHandle>;
using ExecutableGraph = std::unique_ptr<CUgraphExec_st, DestroyHandle>;

inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return Stream(stream);
}

inline Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

/// An array in device memory.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(int64_t count) : count_(count) {
    void* pointer = nullptr;
    check(cudaMalloc(&pointer, bytes()), "cudaMalloc");
    data_.reset(static_cast<T*>(pointer));
  }
  explicit DeviceArray(const std::vector<T>& values)
      : DeviceArray(static_cast<int64_t>(values.size())) {
    check(cudaMemcpy(data(), values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  T* data() const { return data_.get(); }
  int64_t count() const { return count_; }
  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(T); }

  std::vector<T> download() const {
    std::vector<T> values(static_cast<size_t>(count_));
    check(cudaMemcpy(values.data(), data(), bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  struct Free {
    void operator()(T* pointer) const { static_cast<void>(cudaFree(pointer)); }
  };
  std::unique_ptr<T, Free> data_;
  int64_t count_ = 0;
};

}  // namespace gdr::bench
