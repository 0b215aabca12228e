// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What a block of a forward kernel works on: a sequence, a value head and a block of value
/// columns.

#include <gdr/thread/fast_divisor.hpp>
#include <gdr/thread/special_registers.cuh>
#include <gdr/types/args.hpp>

GDR_NAMESPACE_BEGIN

/// More tokens than a sequence has.
inline constexpr int64_t any_length = int64_t{1} << 62;

/// The kernels' parameters. `args` are resolved.
template <class Layer>
struct ForwardParams {
  ForwardArgs<Layer> args;
  FastDivisor heads;           // by args.shape.heads
  uint32_t places = 0;         // of a sequence and a head, the heads of a sequence side by side
  uint32_t stride = 0;         // from a block's place to its next
  int64_t below = any_length;  // sequences of so many tokens are another launch's
};

/// Blocks along the value axis, for the layer type's extent: a division by a constant in the
/// kernel. Where the extent of the arguments is smaller, surplus blocks leave.
GDR_HOST_DEVICE constexpr int column_blocks(int value_dim, int columns) {
  return (value_dim + columns - 1) / columns;
}

struct BlockProblem {
  unsigned sequence;
  int head;
  int first_column;
};

/// The problem of a block, from %ctaid.x read anew each time: a step loop has no register to spare
/// for a value that is needed before and after it.
template <int ValueDim, int Columns>
GDR_DEVICE BlockProblem block_problem(const FastDivisor& heads) {
  constexpr unsigned blocks = column_blocks(ValueDim, Columns);
  const unsigned block = block_index_x();
  const unsigned sequence_and_head = block / blocks;
  const unsigned sequence = heads.quotient(sequence_and_head);
  return {sequence, static_cast<int>(heads.remainder(sequence_and_head, sequence)),
          static_cast<int>(block % blocks) * Columns};
}

GDR_NAMESPACE_END
