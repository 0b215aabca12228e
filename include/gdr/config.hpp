// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What every header needs of the compiler: the versioned namespace, function attributes, and the
/// few standard names that NVRTC does not have under `std`.

#include <gdr/version.hpp>

#if !defined(__CUDACC_RTC__) && __cplusplus < 201703L && !defined(_MSC_VER)
#error "gdr needs C++17: compile with -std=c++17 or later"
#endif

#if defined(__CUDACC_RTC__)
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
#else
#include <cstddef>
#include <cstdint>
#include <type_traits>
#endif

// Every name lives in an inline namespace that carries the version, so that two versions of the
// library in one process never share a symbol.
#define GDR_DETAIL_JOIN2(a, b, c) v##a##_##b##_##c
#define GDR_DETAIL_JOIN(a, b, c) GDR_DETAIL_JOIN2(a, b, c)
// nvcc warns (1407) where a hidden template is instantiated with a type of an anonymous namespace,
// such as a gate function of the user's: it has no symbol to hide, which is as good.
#if defined(__NVCC__) && !defined(__CUDACC_RTC__)
#define GDR_DETAIL_QUIET_BEGIN _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 1407")
#define GDR_DETAIL_QUIET_END _Pragma("nv_diagnostic pop")
#else
#define GDR_DETAIL_QUIET_BEGIN
#define GDR_DETAIL_QUIET_END
#endif

#define GDR_NAMESPACE_BEGIN \
  GDR_DETAIL_QUIET_BEGIN    \
  namespace gdr {           \
  inline namespace GDR_DETAIL_JOIN(GDR_VERSION_MAJOR, GDR_VERSION_MINOR, GDR_VERSION_PATCH) {
#define GDR_NAMESPACE_END \
  }                       \
  }                       \
  GDR_DETAIL_QUIET_END

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define GDR_HOST_DEVICE __host__ __device__ __forceinline__
#define GDR_DEVICE __device__ __forceinline__
#else
#define GDR_HOST_DEVICE inline
#endif

// For functions that are compiled for the host as well, whose compiler does not know the pragma.
#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
#define GDR_UNROLL _Pragma("unroll")
#else
#define GDR_UNROLL
#endif

// Kernels and host templates are hidden: two shared libraries that each carry an instantiation for
// their own architectures must not run each other's code through symbol interposition.
#if defined(__GNUC__) && !defined(__CUDACC_RTC__)
#define GDR_HIDDEN __attribute__((visibility("hidden")))
#else
#define GDR_HIDDEN
#endif

// The common side of a branch, which the compiler then lays out without jumps: a small problem is
// over in a few microseconds, and each jump into cold code costs a tenth of one.
#if defined(__GNUC__) || defined(__CUDACC_RTC__)
#define GDR_LIKELY(condition) __builtin_expect(!!(condition), 1)
#else
#define GDR_LIKELY(condition) (condition)
#endif

GDR_NAMESPACE_BEGIN

#if defined(__CUDACC_RTC__)
namespace stdx = ::cuda::std;
#else
namespace stdx = ::std;
#endif

using stdx::int32_t;
using stdx::int64_t;
using stdx::uint16_t;
using stdx::uint32_t;
using stdx::uint64_t;
using stdx::uint8_t;

GDR_NAMESPACE_END
