// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// gdr_bench: times the library's kernels beside the baseline, an empty kernel and the copy rate of
// the same run. Google Benchmark lists, filters, repeats and reports; see bench/README.md.

#include "bench/support/row.hpp"

#include <gdr/version.hpp>

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <ostream>

#include "gdr_bench_commit.hpp"

namespace gdr::bench {
namespace {

struct Options {
  int samples = 50;
  bool needs_device = true;
  bool writes_file = false;
};

/// Takes this program's own options out of argv, since Google Benchmark refuses what it does not
/// know, and looks at those of its options that matter here.
std::optional<Options> take_options(int& argc, char** argv) {
  Options options;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string samples = "--samples=";
    if (argument.rfind(samples, 0) == 0) {
      char* end = nullptr;
      const long value = std::strtol(argument.c_str() + samples.size(), &end, 10);
      if (*end != '\0' || value < 1 || value > 100000) {
        std::fprintf(stderr, "gdr_bench: --samples takes a number from 1 to 100000\n");
        return std::nullopt;
      }
      options.samples = static_cast<int>(value);
      continue;
    }
    if (argument == "--help") {
      std::printf("gdr_bench [--samples=<measurements of a row, %d>] and\n", options.samples);
    }
    if (argument == "--help" || argument == "--benchmark_list_tests" ||
        argument == "--benchmark_list_tests=true") {
      options.needs_device = false;
    }
    if (argument.rfind("--benchmark_out=", 0) == 0) options.writes_file = true;
    argv[kept++] = argv[i];
  }
  argc = kept;
  return options;
}

/// Google Benchmark's JSON, with a context that says what was measured on what, and does not say
/// whose machine it was.
class FileReporter : public benchmark::JSONReporter {
 public:
  explicit FileReporter(const Session& session) : session_(session) {}

  bool ReportContext(const Context& /*context*/) override {
    const Device& device = session_.device;
    std::ostream& out = GetOutputStream();
    out << "{\n  \"context\": {\n";
    text("date", date());
    text("library", "gdr " + std::to_string(GDR_VERSION_MAJOR) + "." +
                        std::to_string(GDR_VERSION_MINOR) + "." +
                        std::to_string(GDR_VERSION_PATCH));
    text("commit", GDR_BENCH_COMMIT);
    text("gpu", device.name);
    text("compute_capability", std::to_string(device.major) + "." + std::to_string(device.minor));
    text("driver", device.driver);
    text("cuda_driver", device.driver_cuda);
    text("cuda_runtime", device.runtime_cuda);
    text("cuda_compiler", std::to_string(__CUDACC_VER_MAJOR__) + "." +
                              std::to_string(__CUDACC_VER_MINOR__) + "." +
                              std::to_string(__CUDACC_VER_BUILD__));
    text("compiled_for", GDR_BENCH_ARCHITECTURES);
    number("multiprocessors", device.multiprocessors);
    number("l2_bytes", static_cast<double>(device.l2_bytes));
    number("memory_bytes", static_cast<double>(device.memory_bytes));
    number("copy_bytes_per_second", session_.copy.bytes_per_second());
    number("empty_kernel_us", session_.empty_kernel.median_us);
    out << "    \"samples\": " << session_.samples << "\n  },\n  \"benchmarks\": [\n";
    return true;
  }

