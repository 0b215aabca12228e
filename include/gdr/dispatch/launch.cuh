// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Launches of the kernels. Arguments are resolved and checked before.

#include <gdr/dispatch/device_facts.cuh>
#include <gdr/dispatch/form.hpp>
#include <gdr/dispatch/policy.hpp>
#include <gdr/dispatch/tensor_maps.cuh>
#include <gdr/kernel/chunked.cuh>
#include <gdr/kernel/pieces.cuh>
#include <gdr/kernel/recurrent.cuh>
#include <gdr/types/status.hpp>

#include <cuda_runtime.h>

#include <algorithm>

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

/// The one for sequences that are short.
template <class Policy>
using ShortPolicy = std::conditional_t<HasVariants<Policy>::value, Compact<Policy>, Policy>;

template <class Policy, class = void>
struct HasRecurrent : std::false_type {};
template <class Policy>
struct HasRecurrent<Policy, std::void_t<decltype(Policy::recurrent)>> : std::true_type {};
template <class Policy, class = void>
struct HasChunked : std::false_type {};
template <class Policy>
struct HasChunked<Policy, std::void_t<decltype(Policy::chunked)>> : std::true_type {};
template <class Policy, class = void>
struct HasCompactChunks : std::false_type {};
template <class Policy>
struct HasCompactChunks<Policy, std::void_t<decltype(Policy::chunked_compact)>> : std::true_type {};

/// Whether a grid of `blocks` blocks, and a tuning of `shared_bytes`, fit the device. What the
/// checks could not know.
GDR_HIDDEN inline Status check_grid(const Shape& shape, int64_t sequences, int64_t blocks,
                                    int64_t shared_bytes, const DeviceFacts& facts) {
  if (shared_bytes > facts.shared_memory_per_block) {
    return {StatusCode::unsupported, "device",
            "the policy's tile does not fit the device's shared memory per block"};
  }
  constexpr int64_t max_blocks = 0x7fffffff;
  if (shape.heads > max_blocks || sequences > max_blocks || blocks > max_blocks) {
    return {StatusCode::unsupported, "shape",
            "the problem needs more than 2^31 - 1 blocks: split the batch"};
  }
  if (shape.seq_len > int64_t{1} << 32) {
    return {StatusCode::unsupported, "shape.seq_len", "a sequence has at most 2^32 tokens"};
  }
  return {};
}

/// Whether sequences have so many tokens at most on average.
template <class Layer>
GDR_HIDDEN bool has_short_sequences(const ForwardArgs<Layer>& args, int64_t tokens) {
  const FormProblem problem = form_problem(args);
  return problem.tokens <= tokens * problem.sequences;
}

/// The recurrent form with one tuning.
template <class Layer, class Policy>
struct RecurrentLaunch {
  using Block = BlockRecurrent<Layer, Policy>;
  static constexpr int64_t shared_bytes = sizeof(typename Block::TempStorage);
  static constexpr int tiles = column_blocks(Layer::value_dim, Block::columns);

  GDR_HIDDEN static int64_t places(const ForwardArgs<Layer>& args) {
    return sequence_count(args) * args.shape.heads;
  }
  GDR_HIDDEN static int64_t blocks(const ForwardArgs<Layer>& args) { return places(args) * tiles; }
  GDR_HIDDEN static Status check(const ForwardArgs<Layer>& args, const DeviceFacts& facts) {
    return check_grid(args.shape, sequence_count(args), blocks(args), shared_bytes, facts);
  }
  /// Of the sequences with less than `below` tokens.
  GDR_HIDDEN static Status run(const ForwardArgs<Layer>& args, const DeviceFacts& facts,
                               cudaStream_t stream, int64_t below = any_length) {
    if (blocks(args) == 0) return {};
    // Where sequences are short, a block goes from one to the next without a pause. The heads of
    // one sequence are not among a block's, as it may be the long one.
    int64_t stride = places(args);
    if (below != any_length || has_short_sequences(args, 32)) {
      constexpr int64_t blocks_of_slot = 2;  // more even out their work; each starts in 0.8 us
      const int64_t slots = int64_t{facts.multiprocessors} * Policy::recurrent.blocks_per_sm;
      const int64_t wanted = std::max(blocks_of_slot * slots / tiles, args.shape.heads);
      stride = std::min(stride, wanted);
    }
    const ForwardParams<Layer> params{args, FastDivisor(static_cast<uint32_t>(args.shape.heads)),
                                      static_cast<uint32_t>(places(args)),
                                      static_cast<uint32_t>(stride), below};
    return launch(&recurrent_kernel<Layer, Policy>, stride * tiles, Block::threads, shared_bytes,
                  params, stream);
  }
};

