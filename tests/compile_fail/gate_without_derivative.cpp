// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: gdr: a gate function has float derivative(float raw, int head, int channel) const

#include <gdr/types.hpp>

struct Gate {
  using Space = gdr::Linear;
  float operator()(float raw, int, int) const { return raw; }
#if !defined(GDR_TEST_WRONG)
  float derivative(float, int, int) const { return 1; }
#endif
};

int channels() {
  return gdr::Recurrence<gdr::HeadDim<24>, float, gdr::KeyGate<Gate>>::gate_channels;
}
