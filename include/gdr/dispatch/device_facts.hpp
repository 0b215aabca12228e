// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What the checks need to know of the device, as a plain struct: a program without a GPU can fill
/// it by hand. device_facts.cuh asks CUDA.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

/// Stand for a device's number in DeviceFacts.
inline constexpr int on_host = -1;        // host memory that the device cannot read at this address
inline constexpr int on_any_device = -2;  // pinned, managed or otherwise readable from every device

/// The device that is current, and where the memory of the arguments lies.
struct DeviceFacts {
  int device = 0;                       // the current device
  int compute_capability = 0;           // 10 * major + minor
  int64_t shared_memory_per_block = 0;  // bytes, the maximum that a kernel may opt in to
  int multiprocessors = 0;

  struct Pointer {
    const void* pointer;
    int device;  // a device's number, on_host or on_any_device
  };
  static constexpr int max_pointers = 16;
  Pointer pointers[max_pointers] = {};
  int pointer_count = 0;

  /// Notes where a pointer's memory is; beyond max_pointers it is not noted.
  void add(const void* pointer, int where) {
    if (pointer_count < max_pointers) pointers[pointer_count++] = {pointer, where};
  }

  /// Where a pointer's memory is. One that was not noted counts as the host's, so that it is
  /// refused and not read.
  int device_of(const void* pointer) const {
    for (int i = 0; i < pointer_count; ++i) {
      if (pointers[i].pointer == pointer) return pointers[i].device;
    }
    return on_host;
  }
};

GDR_NAMESPACE_END
