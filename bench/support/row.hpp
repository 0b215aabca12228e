// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A row of the bench, and the functions that list the rows: one for each rows_*.cu, so that each
/// compiles few instantiations.

#include "bench/support/copy_rate.cuh"

#include <functional>

namespace gdr::bench {

/// What the rows of one run share.
struct Session {
  Device device;
  Stream stream;
  CopyRate copy;
  Timing empty_kernel;
  int samples = 0;
};

struct Measurement {
  Timing timing;
  int64_t bytes = 0;  // each input read once, each output written once
  int64_t flops = 0;  // of the recurrence, a multiply-add counts two
  int copies = 1;     // sets of tensors that the launches rotate over
  double error = 0;   // of the verified output, relative to the float64 reference in 2-norms
};

/// Names read group/layer/shape/type/gates/method, and the library's rows end in the form; the
/// report script takes them apart.
struct Row {
  std::string name;
  std::function<Measurement(const Session&)> run;  // throws where the output is wrong or CUDA fails
};

using Rows = std::vector<Row>;

void add_default_rows(Rows& rows);
void add_value_gate_rows(Rows& rows);
void add_delta_rule_rows(Rows& rows);
void add_gate_function_rows(Rows& rows);
void add_gate_axis_rows(Rows& rows);
void add_chunked_value_rows(Rows& rows);
void add_chunked_value_64_rows(Rows& rows);
void add_chunked_gate_type_rows(Rows& rows);
void add_chunked_key_rows(Rows& rows);
void add_chunked_head_rows(Rows& rows);
void add_chunked_float32_rows(Rows& rows);
void add_crossover_float32_rows(Rows& rows);
void add_chunked_extent_rows(Rows& rows);  // where GDR_BENCH_ALL_EXTENTS is on

}  // namespace gdr::bench
