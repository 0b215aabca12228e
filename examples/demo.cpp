// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The demo: the default case, then a text file as one long sequence, on the GPU beside the baseline
// kernel and checked against the reference; without a GPU the same job through the reference.
//
//     demo [--require-gpu] [FILE]        FILE: any file, by default the licence

#include "bench/support/random.hpp"
#include "demo_problem.hpp"
#include "gpu.hpp"

#include <gdr/reference.hpp>
#include <gdr/version.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>

namespace demo {
namespace {

using examples::Gpu;
using gdr::bench::random_uniform;

// The reference takes about 0.1 ms a token.
constexpr size_t max_tokens = 65536;

std::vector<float> random_values(uint64_t seed, int64_t count, float low, float high) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(random_uniform(seed, static_cast<uint64_t>(i), low, high));
  }
  return values;
}

Problem default_case() {
  Problem problem;
  problem.title = "The default case, random inputs";
  problem.batch = 2;
  problem.seq_len = 128;
  problem.heads = 4;
  problem.dim = small_dim;
  problem.q = random_values(1, problem.count(), -1.0f, 1.0f);
  problem.k = random_values(2, problem.count(), -1.0f, 1.0f);
  problem.v = random_values(3, problem.count(), -1.0f, 1.0f);
  problem.gate = random_values(4, problem.count(), 0.9f, 1.0f);
  return problem;
}

/// The file's bytes, one more than are used at most: enough to see that there are more.
std::vector<unsigned char> read_bytes(const std::string& path) {
  std::vector<char> bytes(max_tokens + 1);
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.is_open() || file.bad()) throw std::runtime_error(path + ": cannot be read");
  if (file.gcount() == 0) throw std::runtime_error(path + ": holds no bytes");
  return {bytes.begin(), bytes.begin() + file.gcount()};
}

/// Embeds each byte in `width` channels: its bits as -1 and 1, times a random matrix [8, width].
/// The channels have a variance of about 1.
std::vector<float> project(const std::vector<unsigned char>& bytes, uint64_t seed, int64_t width) {
  const float range = std::sqrt(3.0f / 8.0f);
  const std::vector<float> matrix = random_values(seed, 8 * width, -range, range);
  std::vector<float> embedded;
  for (const unsigned char byte : bytes) {
    for (int64_t j = 0; j < width; ++j) {
      float sum = 0;
      for (int bit = 0; bit < 8; ++bit) {
        const float weight = matrix[static_cast<size_t>(bit * width + j)];
        sum += (byte >> bit & 1) != 0 ? weight : -weight;
      }
      embedded.push_back(sum);
    }
  }
  return embedded;
}

Problem text_case(const std::string& path) {
  std::vector<unsigned char> bytes = read_bytes(path);
  const bool whole = bytes.size() <= max_tokens;
  bytes.resize(std::min(bytes.size(), max_tokens));

  Problem problem;
  problem.title = path.substr(path.find_last_of('/') + 1) + ", a byte a token, " +
                  (whole ? "all " : "the first ") + std::to_string(bytes.size()) + " bytes";
  problem.batch = 1;
  problem.seq_len = static_cast<int64_t>(bytes.size());
  problem.heads = 4;
  problem.dim = text_dim;

  const int64_t width = problem.heads * problem.dim;
  problem.q = project(bytes, 11, width);
  problem.k = project(bytes, 12, width);
  problem.v = project(bytes, 13, width);
  problem.gate = project(bytes, 14, width);
  for (float& k : problem.k) k /= std::sqrt(static_cast<float>(text_dim));
  for (float& gate : problem.gate) gate = 1.0f / (1.0f + std::exp(-gate - 3.0f));
  return problem;
}

template <int D>
std::vector<double> reference_output(const Problem& problem) {
  std::vector<float> unused(1);
  const auto args = problem.args<D>(problem.q.data(), problem.k.data(), problem.v.data(),
                                    problem.gate.data(), unused.data());
  return gdr::reference::forward<Layer<D>>(args).o;
}

