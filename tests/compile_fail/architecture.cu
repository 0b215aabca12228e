// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: CMAKE_CUDA_ARCHITECTURES
// errors: 1
// wrong: -arch=sm_75
// right: -arch=sm_80

#include <gdr/gated_delta.cuh>

using Layer = gdr::Recurrence<gdr::HeadDim<8>, float>;

gdr::Status run(const gdr::ForwardArgs<Layer>& args) { return gdr::forward<Layer>(args, nullptr); }