/// The chunked form with one tuning, sequences whole.
template <class Layer, class Policy>
struct ChunkedLaunch {
  using Block = BlockChunked<Layer, Policy>;
  static constexpr int64_t shared_bytes = sizeof(typename Block::TempStorage);
  static constexpr int tiles = column_blocks(Layer::value_dim, Block::columns);

  GDR_HIDDEN static int64_t blocks(const ForwardArgs<Layer>& args) {
    return sequence_count(args) * args.shape.heads * tiles;
  }
  GDR_HIDDEN static Status check(const ForwardArgs<Layer>& args, const DeviceFacts& facts) {
    return check_grid(args.shape, sequence_count(args), blocks(args), shared_bytes, facts);
  }
  GDR_HIDDEN static Status run(const ForwardArgs<Layer>& args, const DeviceFacts& facts,
                               cudaStream_t stream) {
    if (blocks(args) == 0) return {};
    return run_pass(params_of(args, facts), blocks(args), stream);
  }
  /// Those of sequences that are whole.
  GDR_HIDDEN static ChunkedParams<Layer> params_of(const ForwardArgs<Layer>& args,
                                                   const DeviceFacts& facts) {
    ChunkedParams<Layer> params;
    params.args = args;
    params.heads = FastDivisor(static_cast<uint32_t>(args.shape.heads));
    params.starts = args.initial_state;
    describe_boxes<Layer, Policy>(args, facts, params.maps);
    return params;
  }
  GDR_HIDDEN static Status run_pass(const ChunkedParams<Layer>& params, int64_t blocks,
                                    cudaStream_t stream) {
    return launch(&chunked_kernel<Layer, Policy>, blocks, Block::threads, shared_bytes, params,
                  stream);
  }
};

/// The chunked form with one tuning, sequences cut into pieces: what their parts do to a state, a
/// walk over them, then the pieces from the states at their starts.
template <class Layer, class Policy>
struct SplitLaunch {
  using Whole = ChunkedLaunch<Layer, Policy>;

  GDR_HIDDEN static int64_t blocks(const ForwardArgs<Layer>& args, int64_t slots) {
    return limited_product(slots, args.shape.heads * Whole::tiles);
  }
  GDR_HIDDEN static Status check(const ForwardArgs<Layer>& args, const DeviceFacts& facts) {
    const int64_t heads = sequence_count(args) * args.shape.heads;
    const int64_t walk = limited_product(heads, piece_walk_blocks<Layer>);
    const int64_t parts = blocks(args, cut_sequences(form_problem(args)).part_slots);
    return check_grid(args.shape, sequence_count(args), walk > parts ? walk : parts,
                      Whole::shared_bytes, facts);
  }
  GDR_HIDDEN static Status run(const ForwardArgs<Layer>& args, const DeviceFacts& facts,
                               cudaStream_t stream) {
    const int64_t heads = sequence_count(args) * args.shape.heads;
    if (heads == 0) return {};
    const FormProblem problem = form_problem(args);
    const Cut cut = cut_sequences(problem);
    ChunkedParams<Layer> params = Whole::params_of(args, facts);
    const PieceLayout pieces = layout(cut.tokens, cut.per_sequence);
    const PieceLayout parts = layout(cut.part_tokens, cut.parts_per_sequence());
    char* const workspace = static_cast<char*>(args.workspace);
    params.parts = FastDivisor(static_cast<uint32_t>(cut.parts));
    params.part_states = states(args, workspace);
    params.part_products =
        reinterpret_cast<ScaledProduct*>(workspace + products_offset(problem, cut));
    const StateView starts = states(args, workspace + states_bytes(problem, cut.part_slots));

    params.layout = parts;
    if (const Status status = run_states(params, cut.part_slots, facts, stream); !status.ok()) {
      return status;
    }
    static_assert(state_row(1) == walk_channels, "a row is whole vectors of the walk's");
    const auto row = static_cast<uint32_t>(state_row(args.shape.key_dim) / walk_channels);
    const PieceWalkParams<Layer> walk{args,
                                      params.heads,
                                      FastDivisor(row),
                                      pieces,
                                      parts,
                                      static_cast<int>(cut.parts),
                                      params.part_states,
                                      params.part_products,
                                      starts};
    if (const Status status = launch(&piece_walk_kernel<Layer>, heads * piece_walk_blocks<Layer>,
                                     piece_walk_threads, 0, walk, stream);
        !status.ok()) {
      return status;
    }
    params.pass = ChunkedPass::pieces;
    params.layout = pieces;
    params.starts = starts;
    return Whole::run_pass(params, blocks(args, cut.slots), stream);
  }

