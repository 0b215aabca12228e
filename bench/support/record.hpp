// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// What a recorded file says of its run: what was measured on what, and not whose machine it was.

#include "bench/support/json.hpp"
#include "bench/support/row.hpp"

#include <gdr/version.hpp>

#include <ctime>
#include <ostream>

#include "gdr_bench_commit.hpp"

namespace gdr::bench {

inline std::string date_text() {
  const std::time_t now = std::time(nullptr);
  char text[32] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

/// The members of a record's context, a line each, the last without a comma.
inline void write_context(std::ostream& out, const Session& session) {
  const Device& device = session.device;
  const auto member = [&](const char* name, const std::string& value) {
    out << "    \"" << name << "\": " << value << ",\n";
  };
  const auto version = [](int major, int minor, int patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  };
  member("date", quoted(date_text()));
  member("library",
         quoted("gdr " + version(GDR_VERSION_MAJOR, GDR_VERSION_MINOR, GDR_VERSION_PATCH)));
  member("commit", quoted(GDR_BENCH_COMMIT));
  member("gpu", quoted(device.name));
  member("compute_capability",
         quoted(std::to_string(device.major) + "." + std::to_string(device.minor)));
  member("driver", quoted(device.driver));
  member("cuda_driver", quoted(device.driver_cuda));
  member("cuda_runtime", quoted(device.runtime_cuda));
  member("cuda_compiler",
         quoted(version(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__)));
  member("compiled_for", quoted(GDR_BENCH_ARCHITECTURES));
  member("multiprocessors", std::to_string(device.multiprocessors));
  member("l2_bytes", std::to_string(device.l2_bytes));
  member("memory_bytes", std::to_string(device.memory_bytes));
  member("copy_bytes_per_second", number_text(session.copy.bytes_per_second()));
  member("empty_kernel_us", number_text(session.empty_kernel.median_us));
  out << "    \"samples\": " << session.samples << "\n";
}

}  // namespace gdr::bench
