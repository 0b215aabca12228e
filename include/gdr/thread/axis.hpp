// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Gate axes as hooks: which factor meets element (row, column) of a thread's piece of the state,
/// and how the factor enters the delta rule's prediction without a pass of its own over the state.
///
/// With the state S before the decay, (S decayed)^T k = sum_i a_ij S_ij k_i, so that
///     prediction[j] = hook.prediction(sum_i S[j][i] * hook.key(k[i], i), j).
/// A new axis is one more specialisation.

#include <gdr/thread/decay.hpp>

GDR_NAMESPACE_BEGIN

/// The factors of one token for a thread that owns `Rows` x `Columns` of the state.
template <GateAxis Axis, bool Compensated, int Rows, int Columns>
struct DecayFragment;

template <bool Compensated, int Rows, int Columns>
struct DecayFragment<GateAxis::value, Compensated, Rows, Columns> {
  static constexpr int count = Columns;
  Decay<Compensated> factor[Columns];

  GDR_HOST_DEVICE float apply(float s, float added, int /*row*/, int column) const {
    return factor[column].apply(s, added);
  }
  GDR_HOST_DEVICE float key(float k, int /*row*/) const { return k; }
  GDR_HOST_DEVICE float prediction(float sum, int column) const {
    return factor[column].scale(sum);
  }
};

template <bool Compensated, int Rows, int Columns>
struct DecayFragment<GateAxis::key, Compensated, Rows, Columns> {
  static constexpr int count = Rows;
  Decay<Compensated> factor[Rows];

  GDR_HOST_DEVICE float apply(float s, float added, int row, int /*column*/) const {
    return factor[row].apply(s, added);
  }
  GDR_HOST_DEVICE float key(float k, int row) const { return factor[row].scale(k); }
  GDR_HOST_DEVICE float prediction(float sum, int /*column*/) const { return sum; }
};

template <bool Compensated, int Rows, int Columns>
struct DecayFragment<GateAxis::head, Compensated, Rows, Columns> {
  static constexpr int count = 1;
  Decay<Compensated> factor[1];

  GDR_HOST_DEVICE float apply(float s, float added, int /*row*/, int /*column*/) const {
    return factor[0].apply(s, added);
  }
  GDR_HOST_DEVICE float key(float k, int /*row*/) const { return k; }
  GDR_HOST_DEVICE float prediction(float sum, int /*column*/) const { return factor[0].scale(sum); }
};

template <bool Compensated, int Rows, int Columns>
struct DecayFragment<GateAxis::none, Compensated, Rows, Columns> {
  static constexpr int count = 0;

  GDR_HOST_DEVICE float apply(float s, float added, int /*row*/, int /*column*/) const {
    return s + added;
  }
  GDR_HOST_DEVICE float key(float k, int /*row*/) const { return k; }
  GDR_HOST_DEVICE float prediction(float sum, int /*column*/) const { return sum; }
};

/// The fragment of a layer.
template <class Layer, int Rows, int Columns>
using LayerDecays = DecayFragment<Layer::Gate::axis, compensated_decay<Layer>, Rows, Columns>;

GDR_NAMESPACE_END
