// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Operands of matrix products on tensor cores, 16 x 16 at a time, in the precision that an element
/// type asks for. Accumulators are float, 16 x 16 as two tiles of 16 x 8.
///
/// A lane is 4 * g + p. Of an accumulator pair c[2][4] it holds, for n8 = 0, 1 and e = 0, 1,
///     c[n8][e]     = C[g    ][8 n8 + 2 p + e]
///     c[n8][2 + e] = C[g + 8][8 n8 + 2 p + e],
/// and of an operand A (16 x 16) the same elements, so that accumulators become operands in place.

#include <gdr/block/swizzled_tile.cuh>
#include <gdr/thread/convert.cuh>

GDR_NAMESPACE_BEGIN

/// A 16 x 16 accumulator.
struct Accumulator {
  float c[2][4];

  GDR_DEVICE void clear() {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) c[n][e] = 0;
    }
  }
  /// One rounding of its own: not joined to a product before it, which another way through the same
  /// chunk may round first.
  GDR_DEVICE void add(const Accumulator& x) {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) c[n][e] = __fadd_rn(c[n][e], x.c[n][e]);
    }
  }
  GDR_DEVICE void subtract(const Accumulator& x) {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) c[n][e] -= x.c[n][e];
    }
  }
  /// Elementwise.
  GDR_DEVICE void multiply(const Accumulator& x) {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) c[n][e] *= x.c[n][e];
    }
  }
};

/// bfloat16 operands: one product per pair.
struct Bfloat16Operands {
  using Number = __nv_bfloat16;  // what operands are made of
  /// What operands are loaded from.
  template <int Rows, int Columns>
  using Tile = SwizzledTile<Number, Rows, Columns>;

  struct A {
    uint32_t r[4];
  };
  struct B {
    uint32_t r[4];
  };

