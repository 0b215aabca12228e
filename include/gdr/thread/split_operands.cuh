// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// float operands for bfloat16 tensor cores: each the sum of two bfloat16 numbers.

#include <gdr/thread/operands.cuh>

GDR_NAMESPACE_BEGIN

/// x = high + low, both rounded to nearest: 2^-18 of x is lost. All four products per pair, 5e-6.
struct SplitOperands {
  using Half = Bfloat16Operands;
  using Number = float;
  /// The high numbers' rows, then the low ones', so that panels of both alternate.
  template <int Rows, int Columns>
  using Tile = SwizzledTile<__nv_bfloat16, 2 * Rows, Columns>;

  struct A {
    Half::A high;
    Half::A low;
  };
  struct B {
    Half::B high;
    Half::B low;
  };

  /// Two numbers x and y, each as high + low.
  static GDR_DEVICE void split(float x, float y, uint32_t& high, uint32_t& low) {
    high = Half::pack(x, y);
    low = Half::pack(x - Half::low(high), y - Half::high(high));
  }

  static GDR_DEVICE A to_a(const Accumulator& x) {
    const Half::A high = Half::to_a(x);
    return {high, Half::rest(x, high)};
  }
  static GDR_DEVICE Accumulator from_a(const A& a) {
    Accumulator x = Half::from_a(a.high);
    x.add(Half::from_a(a.low));
    return x;
  }
  static GDR_DEVICE A lower_triangle(const Accumulator& x, int below, int lane) {
    Accumulator left = x;
    left.subtract(Half::from_a(Half::to_a(x)));
    return {Half::lower_triangle(x, below, lane), Half::lower_triangle(left, below, lane)};
  }
  static GDR_DEVICE A rest(const Accumulator& x, const A& a) {
    Accumulator left = x;
    left.subtract(from_a(a));
    return to_a(left);
  }

  template <class Tile>
  static GDR_DEVICE A load_a(const Tile& tile, int row, int column, int lane) {
    return {Half::load_a(tile, row, column, lane),
            Half::load_a(tile, low_row<Tile>(row), column, lane)};
  }
  template <class Tile>
  static GDR_DEVICE void store_a(Tile& tile, int row, int column, int lane, const A& a) {
    Half::store_a(tile, row, column, lane, a.high);
    Half::store_a(tile, low_row<Tile>(row), column, lane, a.low);
  }
  template <class Tile>
  static GDR_DEVICE void store_a_transposed(Tile& tile, int row, int column, int lane, const A& a) {
    Half::store_a_transposed(tile, row, column, lane, a.high);
    Half::store_a_transposed(tile, low_row<Tile>(row), column, lane, a.low);
  }
  template <class Tile>
  static GDR_DEVICE B load_b_transposed(const Tile& tile, int row, int column, int lane) {
    return {Half::load_b_transposed(tile, row, column, lane),
            Half::load_b_transposed(tile, low_row<Tile>(row), column, lane)};
  }
  template <class Tile>
  static GDR_DEVICE B load_b(const Tile& tile, int row, int column, int lane) {
    return {Half::load_b(tile, row, column, lane),
            Half::load_b(tile, low_row<Tile>(row), column, lane)};
  }
  static GDR_DEVICE void multiply_add(Accumulator& acc, const A& a, const B& b) {
    Half::multiply_add(acc, a.low, b.low);
    Half::multiply_add(acc, a.low, b.high);
    Half::multiply_add(acc, a.high, b.low);
    Half::multiply_add(acc, a.high, b.high);
  }

  /// A from a tile of elements as they come, [K][M].
  template <class Elements>
  static GDR_DEVICE A load_a_transposed(const Elements& tile, int row, int column, int lane) {
    return to_a(load_by_channel(tile, row, column, lane));
  }
  static GDR_DEVICE void store_pair(Number* at, float x, float y) {
    *reinterpret_cast<float2*>(at) = make_float2(x, y);
  }

  struct FiniteCheck {
    Half::FiniteCheck high;
    GDR_DEVICE void add(const A& a) { high.add(a.high); }
    GDR_DEVICE bool holds() const { return high.holds(); }
  };

  template <class Tile, int N>
  static GDR_DEVICE void load_row(const Tile& tile, int row, int column, float (&x)[N]) {
    float low[N];
    Half::load_row(tile, row, column, x);
    Half::load_row(tile, low_row<Tile>(row), column, low);
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] += low[e];
  }
  template <class Tile>
  static GDR_DEVICE void store_element(Tile& tile, int row, int column, float x) {
    const __nv_bfloat16 high = from_float<__nv_bfloat16>(x);
    tile.at(row, column) = high;
    tile.at(low_row<Tile>(row), column) = from_float<__nv_bfloat16>(x - to_float(high));
  }

 private:
  template <class Tile>
  static GDR_DEVICE int low_row(int row) {
    return Tile::rows / 2 + row;
  }
};

/// What a layer's products are made of. Of float16, too, two numbers: they hold its 11 bits, and
/// scaled values pass its range.
template <DataType Type>
using OperandsOf = stdx::conditional_t<Type == DataType::bfloat16, Bfloat16Operands, SplitOperands>;

GDR_NAMESPACE_END
