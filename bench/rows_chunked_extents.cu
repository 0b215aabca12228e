// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The rows of all extents; compiled only where GDR_BENCH_ALL_EXTENTS is on.

#include "bench/support/extents.hpp"

#include <utility>

namespace gdr::bench {
namespace {

template <int... parts>
void add_parts(Rows& rows, std::integer_sequence<int, parts...>) {
  (add_extents<parts>(rows), ...);
}

}  // namespace

void add_chunked_extent_rows(Rows& rows) {
  add_parts(rows, std::make_integer_sequence<int, GDR_BENCH_EXTENT_PARTS>{});
}

}  // namespace gdr::bench
