// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The sweep's lists and texts.

#include "bench/support/json.hpp"
#include "bench/support/tuning_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace gdr::bench;
using gdr::ChunkedTuning;
using gdr::RecurrentTraits;
using gdr::RecurrentTuning;

// What a sweep prints for the tuning below, compiled.
struct TunedPolicy {
  static constexpr gdr::RecurrentTuning recurrent = {
      8,   // lanes
      16,  // rows
      4,   // columns_per_thread
      2,   // step_warps
      6,   // stage_warps
      32,  // tokens_per_tile
      1,   // tokens_in_flight
      3,   // blocks_per_sm
  };
};

TEST(Candidates, AreEnoughAndValidForEveryLayer) {
  for (int key_dim = 1; key_dim <= 256; key_dim += key_dim < 36 ? 1 : 7) {
    for (int value_dim : {1, 8, 24, 33, 64, 100, 128, 256}) {
      for (int bits = 0; bits < 32; ++bits) {
        const RecurrentTraits layer{key_dim,         value_dim,       (bits & 1) != 0,
                                    (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0,
                                    (bits & 16) != 0};
        const RecurrentList list = recurrent_candidates(layer);
        ASSERT_GE(list.count, min_candidates) << key_dim << " " << value_dim << " " << bits;
        ASSERT_EQ(list.dropped, 0);
        const gdr::RecurrentTunings shipped = gdr::select_recurrent_tunings(layer);
        for (const RecurrentTuning& t : {shipped.standard, shipped.small_grid, shipped.compact}) {
          ASSERT_TRUE(list.has(t)) << key_dim << " " << value_dim << " " << bits;
        }
        for (int i = 0; i < list.count; ++i) {
          ASSERT_TRUE(is_valid(list.items[i], layer));
          for (int j = 0; j < i; ++j) ASSERT_FALSE(list.items[i] == list.items[j]);
        }
      }
    }
  }
}

TEST(Candidates, ARuleBrokenIsNotValid) {
  const RecurrentTraits layer{128, 128, false, false, false, false, false};
  const RecurrentTuning good = gdr::select_recurrent_tunings(layer).standard;
  ASSERT_TRUE(is_valid(good, layer));
  const auto valid_with = [&](int RecurrentTuning::*member, int value) {
    RecurrentTuning t = good;
    t.*member = value;
    return is_valid(t, layer);
  };
  EXPECT_FALSE(valid_with(&RecurrentTuning::lanes, 12));
  EXPECT_FALSE(valid_with(&RecurrentTuning::rows, good.rows - 1));
  EXPECT_FALSE(valid_with(&RecurrentTuning::columns_per_thread, 16));
  EXPECT_FALSE(valid_with(&RecurrentTuning::step_warps, 32));
  EXPECT_FALSE(valid_with(&RecurrentTuning::stage_warps, 3));
  EXPECT_FALSE(valid_with(&RecurrentTuning::tokens_in_flight, 3));
  EXPECT_FALSE(valid_with(&RecurrentTuning::tokens_per_tile, 1024));
}

/// Whether a layer has enough candidates, all valid, and the shipped tunings among them.
template <class Layer>
void check_chunked_candidates() {
  const ChunkedLayer layer = ChunkedForm::layer<Layer>;
  const std::string name = std::to_string(layer.key_dim) + " " + std::to_string(layer.value_dim) +
                           (layer.key_gate ? " key gate" : "");
  constexpr auto& list = ChunkedForm::candidates<Layer>;
  ChunkedTuning t = gdr::DefaultPolicy<Layer>::chunked;
  EXPECT_TRUE(list.has(t)) << name;
  EXPECT_TRUE(list.has(gdr::DefaultPolicy<Layer>::chunked_compact)) << name;
  int valid = 0;
  for (const int tokens : {16, 32, 64}) {
    for (int prepare_warps = 1; prepare_warps <= 32; ++prepare_warps) {
      for (int state_warps = 1; state_warps <= std::min(8, (layer.value_dim + 15) / 16);
           ++state_warps) {
        t.tokens = tokens;
        t.prepare_warps = prepare_warps;
        t.state_warps = state_warps;
        valid += is_valid(t, layer);
      }
    }
  }
  EXPECT_GE(list.count, std::min(valid, min_candidates)) << name;
  EXPECT_EQ(list.dropped, 0) << name;
  for (int i = 0; i < list.count; ++i) {
    EXPECT_TRUE(is_valid(list.items[i], layer)) << name;
    for (int j = 0; j < i; ++j) EXPECT_FALSE(same(list.items[i], list.items[j])) << name;
  }
}

template <class Element, template <class, class> class Gate>
void check_extents() {
  const auto check = [](auto dims) {
    check_chunked_candidates<gdr::Recurrence<decltype(dims), Element, Gate<gdr::Log, Element>>>();
  };
  check(gdr::HeadDims<1, 1>{});
  check(gdr::HeadDims<24, 24>{});
  check(gdr::HeadDims<48, 160>{});
  check(gdr::HeadDims<64, 64>{});
  check(gdr::HeadDims<80, 8>{});
  check(gdr::HeadDims<128, 128>{});
  check(gdr::HeadDims<129, 33>{});
  check(gdr::HeadDims<192, 96>{});
  check(gdr::HeadDims<256, 256>{});
}

TEST(ChunkedCandidates, AreEnoughAndValidUnderTheValueGate) {
  check_extents<float, gdr::ValueGate>();
  check_extents<gdr::bfloat16, gdr::ValueGate>();
}
TEST(ChunkedCandidates, AreEnoughAndValidUnderTheKeyGate) {
  check_extents<float, gdr::KeyGate>();
  check_extents<gdr::bfloat16, gdr::KeyGate>();
}
TEST(ChunkedCandidates, AreEnoughAndValidUnderTheHeadGate) {
  check_extents<float, gdr::HeadGate>();
  check_extents<gdr::bfloat16, gdr::HeadGate>();
}

TEST(ChunkedCandidates, ARuleBrokenIsNotValid) {
  const auto valid = [](int tokens, int prepare_warps, int state_warps, bool key_gate = false) {
    ChunkedTuning t{};
    t.tokens = tokens;
    t.prepare_warps = prepare_warps;
    t.state_warps = state_warps;
    return is_valid(t, {128, 128, key_gate});
  };
  EXPECT_TRUE(valid(64, 8, 4));
  EXPECT_TRUE(valid(64, 8, 4, true));
  EXPECT_FALSE(valid(40, 8, 4));
  EXPECT_FALSE(valid(64, 8, 0));
  EXPECT_FALSE(valid(16, 1, 4));
  EXPECT_FALSE(valid(64, 12, 8));  // fewer registers left than a state of 128 key channels takes
  EXPECT_FALSE(valid(64, 12, 7));
  EXPECT_FALSE(valid(64, 24, 5));  // too many threads
  EXPECT_TRUE(valid(64, 4, 4));
  EXPECT_FALSE(valid(64, 4, 4, true));  // a thread has one segment
}

TEST(ChunkedCandidates, TheDeltaRuleHasNone) {
  using Layer = gdr::Recurrence<gdr::HeadDim<64>, float, gdr::ValueGate<>, gdr::DeltaRule<>>;
  static_assert(ChunkedForm::candidates<Layer>.count == 0);
}

TEST(ChunkedCandidates, APolicyHasBothForms) {
  using Layer = gdr::Recurrence<gdr::HeadDim<64>, float>;
  using Policy = ChunkedForm::Policy<Layer, 3>;
  EXPECT_TRUE(same(Policy::chunked, ChunkedForm::candidates<Layer>.items[3]));
  EXPECT_TRUE(Policy::recurrent == gdr::DefaultPolicy<Layer>::recurrent);
}

TEST(Candidates, APolicyHasItsTuning) {
  using Layer = gdr::Recurrence<gdr::HeadDim<24>, float>;
  constexpr auto& list = RecurrentForm::candidates<Layer>;
  static_assert(RecurrentForm::Policy<Layer, 5>::recurrent == list.items[5]);
  EXPECT_TRUE(list.items[0] == gdr::DefaultPolicy<Layer>::recurrent);
}

TEST(TuningText, IsCode) {
  EXPECT_EQ(code_of<RecurrentForm>(RecurrentForm::members(TunedPolicy::recurrent)),
            R"(struct TunedPolicy {
  static constexpr gdr::RecurrentTuning recurrent = {
      8,  // lanes
      16,  // rows
      4,  // columns_per_thread
      2,  // step_warps
      6,  // stage_warps
      32,  // tokens_per_tile
      1,  // tokens_in_flight
      3,  // blocks_per_sm
  };
};
)");
}

