// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Element types. CUDA's `__half` and `__nv_bfloat16` are used where CUDA's headers are; the
/// storage types below have the same bits and serve programs that are built without them.

#include <gdr/config.hpp>

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

GDR_NAMESPACE_BEGIN

/// The 16 bits of an IEEE binary16 number; no arithmetic.
struct float16 {
  uint16_t bits;
};

/// The 16 bits of a bfloat16 number; no arithmetic.
struct bfloat16 {
  uint16_t bits;
};

/// An element type as a run-time value.
enum class DataType { float32, float16, bfloat16, float64 };

/// The DataType of a C++ type; defined for the supported element types alone.
template <class T>
struct ElementTraits;
template <>
struct ElementTraits<float> {
  static constexpr DataType type = DataType::float32;
};
/// float64 serves the reference; the launchers refuse it.
template <>
struct ElementTraits<double> {
  static constexpr DataType type = DataType::float64;
};
template <>
struct ElementTraits<float16> {
  static constexpr DataType type = DataType::float16;
};
template <>
struct ElementTraits<bfloat16> {
  static constexpr DataType type = DataType::bfloat16;
};
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
template <>
struct ElementTraits<__half> {
  static constexpr DataType type = DataType::float16;
};
template <>
struct ElementTraits<__nv_bfloat16> {
  static constexpr DataType type = DataType::bfloat16;
};
#endif

template <class T>
inline constexpr DataType data_type_of = ElementTraits<stdx::remove_cv_t<T>>::type;

/// Bytes of one element.
GDR_HOST_DEVICE constexpr int size_of(DataType type) {
  return type == DataType::float64 ? 8 : type == DataType::float32 ? 4 : 2;
}

GDR_NAMESPACE_END
