// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The forward pass of a layer that is known at run time. How to use it: dispatcher.hpp.

#include <gdr/dispatcher.hpp>
#include <gdr/forward.cuh>

GDR_NAMESPACE_BEGIN
namespace detail {

// Named types and not lambdas: a lambda's name would hold the whole list, once for each layer.

struct RunForward {
  const LayerKey& key;
  const AnyForwardArgs& args;
  cudaStream_t stream;

  template <class Layer>
  GDR_HIDDEN Status operator()(Layer) const {
    if (const Status status = check_against_key(key, args); !status.ok()) return status;
    return gdr::forward(typed_args<Layer>(key, args), stream);
  }
};

struct QueryForward {
  const LayerKey& key;
  const AnyForwardArgs& args;

  template <class Layer>
  GDR_HIDDEN Status operator()(Layer) const {
    if (const Status status = check_against_key(key, args); !status.ok()) return status;
    return gdr::can_forward(typed_args<Layer>(key, args));
  }
};

struct QueryWorkspace {
  const LayerKey& key;
  const AnyForwardArgs& args;
  int64_t& bytes;

  template <class Layer>
  GDR_HIDDEN Status operator()(Layer) const {
    if (const Status status = check_against_key(key, args); !status.ok()) return status;
    bytes = gdr::workspace_size(typed_args<Layer>(key, args));
    return {};
  }
};

}  // namespace detail

template <class List>
GDR_HIDDEN Status forward(const LayerKey& key, const AnyForwardArgs& args, cudaStream_t stream) {
  return with_layer<List>(key, detail::RunForward{key, args, stream});
}

template <class List>
GDR_HIDDEN Status can_forward(const LayerKey& key, const AnyForwardArgs& args) {
  return with_layer<List>(key, detail::QueryForward{key, args});
}

template <class List>
GDR_HIDDEN int64_t workspace_size(const LayerKey& key, const AnyForwardArgs& args) {
  int64_t bytes = 0;
  const Status status = with_layer<List>(key, detail::QueryWorkspace{key, args, bytes});
  return status.ok() ? bytes : 0;
}

GDR_NAMESPACE_END
