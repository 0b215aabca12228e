// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include "gdr_run_layers.hpp"

#include <gdr/version.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace gdr_run {
namespace {

/// An option whose value is a word of the table.
template <class Value, size_t count>
void add_choice(CLI::App& app, const std::string& name, Value& value,
                const Named<Value> (&table)[count], const std::string& description) {
  std::vector<std::string> words;
  for (const Named<Value>& entry : table) words.emplace_back(entry.name);
  const auto choose = [&value, &table](const std::string& word) {
    for (const Named<Value>& entry : table) {
      if (word == entry.name) value = entry.value;
    }
  };
  app.add_option_function<std::string>(name, choose, description)
      ->check(CLI::IsMember(words))
      ->default_str(name_of(table, value));
}

void add_files(CLI::App& app, Options& options) {
  const std::string files = "Files (.npy)";
  const auto add = [&](const char* name, std::string& path, const char* description) {
    return app.add_option(name, path, description)->type_name("FILE")->group(files);
  };
  add("--q", options.q, "queries [B, T, Hk, K]")->required();
  add("--k", options.k, "keys [B, T, Hk, K]")->required();
  add("--v", options.v, "values [B, T, Hv, V]; Hk divides Hv")->required();
  add("--gate", options.gate,
      "gate: [B, T, Hv, V] for the axis value, [B, T, Hv, K] for key, [B, T, Hv] for head");
  add("--beta", options.beta, "beta [B, T, Hv] of the delta rule");
  add("--state", options.state, "initial state [N, Hv, K, V]; zero where not given");
  add("--cu-seqlens,--cu_seqlens", options.cu_seqlens,
      "int32 or int64 [N + 1]: where the N sequences in the one batch row begin and end");
  add("--o", options.o, "writes the output [B, T, Hv, V]");
  add("--final-state", options.final_state, "writes the final state [N, Hv, K, V], float32");
}

void add_layer(CLI::App& app, Options& options) {
  add_choice(app, "--compute", options.compute, compute_types,
             "type that the tensors are rounded to on load, and o on the way out");
  add_choice(app, "--axis", options.axis, axes, "the gate's axis");
  add_choice(app, "--space", options.space, spaces,
             "whether the gate's tensor holds factors or their natural logarithms");
  add_choice(app, "--rule", options.rule, rules, "what is written into the state");
  app.add_option("--scale", options.scale, "multiplies o; K^-0.5 is common elsewhere")
      ->capture_default_str();
  app.add_flag("--qk-l2norm", options.qk_l2norm, "q and k are divided by their lengths first");
  app.add_option("--qk-l2norm-eps", options.qk_l2norm_eps, "added to the squared length")
      ->capture_default_str();
  add_choice(app, "--state-layout", options.state_layout, state_layouts,
             "of both states: [.., K, V] or [.., V, K]");
}

void add_run(CLI::App& app, Options& options) {
  add_choice(app, "--algorithm", options.algorithm, algorithms, "form of the algorithm on the GPU");
  add_choice(app, "--device", options.device, devices,
             "auto: the GPU, or the reference on one CPU core where there is none");
  app.add_flag("--check", options.check,
               "compares with the reference; fails where the error passes the library's bound");
}

/// What the parser cannot see: options that need or exclude each other.
void check(const Options& options) {
  const auto refuse = [](const char* sentence) { throw std::runtime_error(sentence); };
  const bool gated = options.axis != gdr::GateAxis::none;
  const bool delta = options.rule == Rule::delta;
  if (gated && options.gate.empty()) refuse("--gate is missing; --axis none has no gate");
  if (!gated && !options.gate.empty()) refuse("--gate: the axis none has no gate");
  if (delta && options.beta.empty()) refuse("--beta is missing; the delta rule needs it");
  if (!delta && !options.beta.empty()) refuse("--beta belongs to --rule delta");
  if (!std::isfinite(options.scale)) refuse("--scale is not finite");
  if (!(options.qk_l2norm_eps >= 0) || std::isinf(options.qk_l2norm_eps)) {
    refuse("--qk-l2norm-eps is negative or not finite");
  }
  namespace fs = std::filesystem;
  if (!options.o.empty() && !options.final_state.empty() &&
      fs::weakly_canonical(options.o) == fs::weakly_canonical(options.final_state)) {
    refuse("--o and --final-state name one file");
  }
}

std::string version_text() {
  return std::to_string(GDR_VERSION_MAJOR) + "." + std::to_string(GDR_VERSION_MINOR) + "." +
         std::to_string(GDR_VERSION_PATCH);
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  CLI::App app(
      "gdr_run: one forward pass of a gated recurrence, from NumPy files to NumPy files.\n"
      "    S <- S * a_t;   S <- S + k_t (outer) u_t;   o_t = scale * S^T q_t",
      "gdr_run");
  app.set_version_flag("--version", version_text());
  app.footer(
      "Kernels for the GPU are compiled for the layers of the CMake variable GDR_RUN_LAYERS, "
      "as type/extents/axis/space/rule, here\n" +
      std::string(layers_text) +
      "Larger extents serve smaller ones. The reference computes every layer.");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_files(app, options);
  add_layer(app, options);
  add_run(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw std::runtime_error(error.what());
    app.exit(error);  // prints help or version
    return std::nullopt;
  }
  check(options);
  return options;
}

}  // namespace gdr_run
