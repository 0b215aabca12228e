// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: gdr: a policy's tunings have the same lanes and rows
// errors: 1
// wrong: -arch=sm_80
// wrong: -DGDR_TEST_WRONG
// right: -arch=sm_80

#include <gdr/gated_delta.cuh>

using Layer = gdr::Recurrence<gdr::HeadDim<16>, float>;

struct Policy : gdr::DefaultPolicy<Layer> {
  static constexpr gdr::RecurrentTuning recurrent = {/*lanes=*/4,
                                                     /*rows=*/4,
                                                     /*columns_per_thread=*/1,
                                                     /*step_warps=*/2,
                                                     /*stage_warps=*/2,
                                                     /*tokens_per_tile=*/16,
                                                     /*tokens_in_flight=*/4,
                                                     /*blocks_per_sm=*/1};
#if !defined(GDR_TEST_WRONG)
  static constexpr gdr::RecurrentTuning recurrent_small_grid = recurrent;
  static constexpr gdr::RecurrentTuning recurrent_compact = recurrent;
#endif
};

gdr::Status run(const gdr::ForwardArgs<Layer>& args) {
  return gdr::forward<Layer, Policy>(args, nullptr);
}
