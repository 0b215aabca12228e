// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "problem.cuh"

#define GDR_TEST_EXPORT extern "C" __attribute__((visibility("default")))

GDR_TEST_EXPORT int library_run() { return run_problem(); }

GDR_TEST_EXPORT const void* library_forward() {
  return reinterpret_cast<const void*>(forward_function);
}

/// 10 * major + minor of the current device, 0 without one.
GDR_TEST_EXPORT int library_capability() {
  int device = 0, major = 0, minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return 10 * major + minor;
}
