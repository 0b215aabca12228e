// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The layer type that is tuned, and its candidates. They are compiled in several files
/// (tune_part.cu), since each is a kernel.

#include "bench/support/candidates.hpp"
#include "bench/support/gate_parameters.cuh"

#include <gdr/gated_delta.cuh>

#include <utility>

#include "gdr_bench_tune_layer.hpp"  // TuneLayer, as CMake was told

namespace gdr::bench {

/// A policy to try.
struct Candidate {
  TuningMembers members;
  Status (*can_forward)(const ForwardArgs<TuneLayer>&);
  Status (*forward)(const ForwardArgs<TuneLayer>&, cudaStream_t);
};

/// Adds a form's candidates whose numbers are Part modulo the number of parts; in tune_part.cu.
template <class Form, int Part>
void add_candidates(std::vector<Candidate>& candidates);

/// Candidates of all parts.
template <class Form, int... Parts>
std::vector<Candidate> all_candidates(std::integer_sequence<int, Parts...> /*parts*/) {
  std::vector<Candidate> candidates;
  (add_candidates<Form, Parts>(candidates), ...);
  return candidates;
}

}  // namespace gdr::bench
