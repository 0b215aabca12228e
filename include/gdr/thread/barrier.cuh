// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Barriers among some of a block's warps.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

/// Hardware barriers in use; 0 is __syncthreads'.
enum BarrierId : int { barrier_turn = 1, barrier_stage_q, barrier_stage_k };

/// PTX barrier.sync: waits for `threads` threads (whole warps) of the block at this barrier and orders
/// their shared-memory accesses.
GDR_DEVICE void sync_threads(BarrierId barrier, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(static_cast<int>(barrier)), "r"(threads) : "memory");
}

GDR_NAMESPACE_END
