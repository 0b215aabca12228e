// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu.hpp"

#include "bench/support/device.hpp"

namespace examples {

Gpu find_gpu() {
  using gdr::bench::DeviceState;
  const gdr::bench::Device device = gdr::bench::find_device();
  if (device.state == DeviceState::no_driver || device.state == DeviceState::no_device) {
    return {Gpu::State::absent, device.reason};
  }
  if (device.state != DeviceState::ready) return {Gpu::State::faulty, device.reason};
  return {Gpu::State::ready, device.name + ", compute capability " + std::to_string(device.major) +
                                 "." + std::to_string(device.minor) + ", driver " + device.driver +
                                 ", CUDA " + device.runtime_cuda};
}

}  // namespace examples
