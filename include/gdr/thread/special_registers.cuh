// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// PTX special registers, read where the compiler must not keep an earlier reading.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

/// PTX %ctaid.x: blockIdx.x, read here and now.
GDR_DEVICE unsigned block_index_x() {
  unsigned index;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
  return index;
}

/// PTX %tid.x: threadIdx.x, likewise.
GDR_DEVICE int thread_index_x() {
  int index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
}

/// x, of which the compiler does not know that it is: what is made from it is made here, not ahead
/// of a loop, where it would hold a register meanwhile.
GDR_DEVICE int opaque(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
/// The same by an instruction, so that x before and after it may be in different registers.
GDR_DEVICE float opaque(float x) {
  asm volatile("mov.b32 %0, %0;" : "+f"(x));
  return x;
}

GDR_NAMESPACE_END
