// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The short list of layers, which every build compiles: what must not spill in the recurrent form.

#include <gdr/gated_delta.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace gdr::test {

template <class... Layers>
struct LayerList {
  template <class... More>
  using With = LayerList<Layers..., More...>;
  static constexpr std::size_t size = sizeof...(Layers);
};

namespace layers {

using Half = __half;
using Bf16 = __nv_bfloat16;

// Ten that differ in everything a kernel is instantiated for; compiled for every architecture.
using Each = LayerList<Recurrence<HeadDim<24>, float>,                         //
                       Recurrence<HeadDim<64>, float, ValueGate<Log>>,         //
                       Recurrence<HeadDim<128>, Bf16>,                         //
                       Recurrence<HeadDim<128>, Bf16, ValueGate<Log, float>>,  //
                       Recurrence<HeadDim<128>, Bf16, KeyGate<Log>>,           //
                       Recurrence<HeadDim<64>, Half, KeyGate<Linear>>,         //
                       Recurrence<HeadDims<64, 128>, Half, HeadGate<Linear>>,  //
                       Recurrence<HeadDim<128>, Bf16, HeadGate<Log, float>>,   //
                       Recurrence<HeadDim<1>, Bf16, NoGate>,                   //
                       Recurrence<HeadDim<256>, float, HeadGate<Linear>>>;

// The short list; compiled for one architecture.
using Short = Each::With<Recurrence<HeadDim<64>, Bf16>,                                      //
                         Recurrence<HeadDim<64>, Half>,                                      //
                         Recurrence<HeadDim<128>, float>,                                    //
                         Recurrence<HeadDim<256>, Bf16>,                                     //
                         Recurrence<HeadDim<256>, float, KeyGate<Log>>,                      //
                         Recurrence<HeadDims<192, 96>, Half, ValueGate<Log>>,                //
                         Recurrence<HeadDim<24>, float, KeyGate<Log>, DeltaRule<>>,          //
                         Recurrence<HeadDim<128>, Bf16, HeadGate<Log, float>, DeltaRule<>>,  //
                         Recurrence<HeadDim<128>, Bf16, KeyGate<Log>, DeltaRule<>>,          //
                         Recurrence<HeadDim<128>, Bf16, ValueGate<SoftplusDecay>>,           //
                         Recurrence<HeadDim<64>, float, NoGate, DeltaRule<Sigmoid>>>;
static_assert(Short::size <= 60, "every build compiles the short list");

}  // namespace layers

// RecurrentPolicy instantiates the recurrent kernels alone.
static_assert(!detail::HasChunked<RecurrentPolicy<Recurrence<HeadDim<64>, float>>>::value);
static_assert(detail::HasVariants<RecurrentPolicy<Recurrence<HeadDim<64>, float>>>::value);

template <class Layer>
using Forward = Status (*)(const ForwardArgs<Layer>&, cudaStream_t);

/// gdr::forward, with the policy, of the layers whose place in the list is `part` modulo `parts`:
/// instantiates their kernels and no others.
template <std::size_t part, std::size_t parts, template <class> class Policy, class... Layers,
          std::size_t... places>
std::vector<const void*> instantiate(LayerList<Layers...>, std::index_sequence<places...>) {
  std::vector<const void*> functions;
  const auto add = [&functions](auto is_in_part, auto layer) {
    if constexpr (is_in_part.value) {
      using Layer = decltype(layer);
      const Forward<Layer> function = &forward<Layer, Policy<Layer>>;
      functions.push_back(reinterpret_cast<const void*>(function));
    }
  };
  (add(std::bool_constant<places % parts == part>{}, Layers{}), ...);
  return functions;
}

template <std::size_t part, std::size_t parts, template <class> class Policy = DefaultPolicy,
          class... Layers>
std::vector<const void*> instantiate(LayerList<Layers...> list) {
  return instantiate<part, parts, Policy>(list, std::index_sequence_for<Layers...>{});
}

}  // namespace gdr::test
