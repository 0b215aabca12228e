// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Barriers among some of a block's warps.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

/// Hardware barriers in use; 0 is __syncthreads'.
enum BarrierId : int { barrier_turn = 1, barrier_stage_q, barrier_stage_k, barrier_prepare };

/// PTX barrier.sync: waits for `Threads` threads (whole warps) of the block at this barrier and
/// orders their shared-memory accesses. Not the aligned form bar.sync, as the warps of a block
/// arrive from different code. A single warp needs no barrier of the block's.
template <BarrierId Barrier, int Threads>
GDR_DEVICE void sync_threads() {
  static_assert(Threads % 32 == 0, "whole warps meet at a barrier");
  __syncwarp();
  if constexpr (Threads > 32) {
    asm volatile("barrier.sync %0, %1;" ::"n"(static_cast<int>(Barrier)), "n"(Threads) : "memory");
  }
}

GDR_NAMESPACE_END
