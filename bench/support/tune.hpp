// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The sweep as gdr_bench calls it. tune.cu has it, for one layer type; tune_absent.cu stands in
/// where the program is built without.

#include "bench/support/row.hpp"
#include "bench/support/tuning_text.hpp"

#include <ostream>

namespace gdr::bench {

struct TuneOptions {
  std::vector<TuneShape> shapes;
  std::string path;  // of the JSON, or empty
};

/// The layer type's name, or null in a program without policies to try.
const char* tuned_layer();

/// Prints the candidates of every form. Needs no GPU.
void list_candidates(std::ostream& out);

/// Sweeps all candidates on all shapes. False if one of them computed wrongly or failed.
bool tune(const Session& session, const TuneOptions& options);

}  // namespace gdr::bench
