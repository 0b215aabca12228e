// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The sweep: each candidate of each form on each shape, verified and timed beside the shipped
// tuning. A form's candidates differ in speed alone, so the fastest right one is the answer.

#include "bench/support/record.hpp"
#include "bench/support/tune.hpp"
#include "bench/support/tune_layer.cuh"
#include "bench/support/verify.cuh"

#include <gdr/dispatch/form.hpp>

#include <cmath>
#include <fstream>
#include <iostream>

namespace gdr::bench {
namespace {

/// One candidate on one shape.
struct Outcome {
  Timing timing;
  double error = 0;
  std::string refused;  // the device or the problem does not allow it
  std::string failed;   // it computed wrongly, or CUDA failed
  bool is_timed() const { return refused.empty() && failed.empty(); }
};

/// One form on one shape.
struct Sweep {
  TuneShape shape;
  Algorithm algorithm = Algorithm::automatic;
  Gates gates = Gates::slow;
  std::vector<Outcome> outcomes;  // one for each candidate
  int best = -1;                  // none was timed
  double default_us = 0;
  double best_us = 0;

  /// The part of the shipped tuning's time that the best one saves.
  double gain() const { return 1 - best_us / default_us; }
};

constexpr Gates tune_gates() {
  using Function = TuneLayer::GateFunction;
  if (TuneLayer::Gate::axis == GateAxis::none) return Gates::none;
  return stdx::is_same<Function, TuneLayer::Space>::value ? Gates::slow : Gates::logits;
}

/// The chunked form cuts sequences where automatic would cut them, given a workspace.
Algorithm algorithm_for(const TuneShape& shape, Algorithm form) {
  gdr::detail::FormProblem problem = gdr::detail::form_problem(ForwardArgs<TuneLayer>{});
  problem.sequences = shape.sequences > 0 ? shape.sequences : shape.batch;
  problem.tokens = shape.batch * shape.seq_len;
  problem.heads = shape.heads;
  problem.has_workspace = true;
  const Algorithm automatic = gdr::detail::choose_form(problem);
  const bool cuts = form == Algorithm::chunked && automatic == Algorithm::chunked_split;
  return cuts ? automatic : form;
}

Problem problem_of(const TuneShape& shape, Algorithm algorithm, int64_t l2_bytes) {
  Problem problem;
  problem.algorithm = algorithm;
  problem.batch = shape.batch;
  problem.seq_len = shape.seq_len;
  problem.heads = shape.heads;
  problem.sequences = shape.sequences;
  problem.gates = tune_gates();
  // A call so small finds its inputs in the L2, where the call before it left them.
  const int64_t rows = shape.batch * shape.seq_len * shape.heads;
  const int64_t row_bytes =
      (2 * TuneLayer::key_dim + 2 * TuneLayer::value_dim + TuneLayer::gate_channels) *
      static_cast<int64_t>(sizeof(TuneLayer::Element));
  problem.resident = rows * row_bytes <= l2_bytes / 4;
  return problem;
}

/// The tensors of one shape, and what they must give.
class Bench {
 public:
  Bench(const Session& session, const TuneShape& shape, Algorithm algorithm)
      : session_(session),
        problem_(problem_of(shape, algorithm, session.device.l2_bytes)),
        work_(session, problem_),
        expected_(expected_outputs(work_)) {
    for (int i = 0; i < work_.copies(); ++i) args_.push_back(work_.args(i));
    workspace_ = DeviceArray<unsigned char>(workspace_size<TuneLayer>(args_[0]));
    for (ForwardArgs<TuneLayer>& args : args_) {
      args.workspace = workspace_.data();
      args.workspace_bytes = workspace_.count();
    }
  }

  const Problem& problem() const { return problem_; }
  const ForwardArgs<TuneLayer>& args() const { return args_[0]; }

  template <class Forward>
  double verify(const Forward& forward) const {
    return bench::verify(session_, work_, expected_, launch_of(forward));
  }
  template <class Forward>
  Timing time(const Forward& forward) const {
    return time_launches(session_.stream.get(), Method::graph, work_.copies(), session_.samples,
                         session_.device.l2_bytes, launch_of(forward));
  }

 private:
  template <class Forward>
  auto launch_of(const Forward& forward) const {
    return [this, &forward](cudaStream_t stream, int index) {
      check(forward(args_[static_cast<size_t>(index) % args_.size()], stream), "forward");
    };
  }

