// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Two records of gdr_bench side by side. Needs no GPU.

#include "bench/support/json.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <ostream>

namespace gdr::bench {

struct RecordedRow {
  std::string name;
  double us = 0;
};

struct Record {
  std::string path;
  std::string source;  // GPU, commit and date
  std::string gpu;
  std::vector<RecordedRow> rows;

  const RecordedRow* find(const std::string& name) const {
    for (const RecordedRow& row : rows) {
      if (row.name == name) return &row;
    }
    return nullptr;
  }
};

inline bool is_form(const std::string& part) {
  return part == "automatic" || part == "recurrent" || part == "chunked" ||
         part == "chunked_split" || part == "by_length";
}

/// The name without what Google Benchmark appends to it: "manual_time", "iterations:1" and such. A
/// row of the library without a form, as recorded while there was one alone, gets that one's.
inline std::string row_name(const std::string& run_name) {
  std::string name;
  bool has_form = run_name.rfind("forward/", 0) != 0;
  for (size_t begin = 0; begin <= run_name.size();) {
    const size_t end = std::min(run_name.find('/', begin), run_name.size());
    const std::string part = run_name.substr(begin, end - begin);
    if (part != "manual_time" && part.find(':') == std::string::npos) {
      name += (name.empty() ? "" : "/") + part;
      has_form = has_form || is_form(part);
    }
    begin = end + 1;
  }
  return has_form ? name : name + "/recurrent";
}

/// A file that --benchmark_out wrote. Failed rows are left out; of a repeated one the median
/// counts, or the first where no median was written.
inline Record read_record(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto parse = [&] {
    try {
      return Json::parse(text);
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ": " + error.what());
    }
  };
  const Json json = parse();
  if (json["benchmarks"].kind() != Json::Kind::array) {
    throw std::runtime_error(path + ": not a record of gdr_bench: it has no benchmarks");
  }
  Record record;
  record.path = path;
  const Json& context = json["context"];
  record.gpu = context["gpu"].string();
  record.source =
      record.gpu + ", commit " + context["commit"].string() + ", " + context["date"].string();
  for (const Json& entry : json["benchmarks"].items()) {
    const bool aggregate = entry["run_type"].string() == "aggregate";
    if (entry["error_occurred"].is_true()) continue;
    if (aggregate && entry["aggregate_name"].string() != "median") continue;
    const std::string unit = entry["time_unit"].string();
    const double scale = unit == "ns" ? 1e-3 : unit == "ms" ? 1e3 : unit == "s" ? 1e6 : 1.0;
    const RecordedRow row{row_name(entry["run_name"].string()),
                          entry["real_time"].number() * scale};
    const auto same = std::find_if(record.rows.begin(), record.rows.end(),
                                   [&](const RecordedRow& r) { return r.name == row.name; });
    if (same == record.rows.end()) {
      record.rows.push_back(row);
    } else if (aggregate) {
      *same = row;
    }
  }
  return record;
}

/// The rows of both with their times and the second as a part of the first, then the others.
inline void compare(const Record& a, const Record& b, std::ostream& out) {
  out << "A: " << a.path << ": " << a.source << "\nB: " << b.path << ": " << b.source << "\n";
  if (a.gpu != b.gpu) out << "The GPUs differ.\n";
  size_t width = 14;  // of "geometric mean"
  for (const RecordedRow& row : a.rows) {
    if (b.find(row.name) != nullptr) width = std::max(width, row.name.size());
  }
  const auto line = [&](const std::string& name, const char* format, auto... values) {
    char numbers[96] = "";
    std::snprintf(numbers, sizeof(numbers), format, values...);
    out << name << std::string(width - name.size(), ' ') << numbers << "\n";
  };
  line("row", "  %10s  %10s  %7s", "A us", "B us", "B / A");
  int shared = 0;
  double sum_of_logarithms = 0;
  for (const RecordedRow& row : a.rows) {
    const RecordedRow* const other = b.find(row.name);
    if (other == nullptr) continue;
    line(row.name, "  %10.2f  %10.2f  %7.3f", row.us, other->us, other->us / row.us);
    sum_of_logarithms += std::log(other->us / row.us);
    ++shared;
  }
  if (shared == 0) {
    out << "no row is in both\n";
  } else {
    line("geometric mean", "  %10s  %10s  %7.3f", "", "", std::exp(sum_of_logarithms / shared));
  }
  const auto list_others = [&](const char* which, const Record& record, const Record& other) {
    for (const RecordedRow& row : record.rows) {
      if (other.find(row.name) == nullptr) out << "only in " << which << ": " << row.name << "\n";
    }
  };
  list_others("A", a, b);
  list_others("B", b, a);
}

}  // namespace gdr::bench
