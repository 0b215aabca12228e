// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Barriers among some of a block's warps.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

/// Hardware barriers in use; 0 is __syncthreads'.
enum BarrierId : int {
  barrier_turn = 1,
  barrier_stage_q,
  barrier_stage_k,
  barrier_prepare,
  barrier_loaded,
  barrier_scored,
  barrier_split,
  barrier_scores
};

/// Waits for `Threads` threads (whole warps) of the block at this barrier and orders their
/// shared-memory accesses. A single warp needs no barrier of the block's. `Converged`: the threads
/// of a warp are known to be.
///
/// PTX bar.sync, the aligned form, among warps of one role, of which each is converged;
/// barrier.sync where the roles of a block arrive from their own code.
template <BarrierId Barrier, int Threads, bool Converged = false>
GDR_DEVICE void sync_threads() {
  static_assert(Threads % 32 == 0, "whole warps meet at a barrier");
  constexpr bool of_one_role = Barrier == barrier_stage_q || Barrier == barrier_stage_k ||
                               Barrier == barrier_prepare || Barrier == barrier_scores;
  if constexpr (!Converged) __syncwarp();
  if constexpr (Threads > 32 && of_one_role) {
    asm volatile("bar.sync %0, %1;" ::"n"(static_cast<int>(Barrier)), "n"(Threads) : "memory");
  } else if constexpr (Threads > 32) {
    asm volatile("barrier.sync %0, %1;" ::"n"(static_cast<int>(Barrier)), "n"(Threads) : "memory");
  }
}

/// PTX bar.red.or: sync_threads among warps of one role, and whether any of the threads says so.
template <BarrierId Barrier, int Threads>
GDR_DEVICE bool any_of_threads_at(bool mine) {
  static_assert(Threads % 32 == 0 && Threads > 32, "several whole warps meet at a barrier");
  __syncwarp();
  int any;
  asm volatile(
      "{\n .reg .pred one, any;\n setp.ne.s32 one, %1, 0;\n"
      " bar.red.or.pred any, %2, %3, one;\n selp.s32 %0, 1, 0, any;\n}"
      : "=r"(any)
      : "r"(static_cast<int>(mine)), "n"(static_cast<int>(Barrier)), "n"(Threads)
      : "memory");
  return any != 0;
}

/// PTX barrier.arrive: the part of sync_threads for those who do not wait for the others.
template <BarrierId Barrier, int Threads>
GDR_DEVICE void arrive_at() {
  __syncwarp();
  asm volatile("barrier.arrive %0, %1;" ::"n"(static_cast<int>(Barrier)), "n"(Threads) : "memory");
}

GDR_NAMESPACE_END
