// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The judge of the device tests, judged: bounds at their edges, NaN, masks, the magnitudes m, and
// the problems that the generator makes.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "support/oracle.hpp"

namespace {

using namespace gdr::test;
using gdr::DataType;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// --- Bounds ---

TEST(ErrorBound, FollowsTypeAndForm) {
  EXPECT_EQ(error_bound(DataType::float32, Form::recurrent, 1, false), 1e-6);
  EXPECT_EQ(error_bound(DataType::float32, Form::recurrent, 1024, false), 1e-6);
  EXPECT_DOUBLE_EQ(error_bound(DataType::float32, Form::recurrent, 4096, false), 2e-6);
  EXPECT_DOUBLE_EQ(error_bound(DataType::float32, Form::recurrent, 4096, true), 4e-6);
  EXPECT_EQ(error_bound(DataType::float32, Form::chunked, 4096, true), 1e-5);
  EXPECT_EQ(error_bound(DataType::float16, Form::recurrent, 100000, true), 1e-3);
  EXPECT_EQ(error_bound(DataType::bfloat16, Form::chunked, 5, false), 4e-3);
}

TEST(ErrorBound, AlgorithmsHaveTheBoundOfTheirForm) {
  EXPECT_EQ(form_of(gdr::Algorithm::recurrent), Form::recurrent);
  EXPECT_EQ(form_of(gdr::Algorithm::chunked), Form::chunked);
  EXPECT_EQ(form_of(gdr::Algorithm::chunked_split), Form::chunked);
  EXPECT_EQ(form_of(gdr::Algorithm::by_length), Form::chunked);  // it takes both
  EXPECT_EQ(form_of(gdr::Algorithm::automatic), Form::chunked);  // it may take either
}

// Neither length nor growth widens the chunked form's bound, and no 16-bit type's.
TEST(ErrorBound, OnlyTheRecurrentFormGrows) {
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    const double one = error_bound(type, Form::chunked, 1, false);
    EXPECT_EQ(error_bound(type, Form::chunked, 1 << 20, true), one);
    EXPECT_GE(one, error_bound(type, Form::recurrent, 1, false));
  }
}

TEST(ErrorBound, StatesHaveTheLayersButForTheirOwnPrecision) {
  EXPECT_EQ(state_error_bound(1e-6, DataType::float32), 1e-6);
  EXPECT_EQ(state_error_bound(4e-3, DataType::float32), 4e-3);
  EXPECT_EQ(state_error_bound(1e-6, DataType::bfloat16), 4e-3);
}

// --- compare ---

/// Two rows: one of norm 5, one of norm 0.05; errors put by the test.
struct TwoRows {
  std::vector<double> ref = {3, 4, 0.03, 0.04};
  std::vector<double> x = ref;
  std::vector<double> m;
  Mask mask;
  Tolerance tolerance{1e-3, 0};
  Verdict judge() const { return compare(x, ref, m, token_rows(2, 2), tolerance, mask); }
};

TEST(Compare, EqualPasses) { EXPECT_TRUE(TwoRows().judge().ok); }

TEST(Compare, WholeTensorBound) {
  TwoRows rows;  // |ref| = 5.00025; a row alone may err by four times as much
  rows.x[0] += 0.0049;
  EXPECT_TRUE(rows.judge().ok);
  rows.x[0] += 0.0002;
  EXPECT_FALSE(rows.judge().ok);
  EXPECT_NE(rows.judge().message.find("whole tensor"), std::string::npos) << rows.judge().message;
  rows.tolerance.whole_tensor = false;
  EXPECT_TRUE(rows.judge().ok);
}

TEST(Compare, RowBound) {
  TwoRows rows;
  rows.x[3] += 0.00019;  // 4 * 1e-3 * 0.05 = 2e-4
  EXPECT_TRUE(rows.judge().ok);
  rows.x[3] += 0.00002;
  EXPECT_FALSE(rows.judge().ok);
  EXPECT_NE(rows.judge().message.find("row 1"), std::string::npos) << rows.judge().message;
}

TEST(Compare, RowBoundFollowsTheMagnitude) {
  TwoRows rows;
  rows.x[3] += 0.00039;
  rows.m = {3, 4, 0.06, 0.08};
  EXPECT_TRUE(rows.judge().ok);
  rows.m = {30, 40, 0.03, 0.04};  // another row's does not help
  EXPECT_FALSE(rows.judge().ok);
}

TEST(Compare, RowBoundHasAFloorOfNormals) {
  TwoRows rows;
  rows.ref[2] = rows.ref[3] = rows.x[2] = rows.x[3] = 0;
  rows.tolerance.smallest_normal = 1e-4;
  rows.x[2] = 1.4e-4;  // sqrt(2) * 1e-4
  EXPECT_TRUE(rows.judge().ok);
  rows.x[2] = 1.42e-4;
  EXPECT_FALSE(rows.judge().ok);
}

