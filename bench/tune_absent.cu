// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// gdr_bench without policies to try.

#include "bench/support/tune.hpp"

namespace gdr::bench {

const char* tuned_layer() { return nullptr; }
void list_candidates(std::ostream& /*out*/) {}
bool tune(const Session& /*session*/, const TuneOptions& /*options*/) { return false; }

}  // namespace gdr::bench
