// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A sweep's shapes as they are asked for, and tunings as they are printed: in a line, as JSON, and
/// as a policy to be compiled.

#include "bench/support/candidates.hpp"

#include <cstdint>
#include <cstdio>
#include <optional>

namespace gdr::bench {

/// B x T x H, cut by cu_seqlens into `sequences` equal ones where that is not 0.
struct TuneShape {
  int64_t batch = 0;
  int64_t seq_len = 0;
  int64_t heads = 0;
  int64_t sequences = 0;

  std::string text() const {
    std::string shape =
        std::to_string(batch) + "x" + std::to_string(seq_len) + "x" + std::to_string(heads);
    if (sequences > 0) shape += "-in-" + std::to_string(sequences);
    return shape;
  }
};

/// "8x2048x16", or "1x65536x16-in-4096" as in the rows' names.
inline std::optional<TuneShape> parse_shape(const std::string& text) {
  long long batch = 0, seq_len = 0, heads = 0, sequences = 0;
  int whole = -1, cut = -1;
  std::sscanf(text.c_str(), "%9lldx%9lldx%9lld%n-in-%9lld%n", &batch, &seq_len, &heads, &whole,
              &sequences, &cut);
  const auto length = static_cast<int>(text.size());
  if (batch < 1 || seq_len < 1 || heads < 1) return std::nullopt;
  // cu_seqlens cuts the one row of a batch of 1.
  const bool is_cut = cut == length && batch == 1 && sequences >= 1 && seq_len % sequences == 0;
  if (whole != length && !is_cut) return std::nullopt;
  return TuneShape{batch, seq_len, heads, sequences};
}

/// "lanes 8, rows 16, ..."
inline std::string line_of(const TuningMembers& members) {
  std::string text;
  for (const auto& [name, value] : members) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(value);
  }
  return text;
}

/// {"lanes": 8, "rows": 16, ...}
inline std::string json_of(const TuningMembers& members) {
  std::string text;
  for (const auto& [name, value] : members) {
    text += (text.empty() ? "\"" : ", \"") + std::string(name) + "\": " + std::to_string(value);
  }
  return "{" + text + "}";
}

/// A policy as C++. `base`: what it takes its other members from, "" for none.
template <class Form>
std::string code_of(const TuningMembers& members, const std::string& base = "") {
  std::string text = "struct TunedPolicy" + (base.empty() ? "" : " : " + base) +
                     " {\n  static constexpr " + Form::tuning_type + " " + Form::name + " = {\n";
  for (const auto& [name, value] : members) {
    text += "      " + std::to_string(value) + ",  // " + name + "\n";
  }
  return text + "  };\n};\n";
}

}  // namespace gdr::bench
