// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// One part of one form's candidates: every GDR_BENCH_TUNE_PARTS-th from GDR_BENCH_TUNE_PART on.

#include "bench/support/tune_layer.cuh"

namespace gdr::bench {
namespace {

using Form = GDR_BENCH_TUNE_FORM;

constexpr auto& list = Form::candidates<TuneLayer>;
static_assert(list.dropped == 0, "max_candidates holds every candidate");

template <int Index>
void add(std::vector<Candidate>& candidates) {
  if constexpr (Index < list.count) {
    using Policy = typename Form::template Policy<TuneLayer, Index>;
    candidates.push_back({Form::members(list.items[Index]), &gdr::can_forward<TuneLayer, Policy>,
                          &gdr::forward<TuneLayer, Policy>});
    add<Index + GDR_BENCH_TUNE_PARTS>(candidates);
  }
}

}  // namespace

template <>
void add_candidates<Form, GDR_BENCH_TUNE_PART>(std::vector<Candidate>& candidates) {
  add<GDR_BENCH_TUNE_PART>(candidates);
}

}  // namespace gdr::bench
