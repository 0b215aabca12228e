// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// expected: gdr: a gate function is default constructible and copied as bytes
// errors: 1

#include <gdr/types.hpp>

struct Scaled {
  using Space = gdr::Linear;
  float scale = 1;
#if defined(GDR_TEST_WRONG)
  Scaled() = default;
  Scaled(const Scaled& other) : scale(other.scale) {}
#endif
  float operator()(float raw, int, int) const { return scale * raw; }
  float derivative(float, int, int) const { return scale; }
};

int channels() {
  return gdr::Recurrence<gdr::HeadDim<8>, float, gdr::ValueGate<Scaled>>::gate_channels;
}
