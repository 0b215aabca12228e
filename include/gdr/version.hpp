// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one place that states the version; CMake reads it from here.
#define GDR_VERSION_MAJOR 0
#define GDR_VERSION_MINOR 1
#define GDR_VERSION_PATCH 0

/// One number to compare: 10000 * major + 100 * minor + patch.
#define GDR_VERSION (GDR_VERSION_MAJOR * 10000 + GDR_VERSION_MINOR * 100 + GDR_VERSION_PATCH)
