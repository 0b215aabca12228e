// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Runs problems on the GPU: every tensor in a buffer with guard bands, outputs and scratch filled
/// with NaN before each call, guards and inputs checked after it.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gdr/forward.cuh>

#include "oracle.hpp"

namespace gdr::test {

/// Off for initcheck, which must see what a kernel reads before anything wrote it: outputs and
/// scratch then stay as cudaMalloc left them, and their guard bands are not checked.
#if defined(GDR_TEST_NO_POISON)
inline constexpr bool poison = false;
#else
inline constexpr bool poison = true;
#endif

/// The policy that problems run with. A program of one form's tests compiles that form alone.
#if defined(GDR_TEST_RECURRENT_ONLY)
template <class Layer>
using TestPolicy = RecurrentPolicy<Layer>;
#elif defined(GDR_TEST_CHUNKED_ONLY)
template <class Layer>
using TestPolicy = ChunkedPolicy<Layer>;
#else
template <class Layer>
using TestPolicy = DefaultPolicy<Layer>;
#endif

/// A fault of the harness itself; GoogleTest reports the exception as a failure.
inline void cuda_check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// Why no device can run these tests; empty: one can.
inline std::string why_no_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return std::string("no CUDA device: ") + cudaGetErrorString(error);
  }
  if (count == 0) return "no CUDA device";
  int major = 0;
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "capability");
  return major < 8 ? "the CUDA device is below compute capability 8.0" : "";
}

/// A test that needs a device: without one it is skipped, or fails under GDR_REQUIRE_GPU.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = why_no_device();
    if (reason.empty()) return;
#if defined(GDR_REQUIRE_GPU)
    FAIL() << reason;
#else
    GTEST_SKIP() << reason;
#endif
  }
};

/// The same for each form of the algorithm.
class DeviceTestByForm : public DeviceTest, public testing::WithParamInterface<Algorithm> {};

inline auto every_form() { return testing::Values(Algorithm::recurrent); }

/// The forms on tensor cores; they serve the outer product alone.
inline auto every_chunked_form() {
  return testing::Values(Algorithm::chunked, Algorithm::chunked_split);
}

inline std::string form_name(const testing::TestParamInfo<Algorithm>& info) {
  switch (info.param) {
    case Algorithm::automatic:
      return "automatic";
    case Algorithm::recurrent:
      return "recurrent";
    case Algorithm::chunked:
      return "chunked";
    case Algorithm::chunked_split:
      return "chunked_split";
    case Algorithm::by_length:
      return "by_length";
  }
  return "unknown";
}

