// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "support/instantiations.cuh"

// One kernel of each form: the other tunings are the same code.
template <class Layer>
struct StandardPolicy {
  static constexpr gdr::RecurrentTuning recurrent = gdr::DefaultPolicy<Layer>::recurrent;
  static constexpr gdr::ChunkedTuning chunked = gdr::DefaultPolicy<Layer>::chunked;
};

std::vector<const void*> architectures() {
  return gdr::test::instantiate<0, 1, StandardPolicy>(gdr::test::layers::Each{});
}
