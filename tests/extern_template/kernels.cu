// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The one translation unit that compiles the kernels.

#include <gdr/dispatcher.cuh>

#include "layers.hpp"

template gdr::Status gdr::forward<Single>(const gdr::ForwardArgs<Single>&, cudaStream_t);
template gdr::Status gdr::forward<Layers>(const gdr::LayerKey&, const gdr::AnyForwardArgs&,
                                          cudaStream_t);
template gdr::Status gdr::can_forward<Layers>(const gdr::LayerKey&, const gdr::AnyForwardArgs&);
template int64_t gdr::workspace_size<Layers>(const gdr::LayerKey&, const gdr::AnyForwardArgs&);
