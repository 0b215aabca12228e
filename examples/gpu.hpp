// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Which GPU a program meets, for the examples that compute on the CPU where there is none.

#include <string>

namespace examples {

struct Gpu {
  enum class State {
    ready,
    absent,  // the reference takes over
    faulty,  // there is something to mend first
  };
  State state = State::absent;
  std::string text;  // what it is, or why there is none
};

// Defined by gpu.cu, or by gpu_no_cuda.cpp where there is no CUDA compiler.
Gpu find_gpu();

}  // namespace examples
