// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Writes outputs of the chunked form, fragments of 16 channels by 16 tokens, to device memory.

#include <gdr/block/tile_store.cuh>
#include <gdr/thread/lanes.cuh>
#include <gdr/thread/operands.cuh>

GDR_NAMESPACE_BEGIN
namespace detail {

/// A block [16 channels][16 tokens] of 16-bit elements, transposed across the warp so that a lane
/// has 8 neighbouring channels of one token: lane 4 g + p gets channels 8 (p % 2) on, of token
/// g + 8 (p / 2).
template <class T>
GDR_DEVICE uint4 channels_of_token(const Accumulator& x, int lane) {
  const bool odd = lane % 2 != 0, upper = lane % 4 >= 2;
  uint32_t four[2][2];  // [token half]: 4 channels of token g + 8 half
#pragma unroll
  for (int n8 = 0; n8 < 2; ++n8) {
    uint32_t half[2];
#pragma unroll
    for (int m8 = 0; m8 < 2; ++m8) {
      PackedVector<T, 2> pair;
      pair.set(0, from_float<T>(x.c[n8][2 * m8]));
      pair.set(1, from_float<T>(x.c[n8][2 * m8 + 1]));
      half[m8] = movmatrix(pair.word[0]);  // channels 8 m8 + 2 p, + 1 of token 8 n8 + g
    }
    const uint32_t other = __shfl_xor_sync(full_warp, odd ? half[0] : half[1], 1);
    four[n8][0] = odd ? other : half[0];
    four[n8][1] = odd ? half[1] : other;
  }
  // Even lanes now have channels 2 p .. 2 p + 3 and odd ones 8 + 2 (p - 1) .., of both tokens.
  const uint32_t other0 = __shfl_xor_sync(full_warp, upper ? four[0][0] : four[1][0], 2);
  const uint32_t other1 = __shfl_xor_sync(full_warp, upper ? four[0][1] : four[1][1], 2);
  return upper ? make_uint4(other0, other1, four[1][0], four[1][1])
               : make_uint4(four[0][0], four[0][1], other0, other1);
}

}  // namespace detail

/// Writes an output of BlockChunked to the target.
template <class T, class Output>
GDR_DEVICE void store_output(const TileTarget<T>& target, const Output& output) {
  T* const first =
      target.data + output.first_token * target.time_stride + output.first_channel;
  const int channels = target.channels - output.first_channel;
  if constexpr (sizeof(T) == 2) {
    const auto address = reinterpret_cast<size_t>(first);
    const auto stride = static_cast<size_t>(target.time_stride) * sizeof(T);
    if (GDR_LIKELY((address | stride) % 16 == 0 && (channels >= 16 || channels % 8 == 0))) {
      const uint4 piece = detail::channels_of_token<T>(output.x, output.lane);
      const int token = output.lane / 4 + output.lane % 4 / 2 * 8;
      const int channel = output.lane % 2 * 8;
      if (token < output.tokens && channel < channels) {
        *reinterpret_cast<uint4*>(first + token * target.time_stride + channel) = piece;
      }
      return;
    }
  }
  output.for_each([&](int token, int channel, float x) {
    if (token < output.tokens && channel < channels) {
      first[token * target.time_stride + channel] = from_float<T>(x);
    }
  });
}

GDR_NAMESPACE_END
