// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// A libcuda.so.1 for tests: a driver of the CUDA version in GDR_FAKE_DRIVER (11040 for 11.4) on a
// machine without a device.

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int success = 0;
constexpr int no_device = 100;

int refuse() { return no_device; }

}  // namespace

extern "C" {

int cuInit(unsigned /*flags*/) { return no_device; }

int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("GDR_FAKE_DRIVER");
  *version = text == nullptr ? 0 : std::atoi(text);
  return success;
}

int cuGetProcAddress_v2(const char* name, void** function, int /*version*/, uint64_t /*flags*/,
                        int* status) {
  *function = reinterpret_cast<void*>(refuse);
  if (std::strcmp(name, "cuInit") == 0) *function = reinterpret_cast<void*>(cuInit);
  if (std::strcmp(name, "cuDriverGetVersion") == 0) {
    *function = reinterpret_cast<void*>(cuDriverGetVersion);
  }
  if (std::strcmp(name, "cuGetProcAddress") == 0) {
    *function = reinterpret_cast<void*>(cuGetProcAddress_v2);
  }
  if (status != nullptr) *status = success;
  return success;
}

int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

}  // extern "C"
