// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Types, gate functions and the reference without a CUDA toolkit.

#include <gdr/gates.hpp>
#include <gdr/reference.hpp>
#include <gdr/types.hpp>

#include <cstdio>

#include "../../support/no_toolkit.hpp"

#if defined(EXPECTED_VERSION)
static_assert(GDR_VERSION == EXPECTED_VERSION, "the package's version is the headers'");
#endif

int main() {
  using Layer = gdr::Recurrence<gdr::HeadDim<1>, float, gdr::ValueGate<gdr::OneMinus>>;
  const float ones[] = {1, 1};
  const float gate[] = {0.25f, 0.25f};
  gdr::ForwardArgs<Layer> args;
  args.shape.batch = 1;
  args.shape.seq_len = 2;
  args.shape.heads = 1;
  args.q = ones;
  args.k = ones;
  args.v = ones;
  args.gate = gate;
  const gdr::reference::Output output = gdr::reference::forward(args);
  // S is 1 after the first token and 0.75 + 1 after the second.
  std::printf("o = %g, %g\n", output.o[0], output.o[1]);
  return output.o[0] == 1.0 && output.o[1] == 1.75 ? 0 : 1;
}
