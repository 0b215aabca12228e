// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: gdr: a gate function has float operator()(float raw, int head, int channel) const

#include <gdr/types.hpp>

struct Gate {
  using Space = gdr::Linear;
#if !defined(GDR_TEST_WRONG)
  float operator()(float raw, int, int) const { return raw; }
#endif
  float derivative(float, int, int) const { return 1; }
};

int channels() {
  return gdr::Recurrence<gdr::HeadDim<24>, float, gdr::KeyGate<Gate>>::gate_channels;
}
