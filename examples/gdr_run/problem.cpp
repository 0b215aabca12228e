// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "problem.hpp"

#include "examples/gdr_run/npy.hpp"

#include <gdr/gates.hpp>
#include <gdr/reference/element.hpp>

#include <algorithm>
#include <stdexcept>

namespace gdr_run {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
}

/// One extent of a tensor that is due: a number, or a letter where any number will do.
struct Extent {
  std::string name;
  int64_t value = -1;  // -1: any

  Extent(const char* letters) : name(letters) {}  // NOLINT: a letter stands for any number
  Extent(int64_t number) : name(std::to_string(number)), value(number) {}  // NOLINT
};

void require_shape(const std::string& path, const npy::Array& array,
                   const std::vector<Extent>& due) {
  bool fits = array.shape.size() == due.size();
  std::string text;
  for (size_t d = 0; d < due.size(); ++d) {
    text += (d == 0 ? "" : ", ") + due[d].name;
    fits = fits && (due[d].value == -1 || due[d].value == array.shape[d]);
  }
  if (!fits) {
    refuse(path, "its shape is " + npy::text_of(array.shape) + ", and [" + text + "] is due");
  }
}

int head_dim(const std::string& path, const char* letter, int64_t extent) {
  if (extent < 1 || extent > gdr::max_head_dim) {
    refuse(path, std::string(letter) + " is " + std::to_string(extent) +
                     "; head dimensions go from 1 to 256");
  }
  return static_cast<int>(extent);
}

npy::Array read_floats(const std::string& path) {
  npy::Array array = npy::read(path);
  if (array.type[1] != 'f') {
    refuse(path, "it holds " + array.type_name() + ", and float16, float32 or float64 is due");
  }
  return array;
}

gdr::DataType type_of(const npy::Array& array) {
  return array.type == "<f2"   ? gdr::DataType::float16
         : array.type == "<f4" ? gdr::DataType::float32
                               : gdr::DataType::float64;
}

std::vector<float> rounded(const npy::Array& array, gdr::DataType to) {
  const gdr::DataType from = type_of(array);
  if (from == gdr::DataType::float32 && to == gdr::DataType::float32) return array.as<float>();
  std::vector<float> values(array.count());
  for (size_t i = 0; i < values.size(); ++i) {
    const double value =
        gdr::reference::load_element(array.bytes.data(), from, static_cast<int64_t>(i));
    values[i] = round_to(to, value);
  }
  return values;
}

std::vector<int64_t> read_offsets(const std::string& path, const gdr::Shape& shape) {
  const npy::Array array = npy::read(path);
  std::vector<int64_t> offsets;
  if (array.type == "<i4") {
    const std::vector<int32_t> narrow = array.as<int32_t>();
    offsets.assign(narrow.begin(), narrow.end());
  } else if (array.type == "<i8") {
    offsets = array.as<int64_t>();
  } else {
    refuse(path, "it holds " + array.type_name() + ", and int32 or int64 is due");
  }
  require_shape(path, array, {"N + 1"});
  if (offsets.empty()) refuse(path, "it is empty, and N + 1 offsets are due");
  if (shape.batch != 1) {
    refuse(path, "offsets cut one batch row, and q has " + std::to_string(shape.batch));
  }
  if (offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
      offsets.back() > shape.seq_len) {
    refuse(path,
           "its offsets do not ascend from 0 to at most T = " + std::to_string(shape.seq_len));
  }
  return offsets;
}

gdr::LayerKey layer_of(const Options& options, const gdr::Shape& shape) {
  gdr::LayerKey key;
  key.type = options.compute;
  key.key_dim = shape.key_dim;
  key.value_dim = shape.value_dim;
  key.axis = options.axis;
  key.gate_function =
      options.space == Space::log ? gdr::function_id<gdr::Log> : gdr::function_id<gdr::Linear>;
  key.gate_type = options.compute;
  key.delta_rule = options.rule == Rule::delta;
  return key;
}

std::vector<Extent> gate_shape(gdr::GateAxis axis, const gdr::Shape& shape) {
  std::vector<Extent> due = {shape.batch, shape.seq_len, shape.heads};
  if (axis == gdr::GateAxis::value) due.emplace_back(int64_t{shape.value_dim});
  if (axis == gdr::GateAxis::key) due.emplace_back(int64_t{shape.key_dim});
  return due;
}

/// q, k and v, from which the sizes follow.
void load_tokens(const Options& options, Problem& problem) {
  const npy::Array q = read_floats(options.q);
  const npy::Array k = read_floats(options.k);
  const npy::Array v = read_floats(options.v);
  require_shape(options.q, q, {"B", "T", "Hk", "K"});
  gdr::Shape& shape = problem.shape;
  shape.batch = q.shape[0];
  shape.seq_len = q.shape[1];
  shape.key_heads = q.shape[2];
  shape.key_dim = head_dim(options.q, "K", q.shape[3]);
  require_shape(options.k, k,
                {shape.batch, shape.seq_len, shape.key_heads, int64_t{shape.key_dim}});
  require_shape(options.v, v, {shape.batch, shape.seq_len, "Hv", "V"});
  shape.heads = v.shape[2];
  shape.value_dim = head_dim(options.v, "V", v.shape[3]);
  if (shape.key_heads == 0 ? shape.heads != 0 : shape.heads % shape.key_heads != 0) {
    refuse(options.v, "its " + std::to_string(shape.heads) + " heads are no multiple of the " +
                          std::to_string(shape.key_heads) + " of q");
  }
  problem.q = rounded(q, options.compute);
  problem.k = rounded(k, options.compute);
  problem.v = rounded(v, options.compute);
}

