// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The demo's GPU where it was built without a CUDA compiler.

#include "demo_problem.hpp"

namespace demo {

Gpu find_gpu() { return {Gpu::State::absent, "this program was built without a CUDA compiler"}; }

GpuReport run_on_gpu(const std::vector<Problem>& /*problems*/) { return {}; }

}  // namespace demo
