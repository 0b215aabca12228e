// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// gdr_bench: times the library's kernels beside the baseline, an empty kernel and the copy rate of
// the same run. Google Benchmark lists, filters, repeats and reports; see bench/README.md.

#include "bench/support/compare.hpp"
#include "bench/support/record.hpp"
#include "bench/support/row.hpp"
#include "bench/support/tune.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <ostream>

namespace gdr::bench {
namespace {

struct Options {
  int samples = 50;
  bool needs_device = true;
  bool lists = false;
  bool writes_file = false;
  std::vector<std::string> compared;  // two records, or none
  TuneOptions tune;
};

constexpr const char* help =
    "gdr_bench [--samples=<measurements of a row, 50>]\n"
    "          [--tune=<B>x<T>x<H> ... [--tune_out=<file>]]  sweeps the policies of a layer\n"
    "          [--compare <record> <record>]  prints two records' times and their ratios\n"
    "and\n";

/// The rest of `argument` after `prefix`, if it starts so.
std::optional<std::string> value_of(const std::string& argument, const std::string& prefix) {
  if (argument.rfind(prefix, 0) != 0) return std::nullopt;
  return argument.substr(prefix.size());
}

int parse_samples(const std::string& text) {
  char* end = nullptr;
  const long samples = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || samples < 1 || samples > 100000) {
    throw std::runtime_error("--samples takes a number from 1 to 100000");
  }
  return static_cast<int>(samples);
}

/// Takes this program's own options out of argv, since Google Benchmark refuses what it does not
/// know, and looks at those of its options that matter here.
Options take_options(int& argc, char** argv) {
  Options options;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (const auto samples = value_of(argument, "--samples=")) {
      options.samples = parse_samples(*samples);
    } else if (const auto shape = value_of(argument, "--tune=")) {
      const std::optional<TuneShape> parsed = parse_shape(*shape);
      if (!parsed) {
        throw std::runtime_error(argument + ": a shape is BxTxH, or 1xTxH-in-N for N sequences");
      }
      options.tune.shapes.push_back(*parsed);
    } else if (const auto path = value_of(argument, "--tune_out=")) {
      options.tune.path = *path;
    } else if (argument == "--compare") {
      if (i + 2 >= argc) throw std::runtime_error("--compare takes two records");
      options.compared = {argv[i + 1], argv[i + 2]};
      i += 2;
    } else {
      if (argument == "--help") std::printf("%s", help);
      options.lists = options.lists || argument == "--benchmark_list_tests" ||
                      argument == "--benchmark_list_tests=true";
      if (argument == "--help" || options.lists) options.needs_device = false;
      if (argument.rfind("--benchmark_out=", 0) == 0) options.writes_file = true;
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  if (!options.tune.path.empty() && options.tune.shapes.empty()) {
    throw std::runtime_error("--tune_out goes with --tune=<B>x<T>x<H>");
  }
  return options;
}

/// Google Benchmark's JSON with the context of our own records.
class FileReporter : public benchmark::JSONReporter {
 public:
  explicit FileReporter(const Session& session) : session_(session) {}

  bool ReportContext(const Context& /*context*/) override {
    std::ostream& out = GetOutputStream();
    out << "{\n  \"context\": {\n";
    write_context(out, session_);
    out << "  },\n  \"benchmarks\": [\n";
    return true;
  }

 private:
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
  add_chunked_value_rows(rows);
  add_chunked_value_64_rows(rows);
  add_chunked_gate_type_rows(rows);
  add_chunked_key_rows(rows);
  add_chunked_head_rows(rows);
  add_chunked_float32_rows(rows);
  add_crossover_float32_rows(rows);
#if defined(GDR_BENCH_ALL_EXTENTS)
  add_chunked_extent_rows(rows);
#endif
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
  const Options options = take_options(argc, argv);
  if (!options.compared.empty()) {
    compare(read_record(options.compared[0]), read_record(options.compared[1]), std::cout);
    return 0;
  }
  const bool tunes = !options.tune.shapes.empty();
  if (tunes && tuned_layer() == nullptr) {
    throw std::runtime_error(
        "this program was built without policies to try: configure with "
        "-DGDR_BENCH_TUNE_LAYER=<layer type>, see docs/tuning.md");
  }
  if (tunes && options.lists) {
    list_candidates(std::cout);
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;

  Session session;
  if (options.needs_device) {
    const Device device = find_device();
    if (device.state != DeviceState::ready) {
      std::fprintf(stderr, "gdr_bench: %s\n", device.reason.c_str());
      return 1;
    }
    session = start_session(device, options.samples);
    std::printf("%s, driver %s, copy %.0f GB/s, empty kernel %.2f us\n", device.name.c_str(),
                device.driver.c_str(), session.copy.bytes_per_second() * 1e-9,
                session.empty_kernel.median_us);
    if (tunes) return tune(session, options.tune) ? 0 : 1;
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
  benchmark::RunSpecifiedBenchmarks(nullptr, options.writes_file ? &file_reporter : nullptr);
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