TEST(TuningText, TakesTheOtherFormFromItsBase) {
  EXPECT_EQ(
      code_of<ChunkedForm>(ChunkedForm::members({32, 8, 4, 227}), "gdr::DefaultPolicy<Layer>"),
      R"(struct TunedPolicy : gdr::DefaultPolicy<Layer> {
  static constexpr gdr::ChunkedTuning chunked = {
      32,  // tokens
      8,  // prepare_warps
      4,  // state_warps
      227,  // shared_kib
      1,  // blocks_per_sm
  };
};
)");
}

TEST(TuningText, IsJsonWithEveryMember) {
  const TuningMembers members = RecurrentForm::members(TunedPolicy::recurrent);
  EXPECT_EQ(members.size() * sizeof(int), sizeof(RecurrentTuning));
  EXPECT_EQ(ChunkedForm::members({}).size() * sizeof(int), sizeof(ChunkedTuning));
  const Json json = Json::parse(json_of(members));
  EXPECT_EQ(json["lanes"].number(), 8);
  EXPECT_EQ(json["blocks_per_sm"].number(), 3);
  EXPECT_EQ(json.items().size(), members.size());
}

TEST(TuningText, Shapes) {
  for (const char* text : {"8x2048x16", "1x1x1", "1x65536x16-in-4096"}) {
    const auto shape = parse_shape(text);
    ASSERT_TRUE(shape) << text;
    EXPECT_EQ(shape->text(), text);
  }
  for (const char* text : {"", "8x2048", "8x2048x16x128", "0x1x1", "-1x2x3", "8x2048x16-in-4",
                           "1x100x1-in-3", "1x8x1-in-0", "8x2048x16 "}) {
    EXPECT_FALSE(parse_shape(text)) << text;
  }
}

