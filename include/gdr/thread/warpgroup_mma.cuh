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
#include <gdr/thread/bulk_copy.cuh>

GDR_NAMESPACE_BEGIN

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool has_warpgroup_mma = true;
#else
inline constexpr bool has_warpgroup_mma = false;
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

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
  /// `address`: shared_address of the tile.
  GDR_DEVICE explicit MatrixDescriptor(uint32_t address)
      : bits_((address & 0x3ffff) >> 4 | (leading_bytes >> 4) << 16 | (stride_bytes >> 4) << 32 |
              swizzle << 62) {}
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

// The instruction names each register of D: N / 2 of them, as numbers in the text and as operands.
#define GDR_MMA_EIGHT(i)                                                                      \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define GDR_MMA_TEXT_16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define GDR_MMA_TEXT_32 GDR_MMA_TEXT_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define GDR_MMA_TEXT_48 GDR_MMA_TEXT_32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define GDR_MMA_TEXT_64 GDR_MMA_TEXT_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define GDR_MMA_TEXT_80 GDR_MMA_TEXT_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define GDR_MMA_TEXT_96 GDR_MMA_TEXT_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define GDR_MMA_TEXT_112 GDR_MMA_TEXT_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define GDR_MMA_TEXT_128 GDR_MMA_TEXT_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define GDR_MMA_TEXT_144 GDR_MMA_TEXT_128 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define GDR_MMA_TEXT_160 GDR_MMA_TEXT_144 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define GDR_MMA_TEXT_176 GDR_MMA_TEXT_160 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define GDR_MMA_TEXT_192 GDR_MMA_TEXT_176 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define GDR_MMA_D_16 GDR_MMA_EIGHT(0)
#define GDR_MMA_D_32 GDR_MMA_D_16, GDR_MMA_EIGHT(8)
#define GDR_MMA_D_48 GDR_MMA_D_32, GDR_MMA_EIGHT(16)
#define GDR_MMA_D_64 GDR_MMA_D_48, GDR_MMA_EIGHT(24)
#define GDR_MMA_D_80 GDR_MMA_D_64, GDR_MMA_EIGHT(32)
#define GDR_MMA_D_96 GDR_MMA_D_80, GDR_MMA_EIGHT(40)
#define GDR_MMA_D_112 GDR_MMA_D_96, GDR_MMA_EIGHT(48)
#define GDR_MMA_D_128 GDR_MMA_D_112, GDR_MMA_EIGHT(56)
#define GDR_MMA_D_144 GDR_MMA_D_128, GDR_MMA_EIGHT(64)
#define GDR_MMA_D_160 GDR_MMA_D_144, GDR_MMA_EIGHT(72)
#define GDR_MMA_D_176 GDR_MMA_D_160, GDR_MMA_EIGHT(80)
#define GDR_MMA_D_192 GDR_MMA_D_176, GDR_MMA_EIGHT(88)
#define GDR_MMA_NAME(N) "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 "
#define GDR_MMA_A_IN_REGISTERS(N, a0, a1, a2, a3, b0, by_rows)                                \
  asm volatile(GDR_MMA_NAME(N) "{" GDR_MMA_TEXT_##N "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 \
                                                    "}, %" #b0 ", 1, 1, 1, %" #by_rows ";"    \
               : GDR_MMA_D_##N                                                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(ByRows ? 1 : 0))
#define GDR_MMA_A_IN_MEMORY(N, a0, b0)                                                      \
  asm volatile(GDR_MMA_NAME(N) "{" GDR_MMA_TEXT_##N "}, %" #a0 ", %" #b0 ", 1, 1, 1, 0, 0;" \
               : GDR_MMA_D_##N                                                              \
               : "l"(a), "l"(b))

/// `d` has N / 2 elements. ByRows: B lies as [K][N], a row a token; else as [N][K].
template <int N, bool ByRows>
GDR_DEVICE void warpgroup_mma(float* d, const uint32_t (&a)[4], uint64_t b) {
  static_assert(N % 16 == 0 && N >= 16 && N <= 192, "gdr: N is 16, 32, ... or 192");
  if constexpr (N == 16) GDR_MMA_A_IN_REGISTERS(16, 8, 9, 10, 11, 12, 13);
  if constexpr (N == 32) GDR_MMA_A_IN_REGISTERS(32, 16, 17, 18, 19, 20, 21);
  if constexpr (N == 48) GDR_MMA_A_IN_REGISTERS(48, 24, 25, 26, 27, 28, 29);
  if constexpr (N == 64) GDR_MMA_A_IN_REGISTERS(64, 32, 33, 34, 35, 36, 37);
  if constexpr (N == 80) GDR_MMA_A_IN_REGISTERS(80, 40, 41, 42, 43, 44, 45);
  if constexpr (N == 96) GDR_MMA_A_IN_REGISTERS(96, 48, 49, 50, 51, 52, 53);
  if constexpr (N == 112) GDR_MMA_A_IN_REGISTERS(112, 56, 57, 58, 59, 60, 61);
  if constexpr (N == 128) GDR_MMA_A_IN_REGISTERS(128, 64, 65, 66, 67, 68, 69);
  if constexpr (N == 144) GDR_MMA_A_IN_REGISTERS(144, 72, 73, 74, 75, 76, 77);
  if constexpr (N == 160) GDR_MMA_A_IN_REGISTERS(160, 80, 81, 82, 83, 84, 85);
  if constexpr (N == 176) GDR_MMA_A_IN_REGISTERS(176, 88, 89, 90, 91, 92, 93);
  if constexpr (N == 192) GDR_MMA_A_IN_REGISTERS(192, 96, 97, 98, 99, 100, 101);
}

/// The same with A in shared memory too; both lie as [M][K] and [N][K].
template <int N>
GDR_DEVICE void warpgroup_mma(float* d, uint64_t a, uint64_t b) {
  static_assert(N % 16 == 0 && N >= 16 && N <= 64, "gdr: N is 16, 32, 48 or 64");
  if constexpr (N == 16) GDR_MMA_A_IN_MEMORY(16, 8, 9);
  if constexpr (N == 32) GDR_MMA_A_IN_MEMORY(32, 16, 17);
  if constexpr (N == 48) GDR_MMA_A_IN_MEMORY(48, 24, 25);
  if constexpr (N == 64) GDR_MMA_A_IN_MEMORY(64, 32, 33);
}

#else

template <int Start, int Registers>
GDR_DEVICE void move_registers() {}

#endif

GDR_NAMESPACE_END
