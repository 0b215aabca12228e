// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// One forward pass from NumPy files to NumPy files: docs/gdr_run.md.

#include "check.hpp"
#include "examples/gdr_run/output_file.hpp"
#include "examples/gpu.hpp"
#include "gdr_run_layers.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "reference.hpp"
#include "run_gpu.hpp"

#include <gdr/reference/element.hpp>
#include <gdr/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>

namespace gdr_run {
namespace {

using examples::Gpu;

/// Outputs as they are written: o in float16 where that is computed, else both in float32.
struct Result {
  std::vector<float> o;
  std::vector<float> final_state;
};

/// Whether a kernel was compiled for the layer; the status tells which ones were.
gdr::Status has_kernel(const gdr::LayerKey& key) {
  return gdr::with_layer<Layers>(key, [](auto) { return gdr::Status{}; });
}

std::string missing_kernel(const gdr::LayerKey& key) {
  return "has no kernel for " + describe_layer(key) +
         ": name it in the CMake variable GDR_RUN_LAYERS, as in -DGDR_RUN_LAYERS='" +
         layer_item(key) + "'";
}

void print_problem(const Problem& problem) {
  const gdr::Shape& s = problem.shape;
  const auto number = [](int64_t n) { return static_cast<long long>(n); };
  std::printf("gdr_run %d.%d.%d\n", GDR_VERSION_MAJOR, GDR_VERSION_MINOR, GDR_VERSION_PATCH);
  std::printf("  layer      %s\n", describe_layer(problem.key).c_str());
  std::printf("  shape      B %lld, T %lld, Hk %lld, Hv %lld, K %d, V %d, N %lld\n",
              number(s.batch), number(s.seq_len), number(s.key_heads), number(s.heads), s.key_dim,
              s.value_dim, number(problem.sequences));
}

void print_speed(const Problem& problem, const GpuResult& result) {
  const double bytes = bytes_moved(problem);
  const double floor_us = std::max(bytes / result.copy_bytes_per_second * 1e6, result.empty_us);
  std::printf("  time       %.2f us a launch (replays of a CUDA graph, median of %d)\n",
              result.time_us, samples);
  std::printf("  bandwidth  %.1f GB/s: %.3f MB, each input read and each output written once\n",
              bytes / result.time_us * 1e-3, bytes * 1e-6);
  std::printf(
      "  floor      %.2f us at the copy rate of %.0f GB/s or of an empty kernel; %.1f %% of it\n",
      floor_us, result.copy_bytes_per_second * 1e-9, 100 * floor_us / result.time_us);
}

/// Whether the error is within the bound; a NaN is not.
bool print_error(const char* name, const std::vector<float>& x, const std::vector<double>& expected,
                 double bound) {
  const double error = relative_error(x, expected);
  const bool good = error <= bound;
  std::printf("  error      %.2g in %s against the reference in double; bound %.2g: %s\n", error,
              name, bound, good ? "good" : "TOO LARGE");
  return good;
}

bool print_check(const Problem& problem, const Result& result, const Expected& expected) {
  const double bound = error_bound(problem);
  const bool good_o = print_error("o", result.o, expected.o, bound);
  return (!problem.wants_final_state ||
          print_error("the final state", result.final_state, expected.final_state, bound)) &&
         good_o;
}

Result rounded(const Problem& problem, const Expected& expected) {
  Result result;
  for (const double o : expected.o) result.o.push_back(round_to(problem.key.type, o));
  result.final_state.assign(expected.final_state.begin(), expected.final_state.end());
  return result;
}

/// Both files are whole before either takes its name.
void write(const Options& options, const Problem& problem, const Result& result) {
  std::optional<npy::OutputFile> o, final_state;
  if (!options.o.empty() && problem.key.type == gdr::DataType::float16) {
    std::vector<gdr::float16> halves;
    for (const float x : result.o) {
      halves.push_back(gdr::reference::from_double<gdr::float16>(static_cast<double>(x)));
    }
    o.emplace(options.o, "<f2", problem.o_shape(), halves.data());
  } else if (!options.o.empty()) {
    o.emplace(options.o, "<f4", problem.o_shape(), result.o.data());
  }
  if (!options.final_state.empty()) {
    final_state.emplace(options.final_state, "<f4", problem.state_shape(),
                        result.final_state.data());
  }
  if (o) o->commit();
  if (final_state) final_state->commit();
}

/// The GPU to compute on, or nothing where the reference is to.
std::optional<Gpu> choose_gpu(Device device) {
  if (device == Device::reference) return std::nullopt;
  const Gpu gpu = examples::find_gpu();
  if (gpu.state == Gpu::State::ready) return gpu;
  if (gpu.state == Gpu::State::faulty || device == Device::gpu) throw std::runtime_error(gpu.text);
  std::printf("no GPU: %s; the C++ reference computes the same\n", gpu.text.c_str());
  return std::nullopt;
}

/// Whether the result is right, as far as that was asked.
bool run_with_reference(const Options& options, const Problem& problem) {
  print_problem(problem);
  std::printf("  device     one CPU core, in double\n  algorithm  reference\n");
  if (!has_kernel(problem.key).ok()) {
    std::printf("  note       on a GPU this program %s\n", missing_kernel(problem.key).c_str());
  }
  const auto start = std::chrono::steady_clock::now();
  const Expected expected = compute_reference(problem);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  const Result result = rounded(problem, expected);
  std::printf("  time       %.3g s\n", time.count());
  write(options, problem, result);
  return !options.check || print_check(problem, result, expected);
}

bool run_with_gpu(const Options& options, const Problem& problem, const Gpu& gpu) {
  if (const gdr::Status status = has_kernel(problem.key); !status.ok()) {
    throw std::runtime_error("this program " + missing_kernel(problem.key) +
                             ", or compute with --device reference (" + status.argument + ": " +
                             status.message + ")");
  }
  print_problem(problem);
  std::printf("  device     %s\n", gpu.text.c_str());
  std::printf("  algorithm  %s\n", name_of(algorithms, problem.algorithm).c_str());
  GpuResult measured = run_on_gpu(problem);
  const Result result{std::move(measured.o), std::move(measured.final_state)};
  print_speed(problem, measured);
  write(options, problem, result);
  return !options.check || print_check(problem, result, compute_reference(problem));
}

int run(int argc, char** argv) {
  const std::optional<Options> options = parse_options(argc, argv);
  if (!options) return 0;
  for (const std::string& path : {options->o, options->final_state}) {
    if (!path.empty()) npy::require_writable(path);
  }
  const Problem problem = load_problem(*options);
  const std::optional<Gpu> gpu = choose_gpu(options->device);
  const bool good =
      gpu ? run_with_gpu(*options, problem, *gpu) : run_with_reference(*options, problem);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace gdr_run

int main(int argc, char** argv) {
  try {
    return gdr_run::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gdr_run: %s\n", error.what());
    return 1;
  }
}
