// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Describes tensors to the copy engine (compute capability 9.0 on). What it cannot take, other
/// strides than multiples of 16 bytes, is left to the kernel's own loads.

#include <gdr/block/chunk_feeder.cuh>
#include <gdr/dispatch/device_facts.cuh>

#include <cuda.h>
#include <cuda_runtime_api.h>

GDR_NAMESPACE_BEGIN
namespace detail {

using EncodeTensorMap = decltype(&cuTensorMapEncodeTiled);

/// The driver's function, without linking the driver; null where there is none.
GDR_HIDDEN inline EncodeTensorMap find_encode_tensor_map() {
#if CUDART_VERSION >= 12050
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = ask_cuda([&] {
    return cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                            cudaEnableDefault, &result);
  });
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<EncodeTensorMap>(function);
#else
  return nullptr;
#endif
}

/// Boxes of a tile out of a tensor [B, T, heads, channels]. False: it has no such form.
template <class Tile, class T>
GDR_HIDDEN bool describe_boxes(EncodeTensorMap encode, const TensorView<const T>& tensor,
                               const Shape& shape, int64_t heads, int channels, TensorMap& map) {
  const int64_t extents[4] = {channels, heads, shape.seq_len, shape.batch};
  const int64_t strides[4] = {1, tensor.strides.head, tensor.strides.time, tensor.strides.batch};
  cuuint64_t sizes[4], distances[3];
  constexpr int64_t largest = int64_t{1} << 31;
  for (int d = 0; d < 4; ++d) {
    if (extents[d] < 1 || extents[d] >= largest) return false;
    sizes[d] = static_cast<cuuint64_t>(extents[d]);
    if (d == 0) continue;
    // A stride along which there is nothing to step is not looked at.
    const int64_t bytes = extents[d] == 1 ? 16 : strides[d] * static_cast<int64_t>(sizeof(T));
    if (bytes <= 0 || bytes % 16 != 0 || bytes >= int64_t{1} << 40) return false;
    distances[d - 1] = static_cast<cuuint64_t>(bytes);
  }
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % 16 != 0) return false;
  const cuuint32_t box[4] = {Tile::panel_columns, 1, Tile::rows, 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  const CUtensorMapDataType type = sizeof(T) == 4
                                       ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;  // bits are copied
  const CUtensorMapSwizzle swizzle = Tile::panel_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : Tile::panel_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                               : CU_TENSOR_MAP_SWIZZLE_32B;
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap), "a map is 128 bytes");
  return encode(reinterpret_cast<CUtensorMap*>(&map), type, 4, const_cast<T*>(tensor.data), sizes,
                distances, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/// The maps of resolved arguments, valid if every tensor of the chunked form has one.
template <class Layer, class Policy>
GDR_HIDDEN void describe_boxes(const ForwardArgs<Layer>& args, const DeviceFacts& facts,
                               ChunkMaps& maps) {
  using Extents = ChunkExtents<Layer, Policy>;
  using KeyTile = typename ChunkKeyTile<Extents>::template Tile<typename Layer::Element>;
  using ValueTile = ChunkValueTile<Extents>;
  using GateTile = ChunkGateTile<Extents>;
  constexpr GateAxis axis = Layer::Gate::axis;
  const Shape& shape = args.shape;
  if (facts.compute_capability < 90) return;
  const EncodeTensorMap encode = find_encode_tensor_map();
  if (encode == nullptr) return;
  bool all = describe_boxes<KeyTile>(encode, args.q, shape, shape.key_heads, shape.key_dim, maps.q);
  all =
      all && describe_boxes<KeyTile>(encode, args.k, shape, shape.key_heads, shape.key_dim, maps.k);
  all =
      all && describe_boxes<ValueTile>(encode, args.v, shape, shape.heads, shape.value_dim, maps.v);
  if constexpr (axis == GateAxis::value || axis == GateAxis::key) {
    const int channels = axis == GateAxis::value ? shape.value_dim : shape.key_dim;
    all =
        all && describe_boxes<GateTile>(encode, args.gate, shape, shape.heads, channels, maps.gate);
  }
  maps.are_valid = all;
}

}  // namespace detail
GDR_NAMESPACE_END
