// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Compiles if the blocks of all candidates of a sweep take no more shared memory than
// chunked_shared_bytes counts: a candidate that takes more would not compile.

#include "bench/support/candidates.hpp"

#include <gdr/block/chunk_storage.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <utility>

namespace gdr::bench {
namespace {

template <class Layer, int... Indices>
constexpr bool are_counted(std::integer_sequence<int, Indices...> /*candidates*/) {
  const auto is_counted = [](auto index) {
    using Extents = ChunkExtents<Layer, ChunkedForm::Policy<Layer, decltype(index)::value>>;
    return sizeof(ChunkStorage<Extents>) <=
           chunked_shared_bytes(chunked_traits<Layer>, Extents::tuning, Extents::key_stages,
                                Extents::value_stages);
  };
  return (is_counted(std::integral_constant<int, Indices>{}) && ...);
}
template <class... Layers>
constexpr bool are_counted() {
  return (are_counted<Layers>(
              std::make_integer_sequence<int, ChunkedForm::candidates<Layers>.count>{}) &&
          ...);
}

using Bf16 = __nv_bfloat16;
static_assert(are_counted<Recurrence<HeadDim<128>, Bf16>,                               //
                          Recurrence<HeadDim<64>, Bf16, ValueGate<Log, float>>,         //
                          Recurrence<HeadDim<256>, Bf16>,                               //
                          Recurrence<HeadDims<160, 40>, Bf16>,                          //
                          Recurrence<HeadDim<128>, Bf16, KeyGate<Log>>,                 //
                          Recurrence<HeadDims<24, 100>, Bf16, KeyGate<Log, float>>,     //
                          Recurrence<HeadDim<128>, Bf16, HeadGate<Log>>,                //
                          Recurrence<HeadDims<100, 72>, __half, HeadGate<Log, float>>,  //
                          Recurrence<HeadDim<128>, Bf16, NoGate>,                       //
                          Recurrence<HeadDim<64>, float, NoGate>,                       //
                          Recurrence<HeadDim<128>, float>,                              //
                          Recurrence<HeadDims<48, 192>, __half, ValueGate<Log, float>>>());

}  // namespace
}  // namespace gdr::bench