TEST(Compare, ErrorsAddInTwoNorms) {
  TwoRows rows;
  rows.x[2] += 0.00015;
  EXPECT_TRUE(rows.judge().ok);
  rows.x[3] -= 0.00015;
  EXPECT_FALSE(rows.judge().ok);
}

TEST(Compare, NothingNonFinitePasses) {
  for (const double bad : {nan, infinity, -infinity}) {
    TwoRows rows;
    rows.x[1] = bad;
    EXPECT_FALSE(rows.judge().ok);
    rows.ref[1] = bad;  // not even where the reference agrees
    EXPECT_FALSE(rows.judge().ok);
    rows.m = {1, bad, 1, 1};
    EXPECT_FALSE(rows.judge().ok);
    rows.mask = {1, 0, 1, 1};
    EXPECT_TRUE(rows.judge().ok);
  }
}

TEST(Compare, NonFiniteMagnitudesGiveNoLeave) {
  TwoRows rows;
  rows.x[0] += 1;
  rows.tolerance.whole_tensor = false;
  for (const double bad : {nan, infinity}) {
    rows.m = {bad, 4, 0.03, 0.04};
    EXPECT_FALSE(rows.judge().ok);
  }
}

TEST(Compare, ValueColumnsOfAState) {
  // One [K 2, V 3] matrix; column 1 is small.
  const std::vector<double> ref = {3, 0.03, 3, 4, 0.04, 4};
  std::vector<double> x = ref;
  x[4] += 0.0003;
  const Verdict verdict = compare(x, ref, {}, state_columns(1, 2, 3), {1e-3, 0});
  EXPECT_FALSE(verdict.ok);
  EXPECT_NE(verdict.message.find("row 1"), std::string::npos) << verdict.message;
  EXPECT_TRUE(compare(x, ref, {}, token_rows(2, 3), {1e-3, 0}).ok);
}

TEST(Compare, SizesMustAgree) {
  EXPECT_FALSE(compare({1, 2}, {1, 2, 3}, {}, token_rows(1, 3), {1e-3, 0}).ok);
  EXPECT_FALSE(compare({1, 2}, {1, 2}, {}, token_rows(1, 3), {1e-3, 0}).ok);
  EXPECT_TRUE(compare({}, {}, {}, token_rows(0, 3), {1e-3, 0}).ok);
}

TEST(SameBits, TellsZerosAndNaNsApart) {
  EXPECT_TRUE(same_bits({1, NAN, -0.0f}, {1, NAN, -0.0f}).ok);
  EXPECT_FALSE(same_bits({1, 0.0f}, {1, -0.0f}).ok);
  EXPECT_FALSE(same_bits({1, NAN}, {1, -NAN}).ok);
  EXPECT_FALSE(same_bits({1}, {std::nextafter(1.0f, 2.0f)}).ok);
  EXPECT_TRUE(same_bits({1, 2}, {1, 3}, {1, 0}).ok);
  EXPECT_FALSE(same_bits({1, 2}, {1}).ok);
}

// --- Element types ---

TEST(ElementBits, EveryHalfSurvives) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = float_from_half_bits(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(half_bits_from(static_cast<double>(value)), bits);
  }
}

