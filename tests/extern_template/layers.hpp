// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The layers of the program, for every translation unit. Storage types for 16 bits, as the C++
// compiler does not know CUDA's.

#include <gdr/dispatcher.hpp>

using Single = gdr::Recurrence<gdr::HeadDim<8>, float>;
using Brief = gdr::Recurrence<gdr::HeadDim<8>, gdr::bfloat16>;
using Layers = gdr::LayerList<Single, Brief>;

// The same calls in caller.cpp and in caller.cu.
gdr::Status layer_from_cpp(const gdr::ForwardArgs<Single>& args);
gdr::Status list_from_cpp(const gdr::LayerKey& key, const gdr::AnyForwardArgs& args);
gdr::Status layer_from_cu(const gdr::ForwardArgs<Single>& args);
gdr::Status list_from_cu(const gdr::LayerKey& key, const gdr::AnyForwardArgs& args);
