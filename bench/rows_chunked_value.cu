// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The chunked form under the value gate, bfloat16, D 128, in both gate spaces: large shapes and few
// heads, every kind of gates, unequal sequences, sweeps over T and H, and where the forms cross.

#include "bench/support/forward_row.cuh"

#include <numeric>

namespace gdr::bench {
namespace {

using Linear128 = Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Linear>>;
using Log128 = Recurrence<HeadDim<128>, __nv_bfloat16, ValueGate<Log>>;

// 32768 tokens.
const std::vector<int64_t> sixteen_lengths = {1,   8192, 17, 4096, 64,   6144, 1000, 2048,
                                              333, 5000, 7,  1536, 3000, 128,  2,    1200};

void add(Rows& rows, const Problem& problem) {
  add_forward<Linear128>(rows, "value-linear", problem);
  add_forward<Log128>(rows, "value-log", problem);
}

void add_split(Rows& rows, Problem problem) {
  problem.algorithm = Algorithm::chunked_split;
  add(rows, problem);
}

void add_unequal(Rows& rows, int64_t heads, const std::vector<int64_t>& lengths,
                 Algorithm algorithm) {
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  Problem problem = chunked_problem(1, tokens, heads);
  problem.lengths = lengths;
  problem.algorithm = algorithm;
  add(rows, problem);
}

void add_gates(Rows& rows) {
  Problem problem = chunked_problem(1, 8192, 64);
  for (const Gates gates : {Gates::slow, Gates::fast, Gates::resets, Gates::channel_resets}) {
    problem.gates = gates;
    add(rows, problem);
  }
  problem.gates = Gates::signs;
  add_forward<Linear128>(rows, "value-linear", problem);
}

/// The chunked rows of 8192 tokens and 64 heads, which belong to both sweeps, are add_gates'.
void add_sweeps(Rows& rows) {
  for (const int64_t seq_len : {1024, 4096, 16384, 65536, 262144}) {
    add_forward<Log128>(rows, "value-log", chunked_problem(1, seq_len, 64));
  }
  for (const int64_t heads : {1, 2, 4, 8, 16, 32, 64}) {
    Problem problem = chunked_problem(1, 8192, heads);
    if (heads != 64) add_forward<Log128>(rows, "value-log", problem);
    problem.algorithm = Algorithm::automatic;
    add_forward<Log128>(rows, "value-log", problem);
  }
}

}  // namespace

void add_chunked_value_rows(Rows& rows) {
  add_gates(rows);
  add(rows, chunked_problem(8, 2048, 16));
  add_split(rows, chunked_problem(1, 8192, 8));
  add_split(rows, chunked_problem(1, 32768, 16));

  add_unequal(rows, 16, sixteen_lengths, Algorithm::chunked);
  std::vector<int64_t> one_long(65, 1);  // so that its blocks start after half of the others
  one_long[32] = 8192;
  add_unequal(rows, 64, one_long, Algorithm::automatic);

  add_sweeps(rows);
  add_crossover<Log128>(rows, "value-log");
  add_split_crossover<Log128>(rows, "value-log", {2, 16, 24, 33}, {512, 1024, 2048, 4096});
}

}  // namespace gdr::bench
