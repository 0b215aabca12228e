// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Includes the definitions and must not instantiate them.

#include <gdr/dispatcher.cuh>

#include "layers.hpp"

extern template gdr::Status gdr::forward<Single>(const gdr::ForwardArgs<Single>&, cudaStream_t);
extern template gdr::Status gdr::forward<Layers>(const gdr::LayerKey&, const gdr::AnyForwardArgs&,
                                                 cudaStream_t);

gdr::Status layer_from_cu(const gdr::ForwardArgs<Single>& args) {
  return gdr::forward<Single>(args, nullptr);
}
gdr::Status list_from_cu(const gdr::LayerKey& key, const gdr::AnyForwardArgs& args) {
  return gdr::forward<Layers>(key, args, nullptr);
}
