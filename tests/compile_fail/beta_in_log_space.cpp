// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: gdr: beta is a factor, its function's space is gdr::Linear
// errors: 1

#include <gdr/types.hpp>

#if defined(GDR_TEST_WRONG)
using Rule = gdr::DeltaRule<gdr::Log>;
#else
using Rule = gdr::DeltaRule<gdr::Linear>;
#endif

bool uses_beta() {
  return gdr::Recurrence<gdr::HeadDim<24>, float, gdr::HeadGate<>, Rule>::Rule::uses_beta;
}
