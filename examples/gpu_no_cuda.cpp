// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu.hpp"

namespace examples {

Gpu find_gpu() { return {Gpu::State::absent, "this program was built without a CUDA compiler"}; }

}  // namespace examples