 private:
  static std::string date() {
    const std::time_t now = std::time(nullptr);
    char text[32] = "";
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
  }
  void text(const char* name, const std::string& value) {
    std::string escaped;
    for (const char c : value) {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
    GetOutputStream() << "    \"" << name << "\": \"" << escaped << "\",\n";
  }
  void number(const char* name, double value) {
    char digits[40] = "";
    std::snprintf(digits, sizeof(digits), "%.10g", value);
    GetOutputStream() << "    \"" << name << "\": " << digits << ",\n";
  }

  const Session& session_;
};

/// Measured again, and so compared with the rate that the run began with.
Measurement measure_copy(const Session& session) {
  const CopyRate copy = measure_copy_rate(session.stream.get(), session.device, session.samples);
  Measurement measurement;
  measurement.timing = copy.timing;
  measurement.bytes = copy.bytes;
  return measurement;
}

Measurement measure_empty(const Session& session) {
  Measurement measurement;
  measurement.timing = measure_empty_kernel(session.stream.get(), session.samples);
  return measurement;
}

Rows all_rows() {
  Rows rows;
  rows.push_back({"copy/graph", measure_copy});
  rows.push_back({"empty-kernel/graph", measure_empty});
  add_default_rows(rows);
  add_value_gate_rows(rows);
  add_delta_rule_rows(rows);
  add_gate_function_rows(rows);
  add_gate_axis_rows(rows);
  return rows;
}

void set_counters(benchmark::State& state, const Session& session, const Measurement& measured) {
  const double seconds = measured.timing.median_us * 1e-6;
  const auto bytes = static_cast<double>(measured.bytes);
  const auto flops = static_cast<double>(measured.flops);
  const double copy_rate = session.copy.bytes_per_second();
  state.counters["p10_us"] = measured.timing.p10_us;
  state.counters["p90_us"] = measured.timing.p90_us;
  state.counters["launches"] = measured.timing.launches;
  state.counters["copies"] = measured.copies;
  if (measured.bytes > 0) {
    state.counters["bytes"] = bytes;
    state.counters["GB/s"] = bytes / seconds * 1e-9;
    state.counters["copy_GB/s"] = copy_rate * 1e-9;
    state.counters["copy_share"] = bytes / seconds / copy_rate;
    state.counters["floor_us"] = bytes / copy_rate * 1e6;
  }
  if (measured.flops > 0) {
    state.counters["flops"] = flops;
    state.counters["GFLOP/s"] = flops / seconds * 1e-9;
    state.counters["error"] = measured.error;
  }
}

/// One iteration is one whole measurement, and its time is the median of a launch.
void run_row(benchmark::State& state, const Session& session, const Row& row, int& failures) {
  for (auto _ : state) {
    try {
      const Measurement measured = row.run(session);
      state.SetIterationTime(measured.timing.median_us * 1e-6);
      set_counters(state, session, measured);
    } catch (const std::exception& error) {
      ++failures;
      state.SkipWithError(error.what());
      break;
    }
  }
}

/// Starts with the floors, which bring the clocks up and which every row is compared with.
Session start_session(const Device& device, int samples) {
  Session session;
  session.device = device;
  session.samples = samples;
  session.stream = make_stream();
  session.copy = measure_copy_rate(session.stream.get(), device, samples);
  session.empty_kernel = measure_empty_kernel(session.stream.get(), samples);
  return session;
}

int run(int argc, char** argv) {
  const std::optional<Options> options = take_options(argc, argv);
  if (!options) return 1;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;

  Session session;
  if (options->needs_device) {
    const Device device = find_device();
    if (device.state != DeviceState::ready) {
      std::fprintf(stderr, "gdr_bench: %s\n", device.reason.c_str());
      return 1;
    }
    session = start_session(device, options->samples);
    std::printf("%s, driver %s, copy %.0f GB/s, empty kernel %.2f us\n", device.name.c_str(),
                device.driver.c_str(), session.copy.bytes_per_second() * 1e-9,
                session.empty_kernel.median_us);
  }

  int failures = 0;
  const Rows rows = all_rows();
  for (const Row& row : rows) {
    const auto body = [&](benchmark::State& state) { run_row(state, session, row, failures); };
    benchmark::RegisterBenchmark(row.name.c_str(), body)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  }
  FileReporter file_reporter(session);
  benchmark::RunSpecifiedBenchmarks(nullptr, options->writes_file ? &file_reporter : nullptr);
  benchmark::Shutdown();
  if (failures > 0) std::fprintf(stderr, "gdr_bench: %d rows failed\n", failures);
  return failures > 0 ? 1 : 0;
}

}  // namespace
}  // namespace gdr::bench

int main(int argc, char** argv) {
  try {
    return gdr::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gdr_bench: %s\n", error.what());
    return 1;
  }
}