  static GDR_DEVICE uint32_t pack(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    uint32_t bits;
    memcpy(&bits, &pair, sizeof(bits));
    return bits;
  }
  static GDR_DEVICE float low(uint32_t pair) { return __uint_as_float(pair << 16); }
  static GDR_DEVICE float high(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

  static GDR_DEVICE A to_a(const Accumulator& x) {
    return {{pack(x.c[0][0], x.c[0][1]), pack(x.c[0][2], x.c[0][3]), pack(x.c[1][0], x.c[1][1]),
             pack(x.c[1][2], x.c[1][3])}};
  }
  static GDR_DEVICE Accumulator from_a(const A& a) {
    return {{{low(a.r[0]), high(a.r[0]), low(a.r[1]), high(a.r[1])},
             {low(a.r[2]), high(a.r[2]), low(a.r[3]), high(a.r[3])}}};
  }
  /// A block of a matrix, `below` blocks under its diagonal, with zeros above that. By select: what
  /// is dropped need not be finite.
  static GDR_DEVICE A lower_triangle(const Accumulator& x, int below, int lane) {
    A a = to_a(x);
    const int row = lane / 4, column = lane % 4 * 2;
    const uint32_t near = (column <= row ? 0xffffu : 0u) | (column < row ? 0xffff0000u : 0u);
    const uint32_t all = below > 0 ? 0xffffffffu : 0u;
    const uint32_t on_diagonal = below == 0 ? near : all;
    a.r[0] &= on_diagonal;
    a.r[1] &= below >= 0 ? 0xffffffffu : 0u;
    a.r[2] &= all;
    a.r[3] &= on_diagonal;
    return a;
  }
  /// What rounding to A left over, as an operand of its own.
  static GDR_DEVICE A rest(const Accumulator& x, const A& a) {
    Accumulator left = from_a(a);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) left.c[n][e] = x.c[n][e] - left.c[n][e];
    }
    return to_a(left);
  }

  /// A from rows `row` on of a tile [M][K].
  template <class Tile>
  static GDR_DEVICE A load_a(const Tile& tile, int row, int column, int lane) {
    A a;
    ldmatrix(a.r, tile.address(row, column, Tile::offset(lane % 16, lane / 16 * 8)));
    return a;
  }
  /// A from a tile [K][M].
  template <class Tile>
  static GDR_DEVICE A load_a_transposed(const Tile& tile, int row, int column, int lane) {
    A a;
    ldmatrix_transposed(
        a.r, tile.address(row, column, Tile::offset(lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8)));
    return a;
  }
  /// Writes A to a tile [M][K], and to a tile [K][M].
  template <class Tile>
  static GDR_DEVICE void store_a(Tile& tile, int row, int column, int lane, const A& a) {
    stmatrix(tile.address(row, column, Tile::offset(lane % 16, lane / 16 * 8)), a.r);
  }
  template <class Tile>
  static GDR_DEVICE void store_a_transposed(Tile& tile, int row, int column, int lane, const A& a) {
    stmatrix_transposed(
        tile.address(row, column, Tile::offset(lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8)), a.r);
  }
  /// B (K x N) from a tile [N][K].
  template <class Tile>
  static GDR_DEVICE B load_b_transposed(const Tile& tile, int row, int column, int lane) {
    B b;
    ldmatrix(b.r,
             tile.address(row, column, Tile::offset(lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8)));
    return b;
  }
  /// B (K x N) from a tile [K][N].
  template <class Tile>
  static GDR_DEVICE B load_b(const Tile& tile, int row, int column, int lane) {
    B b;
    ldmatrix_transposed(b.r, tile.address(row, column, Tile::offset(lane % 16, lane / 16 * 8)));
    return b;
  }
  /// Whether all elements of some operands are finite.
  struct FiniteCheck {
    uint32_t zeros = 0;  // sums of x * 0: NaN once an x is not finite
    GDR_DEVICE void add(const A& a) {
#pragma unroll
      for (const uint32_t pair : a.r) zeros = multiply_add_bf16x2(pair, 0, zeros);
    }
    GDR_DEVICE bool holds() const { return zeros == 0; }
  };
  /// c += a b.
  static GDR_DEVICE void multiply_add(Accumulator& acc, const A& a, const B& b) {
    mma_bf16(acc.c[0], a.r, b.r[0], b.r[1]);
    mma_bf16(acc.c[1], a.r, b.r[2], b.r[3]);
  }
  /// Writes two neighbouring elements.
  static GDR_DEVICE void store_pair(Number* at, float x, float y) {
    *reinterpret_cast<uint32_t*>(at) = pack(x, y);
  }
  /// Neighbouring elements of a row of a Tile.
  template <class Tile, int N>
  static GDR_DEVICE void load_row(const Tile& tile, int row, int column, float (&x)[N]) {
    load_elements(&tile.at(row, column), x);
  }
  template <class Tile>
  static GDR_DEVICE void store_element(Tile& tile, int row, int column, float x) {
    tile.at(row, column) = from_float<Number>(x);
  }
};

/// Elements of a tile [k][m], as a fragment [m][k] of floats, from the given k and m on.
template <class Tile>
GDR_DEVICE Accumulator load_by_channel(const Tile& tile, int k, int m, int lane) {
  using T = typename Tile::Element;
  Accumulator x;
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        x.c[n8][e] =
            tile.at(k + 8 * n8 + e % 2, m + e / 2 * 8, Tile::offset(lane % 4 * 2, lane / 4));
    }
  } else {
    const auto a = Bfloat16Operands::load_a_transposed(tile, k, m, lane);
    if constexpr (data_type_of<T> == DataType::bfloat16) {
      x = Bfloat16Operands::from_a(a);
    } else {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        PackedVector<T, 2> pair;
        pair.word[0] = a.r[r];
        x.c[r / 2][r % 2 * 2] = pair.get(0);
        x.c[r / 2][r % 2 * 2 + 1] = pair.get(1);
      }
    }
  }
  return x;
}

GDR_NAMESPACE_END