std::vector<double> reference_output(const Problem& problem) {
  return problem.dim == small_dim ? reference_output<small_dim>(problem)
                                  : reference_output<text_dim>(problem);
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

double relative_error(const std::vector<float>& x, const std::vector<double>& expected) {
  std::vector<double> difference;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference.push_back(static_cast<double>(x[i]) - expected[i]);
  }
  return norm(difference) / norm(expected);
}

void print_problem(const Problem& problem) {
  std::printf("\n%s\n", problem.title.c_str());
  std::printf("  shape      q, k, v, gate, o [%lld, %lld, %lld, %d] float32, states %d x %d\n",
              static_cast<long long>(problem.batch), static_cast<long long>(problem.seq_len),
              static_cast<long long>(problem.heads), problem.dim, problem.dim, problem.dim);
}

/// Whether the error is within the library's bound.
bool print_result(const Problem& problem, const Result& result, double copy_rate) {
  const double bytes = 5.0 * static_cast<double>(problem.count()) * sizeof(float);
  const double rate = bytes / (result.time_us * 1e-6);
  // The text goes through the chunked form, whose bound for float32 is the wider one.
  const double bound = problem.dim == small_dim ? 1e-6 : 1e-5;
  const std::vector<double> expected = reference_output(problem);
  const double error = relative_error(result.o, expected);
  const bool good = error <= bound;  // false for a NaN

  print_problem(problem);
  std::printf("  time       %.2f us a launch (replays of a CUDA graph, median)\n", result.time_us);
  std::printf("  bandwidth  %.1f GB/s, %.2f %% of the copy rate\n", rate * 1e-9,
              100 * rate / copy_rate);
  std::printf(
      "  baseline   %.2f us (a block per batch row and head, a thread per column), %.1f times "
      "as long\n",
      result.baseline_us, result.baseline_us / result.time_us);
  std::printf("  error      %.2g of |o| = %.6g, against the reference in double; bound %.2g: %s\n",
              error, norm(expected), bound, good ? "good" : "TOO LARGE");
  return good;
}

void print_reference(const Problem& problem) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<double> o = reference_output(problem);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  print_problem(problem);
  std::printf("  time       %.1f ms on one CPU core, in double\n  |o|        %.6g\n", time.count(),
              norm(o));
}

int run(int argc, char** argv) {
  bool require_gpu = false;
  std::string path = GDR_DEMO_TEXT;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--require-gpu") == 0) {
      require_gpu = true;
    } else if (argv[i][0] == '-') {
      throw std::runtime_error("usage: demo [--require-gpu] [FILE]");
    } else {
      path = argv[i];
    }
  }
  const std::vector<Problem> problems = {default_case(), text_case(path)};

  const Gpu gpu = examples::find_gpu();
  if (gpu.state == Gpu::State::faulty || (require_gpu && gpu.state != Gpu::State::ready)) {
    throw std::runtime_error(gpu.text);
  }
  std::printf("gdr %d.%d.%d: S <- S * g + k v^T; o = S^T q, token by token\n", GDR_VERSION_MAJOR,
              GDR_VERSION_MINOR, GDR_VERSION_PATCH);
  if (gpu.state == Gpu::State::absent) {
    std::printf("no GPU: %s; the C++ reference computes the same job\n", gpu.text.c_str());
    for (const Problem& problem : problems) print_reference(problem);
    return 0;
  }

  std::printf("%s\n", gpu.text.c_str());
  const GpuReport report = run_on_gpu(problems);
  std::printf("copy rate %.0f GB/s, read and written\n", report.copy_bytes_per_second * 1e-9);
  bool good = true;
  for (size_t i = 0; i < problems.size(); ++i) {
    good = print_result(problems[i], report.results[i], report.copy_bytes_per_second) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace demo

int main(int argc, char** argv) {
  try {
    return demo::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 1;
  }
}
