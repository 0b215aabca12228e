// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// PTX of the copy engine that moves boxes of tensors to shared memory (sm_90 on), and of the
/// barrier it reports to.

#include <gdr/thread/mma.cuh>

GDR_NAMESPACE_BEGIN

/// CUtensorMap as bytes: what a tensor's boxes look like, made on the host.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

inline constexpr bool has_copy_engine = true;

/// True for one thread of a warp, which is converged. Unlike of `lane == 0`, the compiler knows that it
/// is one, and makes no loop over threads around what takes uniform registers.
GDR_DEVICE bool is_elected() {
  int elected;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xffffffff;\n selp.b32 %0, 1, 0, p;\n}"
               : "=r"(elected));
  return elected != 0;
}

/// What this thread wrote to shared memory comes before what the copy engine, or a warpgroup's
/// product, does there after a barrier.
GDR_DEVICE void publish_to_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Makes a barrier that one thread arrives at.
GDR_DEVICE void init_arrival(uint64_t& barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
GDR_DEVICE void end_arrival(uint64_t& barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
}
/// Arrives, and has the phase wait for so many bytes too.
GDR_DEVICE void expect_bytes(uint64_t& barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
      "r"(bytes)
      : "memory");
}
/// Waits for the end of a phase: 0, 1, 0, ...
GDR_DEVICE void wait_for_bytes(uint64_t& barrier, uint32_t phase) {
  asm volatile(
      "{\n .reg .pred done;\nwait:\n"
      " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      " @!done bra wait;\n}" ::"r"(shared_address(&barrier)),
      "r"(phase)
      : "memory");
}
/// Starts the copy of a box of a tensor [.., .., .., channels], from the given coordinates on. It is
/// the first to leave the L2: else tensors would push out of it what kernels begin with, code and
/// parameters (8192 tokens of 8 heads in pieces, three kernels: 63 us, else 71).
GDR_DEVICE void copy_box(uint32_t target, const TensorMap& map, uint64_t& barrier, int channel,
                         int head, int token, int batch) {
  asm volatile(
      "{\n .reg .b64 leaves;\n createpolicy.fractional.L2::evict_first.b64 leaves, 1.0;\n"
      " cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], leaves;\n}" ::"r"(target),
      "l"(&map), "r"(shared_address(&barrier)), "r"(channel), "r"(head), "r"(token), "r"(batch)
      : "memory");
}

#else

inline constexpr bool has_copy_engine = false;

GDR_DEVICE bool is_elected() { return false; }
GDR_DEVICE void publish_to_async_proxy() {}

GDR_DEVICE void init_arrival(uint64_t&) {}
GDR_DEVICE void end_arrival(uint64_t&) {}
GDR_DEVICE void expect_bytes(uint64_t&, uint32_t) {}
GDR_DEVICE void wait_for_bytes(uint64_t&, uint32_t) {}
GDR_DEVICE void copy_box(uint32_t, const TensorMap&, uint64_t&, int, int, int, int) {}

#endif

GDR_NAMESPACE_END
