// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: gdr: a gate's element type is float or the layer's own
// errors: 1

#include <gdr/types.hpp>

#if defined(GDR_TEST_WRONG)
using Gate = gdr::ValueGate<gdr::Linear, gdr::bfloat16>;
#else
using Gate = gdr::ValueGate<gdr::Linear, float>;
#endif

int channels() { return gdr::Recurrence<gdr::HeadDim<24>, gdr::float16, Gate>::gate_channels; }
