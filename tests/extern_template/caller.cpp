// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Compiled by the C++ compiler, without the toolkit's headers.

#include "layers.hpp"

#include "support/no_toolkit.hpp"

gdr::Status layer_from_cpp(const gdr::ForwardArgs<Single>& args) {
  return gdr::forward<Single>(args, nullptr);
}
gdr::Status list_from_cpp(const gdr::LayerKey& key, const gdr::AnyForwardArgs& args) {
  const gdr::Status status = gdr::can_forward<Layers>(key, args);
  if (!status.ok()) return status;
  if (gdr::workspace_size<Layers>(key, args) != 0) return {};
  return gdr::forward<Layers>(key, args, nullptr);
}
