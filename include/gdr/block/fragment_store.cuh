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
    using Staging = stdx::remove_reference_t<decltype(output.staging)>;
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
      const int lane_offset =
          Staging::offset(output.lane % 8 + output.lane / 16 * 8, output.lane / 8 % 2 * 8);
      stmatrix_transposed(output.staging.address(16 * b, 0, lane_offset), pairs);
    }
    __syncwarp();
    const int token = output.lane / 2, channel = output.lane % 2 * 8;
    const auto staged = [&](int b) {
      return reinterpret_cast<const T*>(
          &output.staging.at(16 * b, 0, Staging::offset(token, channel)));
    };
    T* to = first + token * target.time_stride + channel;
    if (GDR_LIKELY(target.has_whole_pieces)) {
#pragma unroll
      for (int b = 0; b < blocks; ++b) {
        const uint4 piece = *reinterpret_cast<const uint4*>(staged(b));
        if (16 * b + token < output.tokens && channel < channels) {
          __stcs(reinterpret_cast<uint4*>(to), piece);  // leaves the L2 first, as copy_box's do
        }
        to += 16 * target.time_stride;
      }
      return;
    }
    // Loops: few instructions to jump over.
#pragma unroll 1
    for (int b = 0; 16 * b + token < output.tokens; ++b) {
#pragma unroll 1
      for (int i = 0; i < 8 && channel + i < channels; ++i) to[i] = staged(b)[i];
      to += 16 * target.time_stride;
    }
  } else {
    if (GDR_LIKELY(output.tokens >= 16 * blocks && channels >= 16)) {
      // Eight lanes have 32 bytes of a token.
      T* to = first + output.lane % 4 * 2 * target.time_stride + output.lane / 4;
#pragma unroll
      for (int b = 0; b < blocks; ++b) {
#pragma unroll
        for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            to[e % 2 * target.time_stride + e / 2 * 8] = output.x[b].c[n8][e];
          }
          to += 8 * target.time_stride;
        }
      }
      return;
    }
    output.for_each([&](int token, int channel, float x) {
      if (token < output.tokens && channel < channels) {
        first[token * target.time_stride + channel] = x;
      }
    });
  }
}

GDR_NAMESPACE_END
