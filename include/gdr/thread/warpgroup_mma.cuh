// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// PTX of the Hopper warpgroup's matrix products (sm_90a alone): D += A B with D of 64 x N in
/// float, B of 16 x N in bfloat16 in shared memory, and A of 64 x 16 in registers or shared memory.
/// The four warps of a warpgroup call them together; warp w has rows 16 w on of D and A, its lanes
/// the elements that the instructions of thread/mma.cuh give them, 8 columns after 8.
///
/// Asynchronous: registers of D and A may be touched again after a wait. Between a write to shared
/// memory and a product that reads it lies publish_to_async_proxy() on the writer's side, then a
/// barrier.

#include <gdr/block/swizzled_tile.cuh>

GDR_NAMESPACE_BEGIN

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool has_warpgroup_mma = true;
#else
inline constexpr bool has_warpgroup_mma = false;
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

GDR_DEVICE void publish_to_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Changes the registers that each thread of the warpgroup may use from what the kernel starts
/// with. Every warpgroup of a block goes through this once.
template <int Start, int Registers>
GDR_DEVICE void move_registers() {
  if constexpr (Registers <= Start) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
  }
}
/// Before the first product after registers of D or A were written.
GDR_DEVICE void warpgroup_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
GDR_DEVICE void warpgroup_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `Pending` groups of products are not complete.
template <int Pending>
GDR_DEVICE void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
/// Keeps the compiler from moving uses of registers over the products or the wait before it.
template <int N>
GDR_DEVICE void hold(float (&x)[N]) {
#pragma unroll
  for (int n = 0; n < N; ++n) asm volatile("" : "+f"(x[n])::"memory");
}

/// A tile in shared memory as the instructions take it, and the matrix from its element (row,
/// column) on. The distances are those between groups of 8 rows and, where columns are the outer
/// dimension of the product, between panels.
template <class Tile>
class MatrixDescriptor {
 public:
  GDR_DEVICE explicit MatrixDescriptor(const Tile& tile)
      : bits_((shared_address(tile.data) & 0x3ffff) >> 4 | (leading_bytes >> 4) << 16 |
              (stride_bytes >> 4) << 32 | swizzle << 62) {}
  GDR_DEVICE uint64_t at(int row, int column) const {
    const int place = column / Tile::panel_columns * static_cast<int>(leading_bytes) +
                      row * Tile::panel_bytes +
                      column % Tile::panel_columns * static_cast<int>(sizeof(Tile::data[0]));
    return bits_ + static_cast<uint64_t>(place >> 4);
  }

 private:
  static constexpr uint64_t swizzle = Tile::panel_bytes == 128  ? 1
                                      : Tile::panel_bytes == 64 ? 2
                                                                : 3;
  static constexpr uint64_t stride_bytes = 8 * Tile::panel_bytes;
  static constexpr uint64_t leading_bytes = Tile::rows * Tile::panel_bytes;
  uint64_t bits_;
};

/// `d` has N / 2 elements. ByRows: B lies as [K][N], a row a token; else as [N][K].
template <int N, bool ByRows>
GDR_DEVICE void warpgroup_mma(float* d, const uint32_t (&a)[4], uint64_t b) {
  if constexpr (N == 16) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, "
        "{%8, %9, %10, %11}, %12, 1, 1, 1, %13;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(ByRows ? 1 : 0));
  } else if constexpr (N == 32) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
        "{%16, %17, %18, %19}, %20, 1, 1, 1, %21;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(ByRows ? 1 : 0));
  } else if constexpr (N == 64) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "
        "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, 1, 1, 1, %37;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(ByRows ? 1 : 0));
  } else {
    static_assert(N == 16, "gdr: N is 16, 32 or 64");
  }
}

/// The same with A in shared memory too; both lie as [M][K] and [N][K].
template <int N>
GDR_DEVICE void warpgroup_mma(float* d, uint64_t a, uint64_t b) {
  if constexpr (N == 16) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, "
        "%8, %9, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7])
        : "l"(a), "l"(b));
  } else if constexpr (N == 32) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
        "%16, %17, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15])
        : "l"(a), "l"(b));
  } else {
    static_assert(N == 64, "gdr: N is 16, 32 or 64");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
        "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b));
  }
}

#else

GDR_DEVICE void publish_to_async_proxy() {}
template <int Start, int Registers>
GDR_DEVICE void move_registers() {}

#endif

GDR_NAMESPACE_END