/// Device memory, freed with its owner.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    cuda_check(cudaMalloc(&data_, bytes), "cudaMalloc");
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() { (void)cudaFree(data_); }

  unsigned char* data() const { return static_cast<unsigned char*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A stream of its own, not synchronised with the default one.
class Stream {
 public:
  Stream() {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { cuda_check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A problem's copy on the device.
template <class Layer>
class DeviceProblem {
 public:
  explicit DeviceProblem(const Problem<Layer>& problem) {
    for (const Storage& storage : problem.storages) memory_.emplace_back(storage.bytes.size());
    workspace_bytes_ = workspace_size<Layer>(problem.args(bases()));
    const std::int64_t guards = Storage::front_guard + Storage::back_guard;
    if (workspace_bytes_ > 0) {
      workspace_ = DeviceMemory(static_cast<std::size_t>(workspace_bytes_ + guards));
    }
    upload(problem);
  }

  /// Copies the problem's storages: inputs, guards and poisoned outputs. Sizes stay.
  void upload(const Problem<Layer>& problem) {
    problem_ = problem;
    for (std::size_t s = 0; s < memory_.size(); ++s) {
      if (!poison && is_output(s)) continue;
      cuda_check(cudaMemcpy(memory_[s].data(), problem.storages[s].bytes.data(), memory_[s].bytes(),
                            cudaMemcpyHostToDevice),
                 "upload");
    }
    poison_workspace();
    // Streams that do not wait for the default one may read what was copied.
    cuda_check(cudaDeviceSynchronize(), "upload");
  }

  /// The arguments over the device's copy.
  ForwardArgs<Layer> args() const {
    ForwardArgs<Layer> args = problem_.args(bases());
    if (workspace_bytes_ > 0) args.workspace = workspace_.data() + Storage::front_guard;
    args.workspace_bytes = workspace_bytes_;
    return args;
  }

  const Problem<Layer>& problem() const { return problem_; }

  Status launch(cudaStream_t stream = nullptr) const {
    return forward<Layer, TestPolicy<Layer>>(args(), stream);
  }

  /// Waits for the device and reads the outputs. Anything else that changed is a test failure.
  Result collect() const {
    cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<std::vector<unsigned char>> after = download();
    Result result;
    const Tensor& o = problem_.o;
    if (o.present()) {
      result.o.reserve(static_cast<std::size_t>(o.count()));
      o.for_each([&](const Index&, std::int64_t where) {
        result.o.push_back(take(after, o.storage, o.type, where));
      });
    }
    const StateTensor& state = problem_.final_state;
    if (state.present()) {
      result.final_state.reserve(static_cast<std::size_t>(state.count()));
      state.for_each([&](std::int64_t where) {
        result.final_state.push_back(take(after, state.storage, state.type, where));
      });
    }
    expect_unchanged(after);
    return result;
  }

  /// After a refused call: nothing at all has changed.
  void expect_nothing_written() const {
    cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    expect_unchanged(download());
  }

 private:
  std::vector<unsigned char*> bases() const {
    std::vector<unsigned char*> bases;
    for (const DeviceMemory& memory : memory_) bases.push_back(memory.data());
    return bases;
  }

  void poison_workspace() {
    if (workspace_bytes_ == 0 || !poison) return;
    cuda_check(cudaMemset(workspace_.data(), 0xff, workspace_.bytes()), "poison");
  }

  /// Whether a storage holds nothing that a kernel may read.
  bool is_output(std::size_t storage) const {
    const int s = static_cast<int>(storage);
    return s == problem_.o.storage ||
           (s == problem_.final_state.storage && s != problem_.initial_state.storage);
  }

  std::vector<std::vector<unsigned char>> download() const {
    std::vector<std::vector<unsigned char>> bytes;
    for (const DeviceMemory& memory : memory_) {
      bytes.emplace_back(memory.bytes());
      cuda_check(
          cudaMemcpy(bytes.back().data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost),
          "download");
    }
    return bytes;
  }

  /// Reads an output element and puts back what was there before the call.
  float take(std::vector<std::vector<unsigned char>>& after, int storage, DataType type,
             std::int64_t where) const {
    unsigned char* element = after[static_cast<std::size_t>(storage)].data() + where;
    const float value = decode_float(type, element);
    std::memcpy(element, problem_.byte(storage, where), static_cast<std::size_t>(size_of(type)));
    return value;
  }

  void expect_unchanged(const std::vector<std::vector<unsigned char>>& after) const {
    for (std::size_t s = 0; s < after.size(); ++s) {
      if (!poison && is_output(s)) continue;
      const std::vector<unsigned char>& before = problem_.storages[s].bytes;
      if (std::memcmp(after[s].data(), before.data(), before.size()) == 0) continue;
      std::size_t byte = 0;
      while (after[s][byte] == before[byte]) ++byte;
      ADD_FAILURE() << "byte " << static_cast<std::int64_t>(byte) - Storage::front_guard << " of "
                    << storage_name(static_cast<int>(s)) << " (" << before.size()
                    << " bytes with its guard bands) was written; " << problem_.describe();
    }
    expect_workspace_guards();
  }

  void expect_workspace_guards() const {
    if (workspace_bytes_ == 0 || !poison) return;
    std::vector<unsigned char> bytes(workspace_.bytes());
    cuda_check(cudaMemcpy(bytes.data(), workspace_.data(), bytes.size(), cudaMemcpyDeviceToHost),
               "download");
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i) - Storage::front_guard;
      if (at >= 0 && at < workspace_bytes_) continue;
      if (bytes[i] != 0xff) {
        ADD_FAILURE() << "byte " << at << " beside a workspace of " << workspace_bytes_
                      << " bytes was written; " << problem_.describe();
        return;
      }
    }
  }

  std::string storage_name(int storage) const {
    if (storage == problem_.o.storage) return "o";
    if (storage == problem_.q.storage) return "q";
    if (storage == problem_.k.storage) return "k";
    if (storage == problem_.v.storage) return "v";
    if (storage == problem_.gate.storage) return "gate";
    if (storage == problem_.beta.storage) return "beta";
    if (storage == problem_.initial_state.storage) return "initial_state";
    if (storage == problem_.final_state.storage) return "final_state";
    if (storage == problem_.cu_seqlens_storage) return "cu_seqlens";
    return "the gate function's parameters";
  }

  Problem<Layer> problem_;
  std::vector<DeviceMemory> memory_;
  DeviceMemory workspace_;
  std::int64_t workspace_bytes_ = 0;
};

inline std::string describe(const Status& status) {
  return std::string("status ") + std::to_string(static_cast<int>(status.code)) + ", argument \"" +
         status.argument + "\", \"" + status.message + "\", CUDA " +
         std::to_string(status.cuda_error);
}

/// Runs a problem once; a status other than ok is a test failure.
template <class Layer>
Result run_on_device(const Problem<Layer>& problem, cudaStream_t stream = nullptr) {
  const DeviceProblem<Layer> device(problem);
  const Status status = device.launch(stream);
  EXPECT_TRUE(status.ok()) << describe(status) << "; " << problem.describe();
  return device.collect();
}

/// Judges a result by the reference.
template <class Layer>
void expect_matches(const Problem<Layer>& problem, const Expected& expected, const Result& result,
                    const Scope& scope = {}) {
  const Verdict verdict = check(problem, Layer::element_type, expected, result, scope);
  EXPECT_TRUE(verdict.ok) << verdict.message << "; " << problem.describe();
}

template <class Layer>
void expect_matches(const Problem<Layer>& problem, const Result& result, const Scope& scope = {}) {
  expect_matches(problem, expect(problem), result, scope);
}

/// Runs a problem and judges it.
template <class Layer>
Result run_and_check(const Problem<Layer>& problem, const Scope& scope = {}) {
  const Result result = run_on_device(problem);
  expect_matches(problem, result, scope);
  return result;
}

template <class Layer>
Result run_and_check(const Spec& spec, const Scope& scope = {}) {
  return run_and_check(make_problem<Layer>(spec), scope);
}

/// o and final state bit by bit.
inline void expect_same_bits(const Result& a, const Result& b, const std::string& what) {
  const Verdict o = same_bits(a.o, b.o);
  EXPECT_TRUE(o.ok) << "o differs, " << what << ": " << o.message;
  const Verdict state = same_bits(a.final_state, b.final_state);
  EXPECT_TRUE(state.ok) << "final_state differs, " << what << ": " << state.message;
}

/// Layer types, and a body that runs for each of them.
template <class... Layers>
struct LayerList {};

template <class T>
struct Type {
  using type = T;
};

template <class... Layers, class Body>
void for_each_layer(LayerList<Layers...>, Body body) {
  (
      [&] {
        SCOPED_TRACE(layer_name<Layers>());
        body(Type<Layers>{});
      }(),
      ...);
}

}  // namespace gdr::test
