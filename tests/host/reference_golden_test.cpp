// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The reference against thirteen problems computed elsewhere: float64 PyTorch, loops over tokens.
// Inputs are float32; case.txt in each folder names sizes, axis, space, rule and scale.

#include <gdr/reference.hpp>

#include "examples/gdr_run/npy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

using gdr::DeltaRule;
using gdr::HeadDim;
using gdr::HeadDims;
using gdr::HeadGate;
using gdr::KeyGate;
using gdr::Log;
using gdr::NoGate;
using gdr::OuterProduct;
using gdr::ValueGate;

constexpr double bound = 1e-12;

class Case {
 public:
  explicit Case(const std::string& name) : folder_(std::string(GDR_GOLDEN_DIR) + "/" + name + "/") {
    std::ifstream file(folder_ + "case.txt");
    for (std::string key, value; file >> key >> value;) entries_[key] = value;
  }
  std::string text(const std::string& key) const { return entries_.at(key); }
  int number(const std::string& key) const { return std::stoi(entries_.at(key)); }
  double real(const std::string& key) const { return std::stod(entries_.at(key)); }
  template <class T>
  std::vector<T> tensor(const std::string& name) const {
    return npy::read(folder_ + name + ".npy").as<T>();
  }
  /// An input, or nothing where the layer has none.
  template <class T>
  std::vector<T> input(const std::string& name, bool exists) const {
    if (!exists) return {};
    const auto values = tensor<float>(name);
    return {values.begin(), values.end()};
  }

 private:
  std::string folder_;
  std::map<std::string, std::string> entries_;
};

/// The layer type says what case.txt says.
template <class Layer>
void expect_described(const Case& c) {
  constexpr const char* axes[] = {"value", "key", "head", "none"};
  EXPECT_EQ(c.text("axis"), axes[static_cast<int>(Layer::Gate::axis)]);
  EXPECT_EQ(c.text("space"), (std::is_same<typename Layer::Space, Log>::value ? "log" : "linear"));
  EXPECT_EQ(c.text("rule"), Layer::Rule::uses_beta ? "delta" : "outer_product");
  EXPECT_EQ(c.number("key_dim"), Layer::key_dim);
  EXPECT_EQ(c.number("value_dim"), Layer::value_dim);
}

double norm(const double* x, size_t count) {
  double square = 0;
  for (size_t i = 0; i < count; ++i) square += x[i] * x[i];
  return std::sqrt(square);
}

/// In 2-norms, for each row of `width` numbers.
void expect_rows_close(const std::vector<double>& actual, const std::vector<double>& expected,
                       size_t width) {
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_FALSE(expected.empty());
  for (size_t row = 0; row < expected.size(); row += width) {
    std::vector<double> difference(width);
    for (size_t j = 0; j < width; ++j) difference[j] = actual[row + j] - expected[row + j];
    ASSERT_LE(norm(difference.data(), width), bound * norm(&expected[row], width))
        << "row " << row / width;
  }
}

template <class Layer>
void run_case(const std::string& name) {
  const Case c(name);
  expect_described<Layer>(c);
  using T = typename Layer::Element;
  const bool has_state = c.number("initial_state") != 0;
  const bool has_offsets = c.number("sequences") != c.number("batch");
  const auto q = c.input<T>("q", true);
  const auto k = c.input<T>("k", true);
  const auto v = c.input<T>("v", true);
  const auto gate = c.input<T>("gate", Layer::Gate::axis != gdr::GateAxis::none);
  const auto beta = c.input<T>("beta", Layer::Rule::uses_beta);
  const auto initial_state = c.input<T>("initial_state", has_state);
  const auto offsets = has_offsets ? c.tensor<int32_t>("cu_seqlens") : std::vector<int32_t>();

  gdr::ForwardArgs<Layer> args;
  args.shape.batch = c.number("batch");
  args.shape.seq_len = c.number("seq_len");
  args.shape.heads = c.number("value_heads");
  args.shape.key_heads = c.number("key_heads");
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.gate = gate.data();
  if (Layer::Rule::uses_beta) args.beta = beta.data();
  if (has_state) args.initial_state = initial_state.data();
  if (has_offsets) args.cu_seqlens = {offsets.data(), c.number("sequences")};

  // No float holds 32^-0.5, some cases' scale. o is linear in it: the rest is multiplied here.
  const double scale = c.real("scale");
  args.scale = static_cast<float>(scale);
  auto result = gdr::reference::forward(args);
  for (double& o : result.o) o *= scale / static_cast<double>(args.scale);
  const size_t value_dim = static_cast<size_t>(Layer::value_dim);
  expect_rows_close(result.o, c.tensor<double>("o"), value_dim);
  expect_rows_close(result.final_state, c.tensor<double>("final_state"), value_dim);
}

/// Once on the float32 tensors, once on the same numbers as float64.
template <class Dims, class Gate, class Rule = OuterProduct>
void expect_golden(const std::string& name) {
  run_case<gdr::Recurrence<Dims, float, Gate, Rule>>(name);
  run_case<gdr::Recurrence<Dims, double, Gate, Rule>>(name);
}

TEST(ReferenceGolden, ValueLinearDefault) {
  expect_golden<HeadDim<24>, ValueGate<>>("value_linear_default");
}
TEST(ReferenceGolden, ValueLinearOddGates) {
  expect_golden<HeadDims<16, 40>, ValueGate<>>("value_linear_odd_gates");
}
TEST(ReferenceGolden, ValueLinearCuSeqlens) {
  expect_golden<HeadDims<24, 8>, ValueGate<>>("value_linear_cu_seqlens");
}
TEST(ReferenceGolden, ValueLogGroupedState) {
  expect_golden<HeadDims<16, 40>, ValueGate<Log>>("value_log_grouped_state");
}
TEST(ReferenceGolden, ValueLogDelta) {
  expect_golden<HeadDims<24, 16>, ValueGate<Log>, DeltaRule<>>("value_log_delta");
}
TEST(ReferenceGolden, KeyLinearOddGates) {
  expect_golden<HeadDims<16, 24>, KeyGate<>>("key_linear_odd_gates");
}
TEST(ReferenceGolden, KeyLogGla) { expect_golden<HeadDims<32, 16>, KeyGate<Log>>("key_log_gla"); }
TEST(ReferenceGolden, KeyLogDeltaKda) {
  expect_golden<HeadDims<32, 16>, KeyGate<Log>, DeltaRule<>>("key_log_delta_kda");
}
TEST(ReferenceGolden, HeadLinearOddGates) {
  expect_golden<HeadDims<16, 24>, HeadGate<>>("head_linear_odd_gates");
}
TEST(ReferenceGolden, HeadLog) { expect_golden<HeadDims<24, 32>, HeadGate<Log>>("head_log"); }
TEST(ReferenceGolden, HeadLogDeltaGdn) {
  expect_golden<HeadDims<32, 16>, HeadGate<Log>, DeltaRule<>>("head_log_delta_gdn");
}
TEST(ReferenceGolden, None) { expect_golden<HeadDims<15, 9>, NoGate>("none"); }
TEST(ReferenceGolden, NoneDelta) {
  expect_golden<HeadDims<15, 9>, NoGate, DeltaRule<>>("none_delta");
}

}  // namespace