  const Session& session_;
  Problem problem_;
  Workload<TuneLayer> work_;
  std::vector<ExpectedOutput> expected_;
  std::vector<ForwardArgs<TuneLayer>> args_;
  DeviceArray<unsigned char> workspace_;
};

Outcome try_candidate(const Bench& bench, const Candidate& candidate) {
  Outcome outcome;
  const Status status = candidate.can_forward(bench.args());
  if (!status.ok()) {
    outcome.refused = status.message;
    return outcome;
  }
  try {
    outcome.error = bench.verify(candidate.forward);
    outcome.timing = bench.time(candidate.forward);
  } catch (const std::exception& error) {
    outcome.failed = error.what();
  }
  return outcome;
}

/// As they are measured: the one that is at work is named first.
void print(const Outcome& outcome) {
  if (outcome.is_timed()) {
    std::printf(": %.2f us\n", outcome.timing.median_us);
  } else if (outcome.failed.empty()) {
    std::printf(": refused: %s\n", outcome.refused.c_str());
  } else {
    std::printf(": FAILED: %s\n", outcome.failed.c_str());
  }
}

Sweep sweep(const Session& session, const TuneShape& shape, Algorithm algorithm,
            const std::vector<Candidate>& candidates) {
  const Bench bench(session, shape, algorithm);
  const auto shipped = [](const ForwardArgs<TuneLayer>& args, cudaStream_t stream) {
    return gdr::forward<TuneLayer>(args, stream);
  };

  Sweep sweep;
  sweep.shape = shape;
  sweep.algorithm = algorithm;
  sweep.gates = bench.problem().gates;
  const Status status = can_forward<TuneLayer, DefaultPolicy<TuneLayer>>(bench.args());
  if (!status.ok()) {
    sweep.outcomes.resize(candidates.size());
    for (Outcome& outcome : sweep.outcomes) outcome.refused = status.message;
    std::printf("\n%s: %s\n", shape.text().c_str(), status.message);
    return sweep;
  }
  bench.verify(shipped);
  std::printf("\n%s form, %s, %s gates\n", name_of(algorithm), shape.text().c_str(),
              name_of(sweep.gates));
  for (const Candidate& candidate : candidates) {
    std::printf("  %s", line_of(candidate.members).c_str());
    std::fflush(stdout);
    sweep.outcomes.push_back(try_candidate(bench, candidate));
    const Outcome& outcome = sweep.outcomes.back();
    print(outcome);
    const auto best = static_cast<size_t>(sweep.best);
    if (outcome.is_timed() &&
        (sweep.best < 0 || outcome.timing.median_us < sweep.outcomes[best].timing.median_us)) {
      sweep.best = static_cast<int>(sweep.outcomes.size()) - 1;
    }
  }
  if (sweep.best < 0) return sweep;
  // The least of many measurements is too small, so the winner is measured again beside the shipped
  // tuning.
  sweep.default_us = bench.time(shipped).median_us;
  sweep.best_us = bench.time(candidates[static_cast<size_t>(sweep.best)].forward).median_us;
  return sweep;
}

/// The winner as a policy.
template <class Form>
void print_code(const TuningMembers& members) {
  const std::string base =
      Form::is_whole_policy ? "" : "gdr::DefaultPolicy<" + std::string(tuned_layer()) + ">";
  std::printf("%s", code_of<Form>(members, base).c_str());
}

/// What came out of them.
template <class Form>
void print(const Sweep& sweep, const std::vector<Candidate>& candidates) {
  if (sweep.best < 0) {
    std::printf("no candidate runs here\n");
    return;
  }
  std::printf("default %.2f us, best %.2f us, gain %.1f %%\n", sweep.default_us, sweep.best_us,
              100 * sweep.gain());
  if (sweep.gain() <= 0) std::printf("the shipped tuning is as good: keep it\n");
  print_code<Form>(candidates[static_cast<size_t>(sweep.best)].members);
}

/// The candidate whose time relative to each shape's default is least, as a geometric mean; -1
/// where none runs on all shapes.
int best_of_all(const std::vector<Sweep>& sweeps, size_t candidates) {
  int best = -1;
  double best_sum = 0;
  for (size_t i = 0; i < candidates; ++i) {
    double sum = 0;
    bool runs = true;
    for (const Sweep& sweep : sweeps) {
      runs = runs && sweep.outcomes[i].is_timed();
      if (runs) sum += std::log(sweep.outcomes[i].timing.median_us / sweep.default_us);
    }
    if (runs && (best < 0 || sum < best_sum)) {
      best = static_cast<int>(i);
      best_sum = sum;
    }
  }
  return best;
}

template <class Form>
void print_best_of_all(const std::vector<Sweep>& sweeps, const std::vector<Candidate>& candidates) {
  const int best = best_of_all(sweeps, candidates.size());
  if (best < 0) {
    std::printf("\nno candidate of the %s form runs on all shapes\n", Form::name);
    return;
  }
  const auto index = static_cast<size_t>(best);
  std::printf("\n%s form, best over all shapes\n", Form::name);
  for (const Sweep& sweep : sweeps) {
    std::printf("  %s: default %.2f us, this one %.2f us\n", sweep.shape.text().c_str(),
                sweep.default_us, sweep.outcomes[index].timing.median_us);
  }
  print_code<Form>(candidates[index].members);
}

std::string outcome_json(const Outcome& outcome, const Candidate& candidate) {
  std::string text = "{\"tuning\": " + json_of(candidate.members);
  if (outcome.is_timed()) {
    text += ", \"us\": " + number_text(outcome.timing.median_us) +
            ", \"p10_us\": " + number_text(outcome.timing.p10_us) +
            ", \"p90_us\": " + number_text(outcome.timing.p90_us) +
            ", \"error\": " + number_text(outcome.error);
  } else if (outcome.failed.empty()) {
    text += ", \"refused\": " + quoted(outcome.refused);
  } else {
    text += ", \"failed\": " + quoted(outcome.failed);
  }
  return text + "}";
}

std::string sweep_json(const Sweep& sweep, const char* form,
                       const std::vector<Candidate>& candidates) {
  std::string text = "    {\n      \"form\": " + quoted(form) +
                     ",\n      \"algorithm\": " + quoted(name_of(sweep.algorithm)) +
                     ",\n      \"shape\": " + quoted(sweep.shape.text()) +
                     ",\n      \"gates\": " + quoted(name_of(sweep.gates));
  if (sweep.best >= 0) {
    const Candidate& best = candidates[static_cast<size_t>(sweep.best)];
    text += ",\n      \"default_us\": " + number_text(sweep.default_us) +
            ",\n      \"best_us\": " + number_text(sweep.best_us) +
            ",\n      \"gain\": " + number_text(sweep.gain()) +
            ",\n      \"best\": " + json_of(best.members);
  }
  text += ",\n      \"candidates\": [";
  for (size_t i = 0; i < candidates.size(); ++i) {
    text +=
        (i == 0 ? "\n        " : ",\n        ") + outcome_json(sweep.outcomes[i], candidates[i]);
  }
  return text + "\n      ]\n    }";
}

/// What the file will hold, and whether all candidates were right.
struct Result {
  std::vector<std::string> sweeps;
  bool all_right = true;
};

using Parts = std::make_integer_sequence<int, GDR_BENCH_TUNE_PARTS>;

template <class Form>
void tune_form(const Session& session, const std::vector<TuneShape>& shapes, Result& result) {
  const std::vector<Candidate> candidates = all_candidates<Form>(Parts{});
  if (candidates.empty()) {
    std::printf("\nthe layer has no %s form\n", Form::name);
    return;
  }
  std::vector<Sweep> sweeps;
  for (const TuneShape& shape : shapes) {
    const Algorithm algorithm = algorithm_for(shape, Form::algorithm);
    sweeps.push_back(sweep(session, shape, algorithm, candidates));
    print<Form>(sweeps.back(), candidates);
    result.sweeps.push_back(sweep_json(sweeps.back(), Form::name, candidates));
    for (const Outcome& outcome : sweeps.back().outcomes) {
      result.all_right = result.all_right && outcome.failed.empty();
    }
  }
  if (sweeps.size() > 1) print_best_of_all<Form>(sweeps, candidates);
}

template <class Form>
void list_form(std::ostream& out) {
  const std::vector<Candidate> candidates = all_candidates<Form>(Parts{});
  out << Form::name << " form, " << candidates.size() << " candidates\n";
  for (const Candidate& candidate : candidates) out << "  " << line_of(candidate.members) << "\n";
}

void write_file(const std::string& path, const Session& session,
                const std::vector<std::string>& sweeps) {
  std::ofstream out(path);
  out << "{\n  \"context\": {\n    \"layer\": " << quoted(tuned_layer()) << ",\n";
  write_context(out, session);
  out << "  },\n  \"tunings\": [\n";
  for (size_t i = 0; i < sweeps.size(); ++i) out << (i == 0 ? "" : ",\n") << sweeps[i];
  out << "\n  ]\n}\n";
  if (!out.flush()) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace

const char* tuned_layer() { return tune_layer_name; }

void list_candidates(std::ostream& out) {
  out << tuned_layer() << "\n";
  list_form<RecurrentForm>(out);
  list_form<ChunkedForm>(out);
}

bool tune(const Session& session, const TuneOptions& options) {
  std::printf("%s\n", tuned_layer());
  Result result;
  tune_form<RecurrentForm>(session, options.shapes, result);
  tune_form<ChunkedForm>(session, options.shapes, result);
  if (!options.path.empty()) write_file(options.path, session, result.sweeps);
  return result.all_right;
}

}  // namespace gdr::bench
