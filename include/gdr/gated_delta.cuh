// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// gdr: gated recurrences with a matrix state, for CUDA. Per token t, with a state S of K x V for
/// each sequence and value head:
///
///     S[i][j] = a[t][j] * S[i][j] + k[t][i] * v[t][j]
///     o[t][j] = scale * sum over i of q[t][i] * S[i][j]
///
/// The gate a lies on the value axis here; it may lie on the key axis, be one number per head, or
/// be absent, and the delta rule may take the place of the outer product (types/layer.hpp).
///
/// Entry points:
///     forward<Layer>(args, stream)   the forward pass                        forward.cuh
///     can_forward<Layer>(args)       would it be accepted                    forward.cuh
///     workspace_size<Layer>(args)    device memory it needs                  forward.cuh
///     ForwardArgs, Recurrence, ...   arguments and layer types               types.hpp
///     Sigmoid, LogSigmoid, ...       gate functions applied in the kernel    gates.hpp
///     forward<List>(key, args, ..)   a layer chosen at run time              dispatcher.cuh
///     BlockRecurrent                 the form as a block collective          block/recurrent.cuh
///     span_of, rows_of               a sequence and head for it              block/span.cuh
///     load_state, store_state        states for it                           block/state_io.cuh
///     step, make_decay               one token on one thread's data          thread/step.hpp
///     reference::forward             the same in double on the host          reference.hpp

#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#error "gdr/gated_delta.cuh needs nvcc; plain C++ includes gdr/forward.hpp or gdr/reference.hpp"
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
static_assert(
    __CUDA_ARCH__ >= 800,
    "gdr needs compute capability 8.0 or above: set CMAKE_CUDA_ARCHITECTURES to 80 or more");
#endif

#include <gdr/block/chunked.cuh>
#include <gdr/block/recurrent.cuh>
#include <gdr/block/state_io.cuh>
#include <gdr/dispatcher.cuh>
#include <gdr/forward.cuh>
#include <gdr/gates.hpp>
#include <gdr/types.hpp>