TEST(Json, ReadsWhatItWrites) {
  const std::string text = "a \"b\" \\ \n \x01 \xc2\xb5";
  EXPECT_EQ(Json::parse(quoted(text)).string(), text);
  EXPECT_EQ(Json::parse(number_text(0.125)).number(), 0.125);
  EXPECT_EQ(Json::parse(R"("\u00b5\u20ac\/")").string(), "\xc2\xb5\xe2\x82\xac/");
}

TEST(Json, ReadsEveryKind) {
  const Json json =
      Json::parse(R"( {"a": [1, -2.5e3, NaN], "b": {}, "c": true, "d": false, "e": null} )");
  EXPECT_EQ(json["a"].items().size(), 3u);
  EXPECT_EQ(json["a"].items()[1].number(), -2500);
  EXPECT_TRUE(json["a"].items()[2].number() != json["a"].items()[2].number());
  EXPECT_EQ(json["b"].kind(), Json::Kind::object);
  EXPECT_TRUE(json["c"].is_true());
  EXPECT_FALSE(json["d"].is_true());
  EXPECT_EQ(json["e"].kind(), Json::Kind::empty);
  EXPECT_EQ(json["missing"]["too"].string(), "");
}

TEST(Json, RefusesWhatIsNone) {
  for (const char* text : {"", "{", "[1,", "[1 2]", "{\"a\" 1}", "{1: 2}", "\"a", "1 2", "\"\\x\"",
                           "\"\\u12\"", "nul"}) {
    EXPECT_THROW(Json::parse(text), std::runtime_error) << text;
  }
  EXPECT_THROW(Json::parse(std::string(100, '[')), std::runtime_error);
}

}  // namespace
