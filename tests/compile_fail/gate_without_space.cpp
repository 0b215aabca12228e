// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: gdr: a gate function declares its space

#include <gdr/types.hpp>

struct Gate {
#if !defined(GDR_TEST_WRONG)
  using Space = gdr::Linear;
#endif
  float operator()(float raw, int, int) const { return raw; }
  float derivative(float, int, int) const { return 1; }
};

int channels() {
  return gdr::Recurrence<gdr::HeadDim<24>, float, gdr::KeyGate<Gate>>::gate_channels;
}
