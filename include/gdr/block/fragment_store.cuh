// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Writes outputs of the chunked form, fragments of 16 channels by 16 tokens, to device memory.

#include <gdr/thread/lanes.cuh>
#include <gdr/thread/operands.cuh>

GDR_NAMESPACE_BEGIN
namespace detail {

template <class T>
GDR_DEVICE uint32_t pack_pair(float x, float y) {
  PackedVector<T, 2> pair;
  pair.set(0, from_float<T>(x));
  pair.set(1, from_float<T>(y));
  return pair.word[0];
}
template <>
GDR_DEVICE uint32_t pack_pair<__nv_bfloat16>(float x, float y) {
  return Bfloat16Operands::pack(x, y);
}

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
      // Channels 8 m8 + 2 p, + 1 of token 8 n8 + g.
      half[m8] = movmatrix(pack_pair<T>(x.c[n8][2 * m8], x.c[n8][2 * m8 + 1]));
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

/// Where a block's columns of an output tensor lie.
template <class T>
struct FragmentTarget {
  T* data;                // token 0, the block's first column
  int64_t time_stride;    // elements
  int channels;           // valid ones from there
  bool has_whole_pieces;  // 16 bytes at a time, by alignment and number of channels

  GDR_DEVICE FragmentTarget(T* first, int64_t stride, int valid_channels)
      : data(first), time_stride(stride), channels(valid_channels) {
    const auto address = reinterpret_cast<size_t>(data);
    const auto stride_bytes = static_cast<size_t>(time_stride) * sizeof(T);
    has_whole_pieces = (address | stride_bytes) % 16 == 0 && channels % 8 == 0;
  }
};

/// Writes an output of BlockChunked to the target.
template <class T, class Output>
GDR_DEVICE void store_output(const FragmentTarget<T>& target, const Output& output) {
  constexpr int blocks = sizeof(output.x) / sizeof(Accumulator);
  T* const first = target.data + output.first_token * target.time_stride + output.first_channel;
  const int channels = target.channels - output.first_channel;
  if constexpr (sizeof(T) == 2) {
    if (GDR_LIKELY(target.has_whole_pieces)) {
      const int channel = output.lane % 2 * 8;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      // Transposed through shared memory.
      __syncwarp();  // what the warp put there before has been read
#pragma unroll
      for (int b = 0; b < blocks; ++b) {
        uint32_t pairs[4];  // [token half][channel half]
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          pairs[m] = detail::pack_pair<T>(output.x[b].c[m / 2][m % 2 * 2],
                                          output.x[b].c[m / 2][m % 2 * 2 + 1]);
        }
        using Staging = stdx::remove_reference_t<decltype(output.staging)>;
        const int lane_offset =
            Staging::offset(output.lane % 8 + output.lane / 16 * 8, output.lane / 8 % 2 * 8);
        stmatrix_transposed(output.staging.address(16 * b, 0, lane_offset), pairs);
      }
      __syncwarp();
      const int lane_token = output.lane / 2;
      T* to = first + lane_token * target.time_stride + channel;
#pragma unroll
      for (int b = 0; b < blocks; ++b) {
        using Staging = stdx::remove_reference_t<decltype(output.staging)>;
        const uint4 piece = *reinterpret_cast<const uint4*>(
            &output.staging.at(16 * b, 0, Staging::offset(lane_token, channel)));
        if (16 * b + lane_token < output.tokens && channel < channels) {
          *reinterpret_cast<uint4*>(to) = piece;
        }
        to += 16 * target.time_stride;
      }
#else
      const int lane_token = output.lane / 4 + output.lane % 4 / 2 * 8;
#pragma unroll
      for (int b = 0; b < blocks; ++b) {
        const uint4 piece = detail::channels_of_token<T>(output.x[b], output.lane);
        const int token = 16 * b + lane_token;
        if (token < output.tokens && channel < channels) {
          *reinterpret_cast<uint4*>(first + token * target.time_stride + channel) = piece;
        }
      }
#endif
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
