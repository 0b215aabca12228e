// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A bar on a terminal; silent where the stream goes anywhere else.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

namespace gdr_run {

/// "reference [##########----------]  50 %"
inline std::string bar_text(const std::string& what, int64_t done, int64_t total) {
  constexpr int width = 40;
  const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
  const int marks = static_cast<int>(share * width);
  char percent[8];
  std::snprintf(percent, sizeof(percent), "%3d %%", static_cast<int>(share * 100));
  return what + " [" + std::string(static_cast<size_t>(marks), '#') +
         std::string(static_cast<size_t>(width - marks), '-') + "] " + percent;
}

class ProgressBar {
 public:
  ProgressBar(std::FILE* out, const std::string& what, int64_t total)
      : out_(out), what_(what), total_(total), visible_(isatty(fileno(out)) != 0) {
    draw();
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Takes the bar off the terminal.
  ~ProgressBar() {
    if (visible_) std::fprintf(out_, "\r\033[K");
  }

  /// One more of `total` is done.
  void advance() {
    if (++done_ < next_) return;
    draw();
  }

 private:
  void draw() {
    next_ = done_ + std::max<int64_t>(1, total_ / 200);
    if (!visible_) return;
    std::fprintf(out_, "\r%s", bar_text(what_, done_, total_).c_str());
    std::fflush(out_);
  }

  std::FILE* out_;
  std::string what_;
  int64_t total_;
  int64_t done_ = 0;
  int64_t next_ = 0;  // is drawn again when so many are done
  bool visible_;
};

}  // namespace gdr_run
