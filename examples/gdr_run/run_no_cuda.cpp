// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "run_gpu.hpp"

#include <stdexcept>

namespace gdr_run {

GpuResult run_on_gpu(const Problem& /*problem*/) {
  throw std::runtime_error("this program was built without a CUDA compiler");
}

}  // namespace gdr_run
