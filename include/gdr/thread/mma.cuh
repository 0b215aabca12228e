// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// PTX of the tensor cores and of asynchronous copies (compute capability 8.0 on), one wrapper per
/// instruction. In what follows a lane is 4 * g + p: g is its group, p its place in the group.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

/// Address of shared memory as the instructions take it.
GDR_DEVICE uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/// Four 8 x 8 matrices of 16-bit elements; lanes 8 m .. 8 m + 7 give the row addresses of matrix m.
/// The lane gets elements (g, 2 p) and (g, 2 p + 1) of each.
GDR_DEVICE void ldmatrix(uint32_t (&r)[4], uint32_t row_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row_address)
               : "memory");
}

/// The same of each matrix's transpose.
GDR_DEVICE void ldmatrix_transposed(uint32_t (&r)[4], uint32_t row_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row_address)
               : "memory");
}

/// Transposes an 8 x 8 matrix of 16-bit elements that lies in registers as ldmatrix puts it.
GDR_DEVICE uint32_t movmatrix(uint32_t r) {
  uint32_t transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(r));
  return transposed;
}

/// The reverse of ldmatrix: PTX stmatrix, or what does the same before sm_90.
GDR_DEVICE void stmatrix(uint32_t row_address, const uint32_t (&r)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address),
      "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
      : "memory");
#else
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
#pragma unroll
  for (unsigned m = 0; m < 4; ++m) {
    const uint32_t row = __shfl_sync(0xffffffffu, row_address, 8 * m + lane / 4);
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(row + lane % 4 * 4), "r"(r[m]) : "memory");
  }
#endif
}
/// The reverse of ldmatrix_transposed.
GDR_DEVICE void stmatrix_transposed(uint32_t row_address, const uint32_t (&r)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address),
      "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
      : "memory");
#else
  const uint32_t transposed[4] = {movmatrix(r[0]), movmatrix(r[1]), movmatrix(r[2]),
                                  movmatrix(r[3])};
  stmatrix(row_address, transposed);
#endif
}

/// c += a b with a 16 x 16, b 16 x 8 in bfloat16, c 16 x 8 in float: c[0], c[1] are elements
/// (g, 2 p), (g, 2 p + 1) and c[2], c[3] those of row g + 8.
GDR_DEVICE void mma_bf16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// a b + c of pairs in bfloat16.
GDR_DEVICE uint32_t multiply_add_bf16x2(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

inline constexpr float log2_e = 1.44269504f;

/// 2^x within 2^-22, 0 below 2^-126.
GDR_DEVICE float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// exp(x) within 2^-21 |x|, 0 below 2^-126.
GDR_DEVICE float fast_exp(float x) { return fast_exp2(x * log2_e); }

/// 1 / x within an ulp, for normal numbers whose reciprocal is one.
GDR_DEVICE float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Starts a copy of 16 bytes from global to shared memory, past L1; of the source only `valid`
/// bytes are read and the rest becomes zero. Both addresses are 16-byte aligned.
GDR_DEVICE void copy_async_16(uint32_t target, const void* source, int valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source),
               "r"(valid)
               : "memory");
}

/// The same of 16 bytes that are there.
GDR_DEVICE void copy_async_16(uint32_t target, const void* source) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(source) : "memory");
}

/// Closes this thread's group of copies started so far.
GDR_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most `Pending` of this thread's groups are not complete.
template <int Pending>
GDR_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

GDR_NAMESPACE_END
