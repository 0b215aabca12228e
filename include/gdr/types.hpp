// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Layer types, argument structs and status. Plain C++17: no CUDA toolkit is needed.

#include <gdr/types/args.hpp>
#include <gdr/types/element.hpp>
#include <gdr/types/layer.hpp>
#include <gdr/types/status.hpp>
#include <gdr/types/view.hpp>