 private:
  GDR_HIDDEN static PieceLayout layout(int64_t tokens, int64_t per_sequence) {
    return {tokens, FastDivisor(static_cast<uint32_t>(per_sequence))};
  }
  /// Of slots in the workspace.
  GDR_HIDDEN static StateView states(const ForwardArgs<Layer>& args, char* data) {
    StateView view(reinterpret_cast<float*>(data), StateLayout::vk);
    view.row_stride = state_row(args.shape.key_dim);
    view.head_stride = view.row_stride * args.shape.value_dim;
    view.sequence_stride = args.shape.heads * view.head_stride;
    return view;
  }
  /// By blocks for states alone where the layer has them and the device's shared memory allows it.
  GDR_HIDDEN static Status run_states(ChunkedParams<Layer> params, int64_t slots,
                                      const DeviceFacts& facts, cudaStream_t stream) {
    if constexpr (has_states_form<Layer>) {
      using Block = BlockStates<Layer, StatesPolicy<Layer>>;
      constexpr int64_t shared_bytes = sizeof(typename Block::TempStorage);
      if (shared_bytes <= facts.shared_memory_per_block) {
        const int64_t tiles = column_blocks(Layer::value_dim, Block::columns);
        describe_boxes<Layer, StatesPolicy<Layer>>(params.args, facts, params.maps);
        return launch(&part_states_kernel<Layer, StatesPolicy<Layer>>,
                      slots * params.args.shape.heads * tiles, Block::threads, shared_bytes, params,
                      stream);
      }
    }
    params.pass = ChunkedPass::states;
    params.starts = nullptr;
    return Whole::run_pass(params, blocks(params.args, slots), stream);
  }
};

/// Each sequence of cu_seqlens by its own length: the short ones by the recurrent form, the others
/// by the chunked one. Neither launch knows the lengths: each leaves the other's sequences.
template <class Layer, class Short, class Long>
struct ByLengthLaunch {
  /// About 8 blocks for each multiprocessor, one after another, as their work differs; never more
  /// than there can be long sequences for.
  GDR_HIDDEN static LongSequences long_sequences(const ForwardArgs<Layer>& args,
                                                 const DeviceFacts& facts) {
    const FormProblem problem = form_problem(args);
    const int64_t least = long_sequence(problem);
    const int64_t most = std::min(problem.sequences, problem.tokens / least);
    const int64_t of_sequence = std::max(args.shape.heads * Long::tiles, int64_t{1});
    const int64_t wanted = std::max(8 * facts.multiprocessors / of_sequence, int64_t{1});
    return {least, static_cast<uint32_t>(std::min(most, wanted))};
  }
  GDR_HIDDEN static int64_t blocks(const ForwardArgs<Layer>& args, const LongSequences& sequences) {
    return limited_product(sequences.slots, args.shape.heads * Long::tiles);
  }
  GDR_HIDDEN static Status check(const ForwardArgs<Layer>& args, const DeviceFacts& facts) {
    if (const Status status = Short::check(args, facts); !status.ok()) return status;
    return check_grid(args.shape, sequence_count(args), blocks(args, long_sequences(args, facts)),
                      Long::shared_bytes, facts);
  }
  GDR_HIDDEN static Status run(const ForwardArgs<Layer>& args, const DeviceFacts& facts,
                               cudaStream_t stream) {
    const LongSequences sequences = long_sequences(args, facts);
    const Status status = Short::run(args, facts, stream, sequences.least);
    if (!status.ok() || blocks(args, sequences) == 0) return status;
    ChunkedParams<Layer> params = Long::params_of(args, facts);
    params.pass = ChunkedPass::by_length;
    params.long_sequences = sequences;
    return Long::run_pass(params, blocks(args, sequences), stream);
  }
};

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
    // 4096 sequences of 16 tokens, K = V = 128: 2740 us in the standard tuning, 3020 in the compact
    // one; 64 of one: 68 and 39.
    if (may_look_at_batch && has_short_sequences(args, 8)) {
      return use(RecurrentLaunch<Layer, Compact<Policy>>{});
    }
  }
  return use(Standard{});
}

