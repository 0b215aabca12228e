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
#include <gdr/thread/chunk_range.hpp>
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
  using Stored = __nv_bfloat16;  // an element in shared memory
  /// What operands are loaded from.
  template <int Rows, int Columns>
  using Tile = SwizzledTile<Stored, Rows, Columns>;

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
  static constexpr bool has_rest = true;
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
  static GDR_DEVICE void store_pair(Stored* at, float x, float y) {
    *reinterpret_cast<uint32_t*>(at) = pack(x, y);
  }
  /// Neighbouring elements of a row of a Tile.
  template <class Tile, int N>
  static GDR_DEVICE void load_row(const Tile& tile, int row, int column, float (&x)[N]) {
    load_elements(&tile.at(row, column), x);
  }
  template <class Tile>
  static GDR_DEVICE void store_element(Tile& tile, int row, int column, float x) {
    tile.at(row, column) = from_float<Stored>(x);
  }
};

/// float operands rounded to tf32: one product per pair, 3e-4.
///
/// Instructions take 8 of the k axis at a time; k numbers 2 p and 2 p + 1 of a group of eight sit
/// in slots p and p + 4, for A as for B, so that accumulators are operands in place.
struct Tf32Operands {
  using Stored = float;
  template <int Rows, int Columns>
  using Tile = SwizzledTile<Stored, Rows, Columns>;

  struct A {
    float x[2][4];  // as an accumulator's c
  };
  struct B {
    float x[2][2][2];  // [n8][k8][e]: B[8 k8 + 2 p + e][8 n8 + g]
  };

  static GDR_DEVICE A to_a(const Accumulator& x) {
    A a;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) a.x[n][e] = x.c[n][e];
    }
    return a;
  }
  static GDR_DEVICE Accumulator from_a(const A& a) {
    Accumulator x;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) x.c[n][e] = a.x[n][e];
    }
    return x;
  }
  static GDR_DEVICE A lower_triangle(const Accumulator& x, int below, int lane) {
    A a = to_a(x);
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = 16 * below + lane / 4 + e / 2 * 8;
        const int column = 8 * n8 + lane % 4 * 2 + e % 2;
        if (column > row) a.x[n8][e] = 0.0f;
      }
    }
    return a;
  }
  static constexpr bool has_rest = true;
  static GDR_DEVICE A rest(const Accumulator& x, const A& /*a*/) {
    Accumulator left;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        left.c[n][e] = x.c[n][e] - __uint_as_float(round_to_tf32(x.c[n][e]));
      }
    }
    return to_a(left);
  }

  template <class Tile>
  static GDR_DEVICE A load_a(const Tile& tile, int row, int column, int lane) {
    const int g = lane / 4, p = lane % 4;
    A a;
#pragma unroll
    for (int k8 = 0; k8 < 2; ++k8) {
#pragma unroll
      for (int m8 = 0; m8 < 2; ++m8) {
        const auto pair = *reinterpret_cast<const float2*>(
            &tile.at(row + 8 * m8, column + 8 * k8, Tile::offset(g, 2 * p)));
        a.x[k8][2 * m8] = pair.x;
        a.x[k8][2 * m8 + 1] = pair.y;
      }
    }
    return a;
  }
  template <class Tile>
  static GDR_DEVICE A load_a_transposed(const Tile& tile, int row, int column, int lane) {
    const int g = lane / 4, p = lane % 4;
    A a;
#pragma unroll
    for (int k8 = 0; k8 < 2; ++k8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        a.x[k8][e] = tile.at(row + 8 * k8 + e % 2, column + e / 2 * 8, Tile::offset(2 * p, g));
      }
    }
    return a;
  }
  template <class Tile>
  static GDR_DEVICE void store_a(Tile& tile, int row, int column, int lane, const A& a) {
    const int lane_offset = Tile::offset(lane / 4, lane % 4 * 2);
#pragma unroll
    for (int k8 = 0; k8 < 2; ++k8) {
#pragma unroll
      for (int m8 = 0; m8 < 2; ++m8) {
        *reinterpret_cast<float2*>(&tile.at(row + 8 * m8, column + 8 * k8, lane_offset)) =
            make_float2(a.x[k8][2 * m8], a.x[k8][2 * m8 + 1]);
      }
    }
  }
  template <class Tile>
  static GDR_DEVICE void store_a_transposed(Tile& tile, int row, int column, int lane, const A& a) {
    const int g = lane / 4, p = lane % 4;
#pragma unroll
    for (int k8 = 0; k8 < 2; ++k8) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        tile.at(row + 8 * k8 + e % 2, column + e / 2 * 8, Tile::offset(2 * p, g)) = a.x[k8][e];
      }
    }
  }
  struct FiniteCheck : gdr::FiniteCheck {
    using gdr::FiniteCheck::add;
    GDR_DEVICE void add(const A& a) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (const float x : a.x[n]) add(x);
      }
    }
  };
  template <class Tile>
  static GDR_DEVICE B load_b_transposed(const Tile& tile, int row, int column, int lane) {
    const int g = lane / 4, p = lane % 4;
    B b;
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int k8 = 0; k8 < 2; ++k8) {
        const auto pair = *reinterpret_cast<const float2*>(
            &tile.at(row + 8 * n8, column + 8 * k8, Tile::offset(g, 2 * p)));
        b.x[n8][k8][0] = pair.x;
        b.x[n8][k8][1] = pair.y;
      }
    }
    return b;
  }
  template <class Tile>
  static GDR_DEVICE B load_b(const Tile& tile, int row, int column, int lane) {
    const int g = lane / 4, p = lane % 4;
    B b;
#pragma unroll
    for (int n8 = 0; n8 < 2; ++n8) {
#pragma unroll
      for (int k8 = 0; k8 < 2; ++k8) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          b.x[n8][k8][e] = tile.at(row + 8 * k8 + e, column + 8 * n8, Tile::offset(2 * p, g));
        }
      }
    }
    return b;
  }

  static GDR_DEVICE void multiply_add(Accumulator& acc, const A& a, const B& b) {
#pragma unroll
    for (int k8 = 0; k8 < 2; ++k8) {
      const float(&x)[4] = a.x[k8];
      const float in_slots[4] = {x[0], x[2], x[1], x[3]};
      uint32_t rounded[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) rounded[e] = round_to_tf32(in_slots[e]);
#pragma unroll
      for (int n8 = 0; n8 < 2; ++n8) {
        mma_tf32(acc.c[n8], rounded, round_to_tf32(b.x[n8][k8][0]), round_to_tf32(b.x[n8][k8][1]));
      }
    }
  }
  static GDR_DEVICE void store_pair(Stored* at, float x, float y) {
    *reinterpret_cast<float2*>(at) = make_float2(x, y);
  }
  template <class Tile, int N>
  static GDR_DEVICE void load_row(const Tile& tile, int row, int column, float (&x)[N]) {
    load_elements(&tile.at(row, column), x);
  }
  template <class Tile>
  static GDR_DEVICE void store_element(Tile& tile, int row, int column, float x) {
    tile.at(row, column) = x;
  }
};

GDR_NAMESPACE_END
