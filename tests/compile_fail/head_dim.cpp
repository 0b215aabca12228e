// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: gdr: head dimensions go from 1 to 256
// errors: 1

#include <gdr/types.hpp>

#if defined(GDR_TEST_WRONG)
using Dims = gdr::HeadDim<257>;
#else
using Dims = gdr::HeadDim<256>;
#endif

int key_dim() { return gdr::Recurrence<Dims, float>::key_dim; }
