// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Rows that time gdr::forward, or the baseline on the same problem.

#include "bench/baseline.cuh"
#include "bench/support/verify.cuh"

#include <gdr/gated_delta.cuh>

namespace gdr::bench {

/// Verifies, then times. forward(args, stream) returns a status or a CUDA error.
template <class Layer, class Forward>
Measurement measure(const Session& session, const Problem& problem, const Forward& forward) {
  const Workload<Layer> work(session, problem);
  std::vector<ForwardArgs<Layer>> args;
  for (int i = 0; i < work.copies(); ++i) args.push_back(work.args(i));
  const DeviceArray<unsigned char> workspace(workspace_size<Layer>(args[0]));
  for (ForwardArgs<Layer>& a : args) {
    a.workspace = workspace.data();
    a.workspace_bytes = workspace.count();
  }
  const auto launch = [&](cudaStream_t stream, int index) {
    check(forward(args[static_cast<size_t>(index) % args.size()], stream), "forward");
  };

  Measurement measurement;
  measurement.error = verify(session, work, expected_outputs(work), launch);
  measurement.timing = time_launches(session.stream.get(), problem.method, work.copies(),
                                     session.samples, session.device.l2_bytes, launch);
  measurement.bytes = work.bytes();
  measurement.flops = work.flops();
  measurement.copies = work.copies();
  return measurement;
}

/// "2x128x4x24/float32/slow/graph": B x T x H x K, or x K x V where they differ. A row of the
/// library has the form after it, see add_forward.
template <class Layer>
std::string problem_name(const Problem& problem) {
  std::string name = std::to_string(problem.batch) + "x" + std::to_string(problem.seq_len) + "x" +
                     std::to_string(problem.heads) + "x" + std::to_string(Layer::key_dim);
  if (Layer::key_dim != Layer::value_dim) name += "x" + std::to_string(Layer::value_dim);
  if (!problem.lengths.empty()) {
    name += "-in-" + std::to_string(problem.lengths.size()) + "-unequal";
  } else if (problem.sequences > 0) {
    name += "-in-" + std::to_string(problem.sequences);
  }
  name += Layer::element_type == DataType::float32   ? "/float32"
          : Layer::element_type == DataType::float16 ? "/float16"
                                                     : "/bfloat16";
  return name + "/" + name_of(problem.gates) + "/" + name_of(problem.method);
}

/// `layer` names the gate and the rule in the row's name. Rows of the group `forward` are what the
/// README shows. Rows that name their form compile no other: RecurrentPolicy, ChunkedPolicy.
template <class Layer, template <class> class Policy = DefaultPolicy>
void add_forward(Rows& rows, const std::string& layer, const Problem& problem,
                 const std::string& group = "forward") {
  const auto run = [problem](const Session& session) {
    const auto call = [](const ForwardArgs<Layer>& args, cudaStream_t stream) {
      return gdr::forward<Layer, Policy<Layer>>(args, stream);
    };
    return measure<Layer>(session, problem, call);
  };
  rows.push_back(
      {group + "/" + layer + "/" + problem_name<Layer>(problem) + "/" + name_of(problem.algorithm),
       run});
}

template <class Layer, StateIn state_in>
void add_baseline(Rows& rows, const std::string& layer, const Problem& problem) {
  const char* group = state_in == StateIn::shared ? "baseline-shared/" : "baseline-registers/";
  const auto run = [problem](const Session& session) {
    const auto call = [](const ForwardArgs<Layer>& args, cudaStream_t stream) {
      return baseline_forward<Layer, state_in>(args, stream);
    };
    return measure<Layer>(session, problem, call);
  };
  rows.push_back({group + layer + "/" + problem_name<Layer>(problem), run});
}

/// The chunked form on B x T x H, the sequences whole.
inline Problem chunked_problem(int64_t batch, int64_t seq_len, int64_t heads) {
  Problem problem;
  problem.batch = batch;
  problem.seq_len = seq_len;
  problem.heads = heads;
  problem.algorithm = Algorithm::chunked;
  return problem;
}

/// A problem by two forms and the automatic choice, where the faster one changes.
template <class Layer, template <class> class Policy>
void add_beside_automatic(Rows& rows, const std::string& layer, Problem problem, Algorithm one,
                          Algorithm other) {
  for (const Algorithm algorithm : {one, other, Algorithm::automatic}) {
    problem.algorithm = algorithm;
    add_forward<Layer, Policy>(rows, layer, problem, "crossover");
  }
}

/// Step by step and in chunks, over lengths.
template <class Layer>
void add_crossover(Rows& rows, const std::string& layer) {
  for (const int64_t seq_len : {16, 32, 64, 128, 256}) {
    add_beside_automatic<Layer, DefaultPolicy>(rows, layer, chunked_problem(8, seq_len, 16),
                                               Algorithm::recurrent, Algorithm::chunked);
  }
}

/// In chunks with sequences whole and cut, over heads and lengths.
template <class Layer, template <class> class Policy = DefaultPolicy>
void add_split_crossover(Rows& rows, const std::string& layer, const std::vector<int64_t>& heads,
                         const std::vector<int64_t>& lengths) {
  for (const int64_t h : heads) {
    for (const int64_t seq_len : lengths) {
      add_beside_automatic<Layer, Policy>(rows, layer, chunked_problem(1, seq_len, h),
                                          Algorithm::chunked, Algorithm::chunked_split);
    }
  }
}

}  // namespace gdr::bench
