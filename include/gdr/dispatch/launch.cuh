// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Launches of the kernels. Arguments are resolved and checked before.

#include <gdr/dispatch/device_facts.cuh>
#include <gdr/dispatch/policy.hpp>
#include <gdr/kernel/chunked.cuh>
#include <gdr/kernel/recurrent.cuh>
#include <gdr/types/status.hpp>

#include <cuda_runtime.h>

GDR_NAMESPACE_BEGIN
namespace detail {

/// Launches `kernel` on a one-dimensional grid. Only grid.x carries a user's size.
template <class Params>
GDR_HIDDEN Status launch(void (*kernel)(Params), int64_t blocks, int threads, size_t shared_bytes,
                         const Params& params, cudaStream_t stream) {
  const void* const function = reinterpret_cast<const void*>(kernel);
  void* parameters[] = {const_cast<Params*>(&params)};
  const cudaError_t error = ask_cuda([&] {
    // More than 48 KiB must be asked for: at each launch, as the answer is the current device's and
    // nothing here remembers devices.
    if (shared_bytes > 48 * 1024) {
      const cudaError_t refused = cudaFuncSetAttribute(
          function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
      if (refused != cudaSuccess) return refused;
    }
    return cudaLaunchKernel(function, dim3(static_cast<unsigned>(blocks)),
                            dim3(static_cast<unsigned>(threads)), parameters, shared_bytes, stream);
  });
  if (error == cudaSuccess) return {};
  return {StatusCode::cuda_error, "stream", "CUDA refused the launch", static_cast<int>(error)};
}

/// One of a policy's tunings of the recurrent form, as a policy of its own.
template <class Policy>
struct SmallGrid {
  static constexpr RecurrentTuning recurrent = Policy::recurrent_small_grid;
};
template <class Policy>
struct Compact {
  static constexpr RecurrentTuning recurrent = Policy::recurrent_compact;
};

template <class Policy>
struct CompactChunks {
  static constexpr ChunkedTuning chunked = Policy::chunked_compact;
};

/// Whether a policy has tunings of its own beside the standard one.
template <class Policy, class = void>
struct HasVariants : std::false_type {};
template <class Policy>
struct HasVariants<Policy,
                   std::void_t<decltype(Policy::recurrent_small_grid, Policy::recurrent_compact)>>
    : std::true_type {};

template <class Policy, class = void>
struct HasChunked : std::false_type {};
template <class Policy>
struct HasChunked<Policy, std::void_t<decltype(Policy::chunked)>> : std::true_type {};
template <class Policy, class = void>
struct HasCompactChunks : std::false_type {};
template <class Policy>
struct HasCompactChunks<Policy, std::void_t<decltype(Policy::chunked_compact)>> : std::true_type {
};

/// A kernel over sequences, heads and blocks of `Columns` value columns.
template <class Layer, int Columns>
struct ForwardLaunch {
  GDR_HIDDEN static int64_t blocks(const ForwardArgs<Layer>& args) {
    return sequence_count(args) * args.shape.heads * column_blocks(Layer::value_dim, Columns);
  }
  /// What the checks could not know: whether the tuning fits the grid and the device.
  GDR_HIDDEN static Status check(const ForwardArgs<Layer>& args, const DeviceFacts& facts,
                                 int64_t shared_bytes) {
    if (shared_bytes > facts.shared_memory_per_block) {
      return {StatusCode::unsupported, "device",
              "the policy's tile does not fit the device's shared memory per block"};
    }
    constexpr int64_t max_blocks = 0x7fffffff;
    if (args.shape.heads > max_blocks || sequence_count(args) > max_blocks ||
        blocks(args) > max_blocks) {
      return {StatusCode::unsupported, "shape",
              "the problem needs more than 2^31 - 1 blocks: split the batch"};
    }
    if (args.shape.seq_len > int64_t{1} << 32) {
      return {StatusCode::unsupported, "shape.seq_len", "a sequence has at most 2^32 tokens"};
    }
    return {};
  }
  GDR_HIDDEN static Status run(void (*kernel)(ForwardParams<Layer>), int threads,
                               size_t shared_bytes, const ForwardArgs<Layer>& args,
                               cudaStream_t stream) {
    if (blocks(args) == 0) return {};
    const ForwardParams<Layer> params{args, FastDivisor(static_cast<uint32_t>(args.shape.heads))};
    return launch(kernel, blocks(args), threads, shared_bytes, params, stream);
  }
};

/// The recurrent form with one tuning.
template <class Layer, class Policy>
struct RecurrentLaunch {
  using Block = BlockRecurrent<Layer, Policy>;
  using Forward = ForwardLaunch<Layer, Block::columns>;
  static constexpr int64_t shared_bytes = sizeof(typename Block::TempStorage);

  GDR_HIDDEN static int64_t blocks(const ForwardArgs<Layer>& args) { return Forward::blocks(args); }
  GDR_HIDDEN static Status check(const ForwardArgs<Layer>& args, const DeviceFacts& facts) {
    return Forward::check(args, facts, shared_bytes);
  }
  GDR_HIDDEN static Status run(const ForwardArgs<Layer>& args, cudaStream_t stream) {
    return Forward::run(&recurrent_kernel<Layer, Policy>, Block::threads, shared_bytes, args,
                        stream);
  }
};

/// The chunked form with one tuning.
template <class Layer, class Policy>
struct ChunkedLaunch {
  using Block = BlockChunked<Layer, Policy>;
  using Forward = ForwardLaunch<Layer, Block::columns>;
  static constexpr int64_t shared_bytes = sizeof(typename Block::TempStorage);

  GDR_HIDDEN static int64_t blocks(const ForwardArgs<Layer>& args) { return Forward::blocks(args); }
  GDR_HIDDEN static Status check(const ForwardArgs<Layer>& args, const DeviceFacts& facts) {
    return Forward::check(args, facts, shared_bytes);
  }
  GDR_HIDDEN static Status run(const ForwardArgs<Layer>& args, cudaStream_t stream) {
    return Forward::run(&chunked_kernel<Layer, Policy>, Block::threads, shared_bytes, args, stream);
  }
};

/// Whether the average sequence is so short that starting and ending blocks is most of their work.
template <class Layer>
GDR_HIDDEN bool has_short_sequences(const ForwardArgs<Layer>& args) {
  constexpr int64_t short_sequence = 32;  // tokens
  const int64_t tokens =
      args.cu_seqlens.data == nullptr ? args.shape.seq_len * args.shape.batch : args.shape.seq_len;
  return tokens <= short_sequence * sequence_count(args);
}

/// Calls use(RecurrentLaunch) with the policy's tuning for this problem and this device. All of a
/// policy's tunings give the same bits; where batch invariance is asked for, the choice does not
/// depend on the batch either.
template <class Layer, class Policy, class Use>
GDR_HIDDEN Status with_recurrent_launch(const ForwardArgs<Layer>& args, const DeviceFacts& facts,
                                        Use use) {
  using Standard = RecurrentLaunch<Layer, Policy>;
  if constexpr (HasVariants<Policy>::value) {
    static_assert(has_same_sums(Policy::recurrent, Policy::recurrent_small_grid) &&
                      has_same_sums(Policy::recurrent, Policy::recurrent_compact),
                  "gdr: a policy's tunings have the same lanes and rows; one derived from "
                  "DefaultPolicy replaces all three");
    const bool may_look_at_batch = !args.batch_invariant;
    if (Standard::shared_bytes > facts.shared_memory_per_block) {
      return use(RecurrentLaunch<Layer, Compact<Policy>>{});
    }
    if constexpr (!(Policy::recurrent_small_grid == Policy::recurrent)) {
      using Small = RecurrentLaunch<Layer, SmallGrid<Policy>>;
      if (may_look_at_batch && Small::blocks(args) <= facts.multiprocessors) return use(Small{});
    }
    if (may_look_at_batch && has_short_sequences(args)) {
      return use(RecurrentLaunch<Layer, Compact<Policy>>{});
    }
  }
  return use(Standard{});
}

/// Calls use(ChunkedLaunch) with the policy's tuning for this device.
template <class Layer, class Policy, class Use>
GDR_HIDDEN Status with_chunked_launch(const DeviceFacts& facts, Use use) {
  using Standard = ChunkedLaunch<Layer, Policy>;
  if constexpr (HasCompactChunks<Policy>::value) {
    if (Standard::shared_bytes > facts.shared_memory_per_block) {
      return use(ChunkedLaunch<Layer, CompactChunks<Policy>>{});
    }
  }
  return use(Standard{});
}

/// Calls use(launch) with the form and the tuning that serve the arguments.
template <class Layer, class Policy, class Use>
GDR_HIDDEN Status with_launch(const ForwardArgs<Layer>& args, const DeviceFacts& facts, Use use) {
  if constexpr (!Layer::Rule::uses_beta && HasChunked<Policy>::value) {
    if (args.algorithm == Algorithm::chunked) {
      return with_chunked_launch<Layer, Policy>(facts, use);
    }
  }
  return with_recurrent_launch<Layer, Policy>(args, facts, use);
}

}  // namespace detail
GDR_NAMESPACE_END
