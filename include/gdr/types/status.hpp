// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What a call of the host interface returns.

#include <gdr/config.hpp>

GDR_NAMESPACE_BEGIN

enum class StatusCode {
  ok,
  invalid_argument,  // the arguments contradict the contract
  unsupported,       // legal, but not for this layer type, device or version
  cuda_error,        // CUDA refused the launch; `cuda_error` holds its code
};

/// The outcome of a call. Everything but `ok` means: nothing was launched and nothing was written.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::ok;
  const char* argument = "";  // the argument at fault, as the struct's field is called
  const char* message = "";   // a sentence
  int cuda_error = 0;         // the cudaError_t, 0 where CUDA was not at fault

  constexpr bool ok() const { return code == StatusCode::ok; }
  constexpr explicit operator bool() const { return ok(); }
};

GDR_NAMESPACE_END
