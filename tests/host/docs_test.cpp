// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Every line of C++ in these pages is a line of an example or a test, so that it compiles.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

const fs::path root = fs::path(GDR_GOLDEN_DIR).parent_path().parent_path();

/// The line without its indentation and without a comment at its end.
std::string code_of(std::string line) {
  line.erase(0, line.find_first_not_of(' '));
  line.erase(std::min(line.find("//"), line.size()));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::set<std::string> compiled_lines() {
  const std::set<std::string> sources{".cpp", ".cu", ".hpp", ".cuh"};
  std::set<std::string> lines;
  for (const char* folder : {"examples", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (sources.count(entry.path().extension().string()) == 0) continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) lines.insert(code_of(line));
    }
  }
  return lines;
}

TEST(Docs, EveryLineOfCodeIsCompiled) {
  const std::set<std::string> compiled = compiled_lines();
  for (const char* page : {"gates.md", "layers.md"}) {
    std::ifstream file(root / "docs" / page);
    bool inside = false;
    int lines = 0;
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("```", 0) == 0) {
        inside = line == "```cpp";
      } else if (inside) {
        EXPECT_EQ(compiled.count(code_of(line)), 1u) << page << ": " << line;
        ++lines;
      }
    }
    EXPECT_GT(lines, 0) << page;
  }
}

}  // namespace
