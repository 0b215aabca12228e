// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Parameters of the library's own gate functions.

#include "bench/support/workload.cuh"

#include <gdr/gates.hpp>

namespace gdr::bench {

/// a_log from -5 to -3 and dt_bias from -1 to 1: decays of about -0.1 a token and less.
template <>
struct GateParameters<SoftplusDecay> {
  GateParameters(int64_t heads, int gate_channels) : channels(gate_channels) {
    for (int64_t i = 0; i < heads; ++i) {
      a_log.push_back(random_uniform(101, static_cast<uint64_t>(i), -5.0f, -3.0f));
    }
    for (int64_t i = 0; i < heads * channels; ++i) {
      dt_bias.push_back(random_uniform(102, static_cast<uint64_t>(i), -1.0f, 1.0f));
    }
    device_a_log = DeviceArray<float>(a_log);
    device_dt_bias = DeviceArray<float>(dt_bias);
  }
  SoftplusDecay on_device() const { return function(device_a_log.data(), device_dt_bias.data()); }
  SoftplusDecay on_host(int64_t head) const {
    return function(a_log.data() + head, dt_bias.data() + head * channels);
  }

 private:
  SoftplusDecay function(const float* a, const float* bias) const {
    SoftplusDecay decay;
    decay.a_log = a;
    decay.dt_bias = bias;
    decay.dt_bias_channels = channels;
    return decay;
  }

  int channels;
  std::vector<float> a_log;    // [H]
  std::vector<float> dt_bias;  // [H, channels]
  DeviceArray<float> device_a_log;
  DeviceArray<float> device_dt_bias;
};

}  // namespace gdr::bench
