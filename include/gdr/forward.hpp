// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The entry points of forward.cuh, declared and not defined: for translation units, compiled by
/// nvcc or by the C++ compiler alone, that call layers which another one instantiates. What they do
/// is described there.

#include <gdr/types/args.hpp>
#include <gdr/types/status.hpp>

struct CUstream_st;  // CUDA's name for what cudaStream_t points to

GDR_NAMESPACE_BEGIN

template <class Layer>
struct DefaultPolicy;

template <class Layer>
GDR_HIDDEN int64_t workspace_size(const ForwardArgs<Layer>& args);

template <class Layer, class Policy = DefaultPolicy<Layer>>
GDR_HIDDEN Status can_forward(const ForwardArgs<Layer>& args);

template <class Layer, class Policy = DefaultPolicy<Layer>>
GDR_HIDDEN Status forward(const ForwardArgs<Layer>& args, CUstream_st* stream);

GDR_NAMESPACE_END
