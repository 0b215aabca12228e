// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Head dimensions (S6; fla#22, fla#1135): exact types, and smaller extents inside a larger type.

#include "device_run.cuh"

namespace gdr::test::extent_cases {

inline Spec extent_spec(Algorithm algorithm, std::int64_t tokens) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = tokens;
  spec.shape.heads = 2;
  spec.algorithm = algorithm;
  return spec.with_states();
}

template <class L>
void every_smaller_extent(Algorithm algorithm, std::int64_t tokens) {
  const int extents[] = {1, 2, 3, 8, 15, 24, 40, 48, 72, 80, 96, 100, 112, 160, 192, 256};
  for (const int key_dim : extents) {
    for (const int value_dim : extents) {
      if (key_dim > L::key_dim || value_dim > L::value_dim) continue;
      Spec spec = extent_spec(algorithm, tokens);
      spec.seed = static_cast<std::uint64_t>(1000 * key_dim + value_dim);
      spec.shape.key_dim = key_dim;
      spec.shape.value_dim = value_dim;
      spec.gap = (key_dim + value_dim) % 2 == 0 ? Gap::nan : Gap::large;
      const Problem<L> problem = make_problem<L>(spec);
      run_and_check(problem, scope_of(problem));
    }
  }
}

template <class Layers>
void exact_types(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const Gap gap : {Gap::nan, Gap::large}) {
      const auto run = [gap](Spec spec) {
        spec.gap = gap;
        const Problem<L> problem = make_problem<L>(spec);
        run_and_check(problem, scope_of(problem));
      };
      Spec spec = extent_spec(algorithm, 19);
      run(spec);
      spec.shape.seq_len = 100;
      spec.initial_state.present = false;
      run(spec);
    }
  });
}

/// Query and launcher refuse alike, and name the field.
template <class L>
void expect_refused(Algorithm algorithm, int Shape::*field, int extent, const char* name) {
  const Problem<L> problem = make_problem<L>(extent_spec(algorithm, 19));
  const DeviceProblem<L> device(problem);
  ForwardArgs<L> args = device.args();
  args.shape.*field = extent;
  const Status asked = can_forward<L, TestPolicy<L>>(args);
  const Status launched = forward<L, TestPolicy<L>>(args, nullptr);
  for (const Status& status : {asked, launched}) {
    EXPECT_EQ(status.code, StatusCode::invalid_argument) << describe(status);
    EXPECT_STREQ(status.argument, name) << describe(status);
  }
  device.expect_nothing_written();
}

}  // namespace gdr::test::extent_cases
