// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Built as PTX of compute_80 alone, for whatever device there is: one of a later capability, whose
// copy engine and warpgroup products this code does not have, runs it too.

#include "support/device_run.cuh"

namespace {

using namespace gdr::test;
using gdr::HeadDim;
using gdr::HeadDims;

class ChunkedOlderArchitecture : public DeviceTestByForm {};

INSTANTIATE_TEST_SUITE_P(Form, ChunkedOlderArchitecture, every_chunked_form(), form_name);

TEST_P(ChunkedOlderArchitecture, TensorsThatACopyEngineCouldTake) {
  using Value = gdr::Recurrence<HeadDim<64>, __nv_bfloat16>;
  using Key = gdr::Recurrence<HeadDims<64, 32>, float, gdr::KeyGate<gdr::Log>>;
  for_each_layer(LayerList<Value, Key>{}, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : {64, 200, 1000}) {
      Spec spec;
      spec.shape.batch = 2;
      spec.shape.seq_len = tokens;
      spec.shape.heads = 4;
      spec.shape.key_heads = 2;
      spec.algorithm = GetParam();
      run_and_check<L>(spec.with_states());
    }
  });
}

}  // namespace
