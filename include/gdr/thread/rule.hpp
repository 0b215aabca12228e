// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Update rules as hooks: what is written at a token. A new rule is one more `innovation` overload.

#include <gdr/thread/axis.hpp>

GDR_NAMESPACE_BEGIN

/// u_t = v_t.
template <int Rows, int Columns, class Decays, class SumLanes>
GDR_HOST_DEVICE void innovation(OuterProduct, const float (&/*S*/)[Columns][Rows],
                                const Decays& /*a*/, const float (&/*k*/)[Rows],
                                const float (&v)[Columns], float /*beta*/, SumLanes&& /*sum*/,
                                float (&u)[Columns]) {
  GDR_UNROLL
  for (int j = 0; j < Columns; ++j) u[j] = v[j];
}

/// u_t = beta_t * (v_t - S^T k_t), S already decayed. `sum` adds Columns values over the lanes that
/// share the columns and leaves the totals in every lane.
template <class Function, int Rows, int Columns, class Decays, class SumLanes>
GDR_HOST_DEVICE void innovation(DeltaRule<Function>, const float (&S)[Columns][Rows],
                                const Decays& a, const float (&k)[Rows], const float (&v)[Columns],
                                float beta, SumLanes&& sum, float (&u)[Columns]) {
  float predicted[Columns];
  GDR_UNROLL
  for (int j = 0; j < Columns; ++j) predicted[j] = 0;
  GDR_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const float weighted_k = a.key(k[i], i);
    GDR_UNROLL
    for (int j = 0; j < Columns; ++j) predicted[j] = fmaf(S[j][i], weighted_k, predicted[j]);
  }
  sum(predicted);
  GDR_UNROLL
  for (int j = 0; j < Columns; ++j) u[j] = beta * (v[j] - a.prediction(predicted[j], j));
}

GDR_NAMESPACE_END