/// Calls use(launch) with the policy's tuning for this device and a form other than the recurrent.
template <class Layer, class Policy, class Use>
GDR_HIDDEN Status with_chunked_launch(Algorithm form, const DeviceFacts& facts, Use use) {
  const auto with = [&](auto policy) {
    using Long = ChunkedLaunch<Layer, decltype(policy)>;
    if constexpr (HasRecurrent<Policy>::value) {
      using Short = RecurrentLaunch<Layer, ShortPolicy<Policy>>;
      if (form == Algorithm::by_length) return use(ByLengthLaunch<Layer, Short, Long>{});
    }
    if (form == Algorithm::chunked_split) return use(SplitLaunch<Layer, decltype(policy)>{});
    return use(Long{});
  };
  if constexpr (HasCompactChunks<Policy>::value) {
    if (ChunkedLaunch<Layer, Policy>::shared_bytes > facts.shared_memory_per_block) {
      return with(CompactChunks<Policy>{});
    }
  }
  return with(Policy{});
}

/// Shared memory of the smallest of the policy's chunked tunings.
template <class Layer, class Policy>
constexpr int64_t least_chunked_bytes() {
  if constexpr (HasCompactChunks<Policy>::value) {
    return ChunkedLaunch<Layer, CompactChunks<Policy>>::shared_bytes;
  } else {
    return ChunkedLaunch<Layer, Policy>::shared_bytes;
  }
}

/// Calls use(launch) with the form and the tuning that serve the arguments. A policy may have
/// tunings of one form alone: the only choice of Algorithm::automatic then.
template <class Layer, class Policy, class Use>
GDR_HIDDEN Status with_launch(const ForwardArgs<Layer>& args, const DeviceFacts& facts, Use use) {
  constexpr bool has_chunked = !Layer::Rule::uses_beta && HasChunked<Policy>::value;
  constexpr bool has_recurrent = HasRecurrent<Policy>::value;
  static_assert(has_chunked || has_recurrent,
                "gdr: a policy has a tuning of a form that serves the layer: recurrent or chunked");
  const Algorithm form = choose_form(form_problem(args));
  bool chunked = form != Algorithm::recurrent;
  if constexpr (has_chunked) {
    if (args.algorithm == Algorithm::automatic) {
      const bool fits = least_chunked_bytes<Layer, Policy>() <= facts.shared_memory_per_block;
      chunked = !has_recurrent || (chunked && fits);
    }
    if (chunked && (has_recurrent || args.algorithm != Algorithm::by_length)) {
      return with_chunked_launch<Layer, Policy>(form, facts, use);
    }
  } else if (args.algorithm == Algorithm::automatic) {
    chunked = false;
  }
  if constexpr (has_recurrent) {
    if (!chunked) return with_recurrent_launch<Layer, Policy>(args, facts, use);
  }
  return {StatusCode::unsupported, "algorithm", "the policy has no tuning of this form"};
}

}  // namespace detail
GDR_NAMESPACE_END