TEST(ElementBits, RoundsToNearestEven) {
  EXPECT_EQ(half_bits_from(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(half_bits_from(1 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(half_bits_from(65519.9), 0x7bff);
  EXPECT_EQ(half_bits_from(65520), 0x7c00);
  EXPECT_EQ(half_bits_from(-0x1p-24), 0x8001);
  EXPECT_EQ(half_bits_from(0x1p-25), 0);
  EXPECT_EQ(bfloat_bits_from(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(bfloat_bits_from(1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(bfloat_bits_from(0.999), 0x3f80);
  EXPECT_TRUE(std::isnan(float_from_half_bits(half_bits_from(nan))));
}

// --- Problems and their expectations ---

using Default = gdr::Recurrence<gdr::HeadDims<3, 2>, float>;
using Delta = gdr::Recurrence<gdr::HeadDims<3, 2>, float, gdr::KeyGate<gdr::Log>, gdr::DeltaRule<>>;

TEST(Expectation, MagnitudesOfTheOuterProduct) {
  Spec spec;
  spec.shape.batch = 1;
  spec.shape.seq_len = 2;
  spec.shape.heads = 1;
  spec.scale = -0.5f;
  spec.with_states();
  spec.q_values = fills::constant(-1);
  spec.k_values = fills::alternating(2, -2);
  spec.v_values = fills::constant(-3);
  spec.gate_values = fills::constant(-0.5);
  spec.state_values = fills::constant(-8);
  const auto expected = expect(make_problem<Default>(spec));
  // Signed: S = -8 -> 4 - 6 = -2 -> 1 + 6 = 7. Absolute: 8 -> 4 + 6 = 10 -> 5 + 6 = 11.
  EXPECT_EQ(expected.o, (std::vector<double>{-3, -3, 10.5, 10.5}));
  EXPECT_EQ(expected.o_m, (std::vector<double>{15, 15, 16.5, 16.5}));
  EXPECT_EQ(expected.final_state, std::vector<double>(6, 7));
  EXPECT_EQ(expected.final_state_m, std::vector<double>(6, 11));
  EXPECT_FALSE(expected.gate_above_one);
}

TEST(Expectation, MagnitudesOfTheDeltaRule) {
  Spec spec;
  spec.shape.batch = 1;
  spec.shape.seq_len = 1;
  spec.shape.heads = 1;
  spec.with_states();
  spec.q_values = fills::alternating(-1, -1);
  spec.k_values = [](Random&, const Index& at) { return at.channel == 0 ? -7.0 : 0.0; };
  spec.v_values = fills::constant(4);
  spec.gate_values = fills::constant(std::log(2.0));
  spec.beta_values = fills::constant(0.5);
  spec.state_values = fills::constant(1);
  const auto expected = expect(make_problem<Delta>(spec));
  // k is normalised to -e_0: row 0 becomes 2 - 0.5 (4 + 2) = -1, the others 2.
  ASSERT_EQ(expected.o.size(), 2u);
  EXPECT_NEAR(expected.o[0], -3, 1e-6);
  EXPECT_NEAR(expected.o_m[0], 5, 1e-6);
  EXPECT_TRUE(expected.final_state_m.empty());
  EXPECT_TRUE(expected.gate_above_one);
}

TEST(Expectation, MagnitudesAreNeverBelowTheReference) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = 9;
  spec.shape.heads = 4;
  spec.shape.key_heads = 2;
  spec.gate_values = fills::odd();
  spec.qk_l2norm = true;
  spec.with_states();
  const auto judge = [](const Expected& expected) {
    for (std::size_t i = 0; i < expected.o.size(); ++i) {
      EXPECT_LE(std::fabs(expected.o[i]), expected.o_m[i] * (1 + 1e-12));
    }
    for (std::size_t i = 0; i < expected.final_state_m.size(); ++i) {
      EXPECT_LE(std::fabs(expected.final_state[i]), expected.final_state_m[i] * (1 + 1e-12));
    }
  };
  judge(expect(make_problem<Default>(spec)));
  spec.gate_values = {};
  judge(expect(make_problem<Delta>(spec)));
  spec.shape.batch = 1;
  spec.cu_seqlens = {0, 4, 4, 8};
  judge(expect(make_problem<Default>(spec)));
}

Result rounded(const Expected& expected) {
  return {{expected.o.begin(), expected.o.end()},
          {expected.final_state.begin(), expected.final_state.end()}};
}

TEST(Check, JudgesOutputsAndStates) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = 5;
  spec.shape.heads = 2;
  spec.with_states();
  const auto problem = make_problem<Default>(spec);
  const Expected expected = expect(problem);
  const Result good = rounded(expected);
  EXPECT_TRUE(check(problem, DataType::float32, expected, good).ok);
  for (const std::size_t i : {std::size_t{0}, good.o.size() - 1}) {
    Result bad = good;
    bad.o[i] += 1e-3f;
    const Verdict verdict = check(problem, DataType::float32, expected, bad);
    EXPECT_FALSE(verdict.ok);
    EXPECT_EQ(verdict.message.find(i == 0 ? "o: batch 0, token 0, head 0"
                                          : "o: batch 1, token 4, head 1"),
              0u)
        << verdict.message;
  }
  Result bad = good;
  bad.final_state.back() = NAN;
  EXPECT_EQ(check(problem, DataType::float32, expected, bad)
                .message.find("final_state: sequence 1, head 1, value column 1"),
            0u);
}

TEST(Check, TheBoundIsThatOfTheProblemsForm) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = 5;
  spec.shape.heads = 2;
  spec.with_states();
  auto problem = make_problem<Default>(spec);
  const Expected expected = expect(problem);
  Result result = rounded(expected);
  for (float& o : result.o) o *= 1 + 5e-6f;
  EXPECT_FALSE(check(problem, DataType::float32, expected, result).ok);
  for (const auto form : {gdr::Algorithm::chunked, gdr::Algorithm::chunked_split}) {
    problem.spec.algorithm = form;
    EXPECT_TRUE(check(problem, DataType::float32, expected, result).ok);
  }
  for (float& state : result.final_state) state *= 1 + 2e-5f;
  EXPECT_FALSE(check(problem, DataType::float32, expected, result).ok);
}

TEST(Check, TokensOfNoSequenceStayPoisoned) {
  Spec spec;
  spec.shape.batch = 1;
  spec.shape.seq_len = 4;
  spec.shape.heads = 1;
  spec.cu_seqlens = {0, 2, 3};
  const auto problem = make_problem<Default>(spec);
  const Expected expected = expect(problem);
  Result result = rounded(expected);
  EXPECT_FALSE(check(problem, DataType::float32, expected, result).ok);
  const unsigned char poison[4] = {0xff, 0xff, 0xff, 0xff};
  for (std::size_t i = 6; i < 8; ++i) result.o[i] = decode_float(DataType::float32, poison);
  EXPECT_TRUE(check(problem, DataType::float32, expected, result).ok);
}

TEST(Generator, NormalisesKeysUnderTheDeltaRuleAlone) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = 3;
  spec.shape.heads = 2;
  const auto length = [](const auto& problem) {
    double square = 0;
    for (std::int64_t c = 0; c < 3; ++c)
      square += std::pow(problem.value(problem.k, {1, 2, 1, c}), 2);
    return std::sqrt(square);
  };
  EXPECT_NEAR(length(make_problem<Delta>(spec)), 1, 1e-6);
  EXPECT_GT(std::fabs(length(make_problem<Default>(spec)) - 1), 1e-3);
  spec.qk_l2norm = true;
  EXPECT_GT(std::fabs(length(make_problem<Delta>(spec)) - 1), 1e-3);
}

TEST(Generator, LayoutsGiveEachElementItsPlace) {
  Layout padded;
  padded.offset = 1;
  padded.channel_padding = 3;
  padded.head_padding = 2;
  padded.batch_padding = 5;
  Layout outside = padded;
  outside.heads_outside_time = true;
  Layout inside = padded;
  inside.batch_inside_time = true;
  Layout reversed = padded;
  reversed.reversed_time = true;
  for (const Layout& layout : {Layout{}, padded, outside, inside, reversed}) {
    Tensor tensor = detail::tensor_of(DataType::bfloat16, 2, 5, 3, 4);
    const std::int64_t size = place(tensor, layout);
    std::set<std::int64_t> places;
    tensor.for_each([&](const Index&, std::int64_t byte) {
      EXPECT_GE(byte, Storage::front_guard + 2 * layout.offset);
      EXPECT_LE(byte + 2, Storage::front_guard + 2 * size);
      places.insert(byte);
    });
    EXPECT_EQ(static_cast<std::int64_t>(places.size()), tensor.count()) << layout.describe();
    EXPECT_EQ(tensor.contiguous, layout.describe().empty());
  }
}

TEST(Generator, PaddingsBecomeStrides) {
  Layout layout;
  layout.offset = 1;
  layout.channel_padding = 3;
  layout.head_padding = 2;
  layout.batch_padding = 5;
  Tensor tensor = detail::tensor_of(DataType::float32, 2, 5, 3, 4);
  EXPECT_EQ(place(tensor, layout), 1 + 2 * (5 * 23 + 5));
  EXPECT_EQ(tensor.strides.head, 4 + 3);
  EXPECT_EQ(tensor.strides.time, 3 * 7 + 2);
  EXPECT_EQ(tensor.strides.batch, 5 * 23 + 5);
  layout.reversed_time = true;
  place(tensor, layout);
  EXPECT_EQ(tensor.strides.time, -23);
  EXPECT_EQ(tensor.offset, 1 + 4 * 23);
}

TEST(Generator, GapsArePoisonAndSlicesAreViews) {
  Spec spec;
  spec.shape.batch = 2;
  spec.shape.seq_len = 6;
  spec.shape.heads = 2;
  spec.q.channel_padding = 1;
  const auto problem = make_problem<Default>(spec);
  const std::int64_t gap = problem.q.byte_of({0, 0, 0, 2}) + 4;
  EXPECT_TRUE(std::isnan(decode(DataType::float32, problem.byte(problem.q.storage, gap))));
  EXPECT_TRUE(std::isnan(problem.value(problem.o, {1, 5, 1, 1})));

  const auto whole = expect(problem);
  const auto row = expect(problem.batch_slice(1));
  EXPECT_EQ(row.o, std::vector<double>(whole.o.begin() + 24, whole.o.end()));
  const auto slice = problem.time_slice(2, 5);
  EXPECT_EQ(slice.value(slice.v, {1, 0, 1, 1}), problem.value(problem.v, {1, 2, 1, 1}));
  EXPECT_EQ(slice.host_args().shape.seq_len, 3);
}

}  // namespace
