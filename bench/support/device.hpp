// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Which GPU, driver and CUDA this program meets. The ways of having no GPU are told apart: no
/// driver and no device are ordinary, a driver that is too old is a fault to be mended.

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>

namespace gdr::bench {

enum class DeviceState { ready, no_driver, no_device, driver_too_old, failed };

struct Device {
  DeviceState state = DeviceState::failed;
  std::string reason;  // a sentence, where the state is not `ready`

  std::string name;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  std::string driver;        // "580.82.07"
  std::string driver_cuda;   // newest CUDA that the driver serves, "13.0"
  std::string runtime_cuda;  // CUDA runtime of this program, "13.0"
};

inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The driver's own version, which the CUDA runtime does not tell; "unknown" where the management
/// library is not there.
inline std::string driver_version_text() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "unknown";
  using Init = int (*)();
  using Version = int (*)(char*, unsigned);
  const auto init = reinterpret_cast<Init>(dlsym(library, "nvmlInit_v2"));
  const auto version = reinterpret_cast<Version>(dlsym(library, "nvmlSystemGetDriverVersion"));
  const auto shutdown = reinterpret_cast<Init>(dlsym(library, "nvmlShutdown"));
  char text[96] = "unknown";
  if (init != nullptr && version != nullptr && shutdown != nullptr && init() == 0) {
    if (version(text, sizeof(text)) != 0) text[0] = '\0';
    shutdown();
  }
  dlclose(library);
  return text[0] == '\0' ? "unknown" : text;
}

/// The current device.
inline Device find_device() {
  Device device;
  int driver = 0;
  int runtime = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  device.runtime_cuda = cuda_version_text(runtime);
  device.driver_cuda = cuda_version_text(driver);

  const auto without = [&device](DeviceState state, std::string reason) {
    device.state = state;
    device.reason = std::move(reason);
    return device;
  };
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  // One code stands for both a missing driver and an old one; the driver's version tells which.
  if (error == cudaErrorInsufficientDriver && driver == 0) {
    return without(DeviceState::no_driver, "no NVIDIA driver is installed");
  }
  if (error == cudaErrorInsufficientDriver) {
    return without(DeviceState::driver_too_old, "the NVIDIA driver is too old: it serves CUDA " +
                                                    device.driver_cuda + ", this program needs " +
                                                    device.runtime_cuda);
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return without(DeviceState::no_device, "an NVIDIA driver is installed, but shows no GPU");
  }

  int current = 0;
  cudaDeviceProp properties{};
  if (error == cudaSuccess) error = cudaGetDevice(&current);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, current);
  if (error != cudaSuccess) {
    return without(DeviceState::failed, std::string("the GPU cannot be used: ") +
                                            cudaGetErrorName(error) + ", " +
                                            cudaGetErrorString(error));
  }
  device.state = DeviceState::ready;
  device.name = properties.name;
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.l2_bytes = properties.l2CacheSize;
  device.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  device.driver = driver_version_text();
  return device;
}

}  // namespace gdr::bench