void load_gates(const Options& options, Problem& problem) {
  const gdr::Shape& shape = problem.shape;
  if (!options.gate.empty()) {
    const npy::Array gate = read_floats(options.gate);
    require_shape(options.gate, gate, gate_shape(options.axis, shape));
    problem.gate = rounded(gate, options.compute);
  }
  if (!options.beta.empty()) {
    const npy::Array beta = read_floats(options.beta);
    require_shape(options.beta, beta, {shape.batch, shape.seq_len, shape.heads});
    problem.beta = rounded(beta, options.compute);
  }
}

void load_sequences(const Options& options, Problem& problem) {
  problem.sequences = problem.shape.batch;
  if (!options.cu_seqlens.empty()) {
    problem.cu_seqlens = read_offsets(options.cu_seqlens, problem.shape);
    problem.sequences = static_cast<int64_t>(problem.cu_seqlens.size()) - 1;
  }
  if (!options.state.empty()) {
    const npy::Array state = read_floats(options.state);
    const std::vector<int64_t> due = problem.state_shape();
    require_shape(options.state, state, {due.begin(), due.end()});
    problem.initial_state = rounded(state, gdr::DataType::float32);
  }
}

}  // namespace

std::vector<int64_t> Problem::o_shape() const {
  return {shape.batch, shape.seq_len, shape.heads, shape.value_dim};
}

std::vector<int64_t> Problem::state_shape() const {
  if (state_layout == gdr::StateLayout::kv) {
    return {sequences, shape.heads, shape.key_dim, shape.value_dim};
  }
  return {sequences, shape.heads, shape.value_dim, shape.key_dim};
}

int64_t Problem::longest_sequence() const {
  if (cu_seqlens.empty()) return shape.seq_len;
  int64_t longest = 0;
  for (size_t n = 0; n + 1 < cu_seqlens.size(); ++n) {
    longest = std::max(longest, cu_seqlens[n + 1] - cu_seqlens[n]);
  }
  return longest;
}

Problem load_problem(const Options& options) {
  Problem problem;
  problem.state_layout = options.state_layout;
  problem.algorithm = options.algorithm;
  problem.scale = options.scale;
  problem.qk_l2norm = options.qk_l2norm;
  problem.qk_l2norm_eps = options.qk_l2norm_eps;
  problem.wants_final_state = !options.final_state.empty();
  load_tokens(options, problem);
  load_gates(options, problem);
  load_sequences(options, problem);
  problem.key = layer_of(options, problem.shape);
  return problem;
}

double bytes_moved(const Problem& problem) {
  const int64_t inputs =
      static_cast<int64_t>(problem.q.size() + problem.k.size() + problem.v.size() +
                           problem.gate.size() + problem.beta.size());
  const int64_t states = static_cast<int64_t>(problem.initial_state.size()) +
                         (problem.wants_final_state ? problem.state_count() : 0);
  return static_cast<double>((inputs + problem.o_count()) * gdr::size_of(problem.key.type) +
                             states * gdr::size_of(gdr::DataType::float32));
}

std::string describe_layer(const gdr::LayerKey& key) {
  std::string text = name_of(compute_types, key.type) + ", K " + std::to_string(key.key_dim) +
                     ", V " + std::to_string(key.value_dim) + ", gate " + name_of(axes, key.axis);
  if (key.axis != gdr::GateAxis::none) text += key.gate_function.log_space() ? " log" : " linear";
  return text + ", rule " + (key.delta_rule ? "delta" : "outer_product");
}

std::string layer_item(const gdr::LayerKey& key) {
  const std::string K = std::to_string(key.key_dim), V = std::to_string(key.value_dim);
  const bool gated = key.axis != gdr::GateAxis::none;
  return name_of(compute_types, key.type) + "/" + (K == V ? K : K + "x" + V) + "/" +
         name_of(axes, key.axis) + "/" +
         (gated && key.gate_function.log_space() ? "log" : "linear") + "/" +
         (key.delta_rule ? "delta" : "outer_product");
}

float round_to(gdr::DataType type, double value) {
  using gdr::reference::from_double;
  using gdr::reference::to_double;
  switch (type) {
    case gdr::DataType::float16:
      return static_cast<float>(to_double(from_double<gdr::float16>(value)));
    case gdr::DataType::bfloat16:
      return static_cast<float>(to_double(from_double<gdr::bfloat16>(value)));
    default:
      return static_cast<float>(value);
  }
}

}  // namespace gdr_run
