// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// One token of the recurrence on one thread's piece of the state. Every form that goes token by
/// token calls this.

#include <gdr/thread/rule.hpp>

GDR_NAMESPACE_BEGIN

/// S <- a S + k (outer) u;  o += S^T q, for `Rows` key channels by `Columns` value channels.
///
/// The write is fma(S, a, k u) in this order: one rounding at the state's size. fma(k, u, S a) has
/// two and drifts (1.1e-6 at gate 1.01 after 1024 tokens).
///
/// \param S     the thread's piece of the state, column by column: S[j][i] is S_ij
/// \param a     factors of this token (DecayFragment)
/// \param k,q   key and query, this thread's rows
/// \param v     value, this thread's columns
/// \param beta  the delta rule's strength; unused by the outer product
/// \param sum   void(float (&)[Columns]): adds over the threads that hold the columns' other rows
/// \param o     this thread's share of S^T q is added here, one sum per column
template <class Rule, int Rows, int Columns, class Decays, class SumLanes>
GDR_HOST_DEVICE void step(float (&S)[Columns][Rows], const Decays& a, const float (&k)[Rows],
                          const float (&q)[Rows], const float (&v)[Columns], float beta,
                          SumLanes&& sum, float (&o)[Columns]) {
  float u[Columns];
  innovation(Rule{}, S, a, k, v, beta, sum, u);
  GDR_UNROLL
  for (int i = 0; i < Rows; ++i) {
    GDR_UNROLL
    for (int j = 0; j < Columns; ++j) {
      S[j][i] = a.apply(S[j][i], k[i] * u[j], i, j);
      o[j] = fmaf(S[j][i], q[i], o[j]);
    }
  }
}

GDR_NAMESPACE_END
