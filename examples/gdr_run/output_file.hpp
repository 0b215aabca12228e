// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// A file that appears whole or not at all: it is written beside its place and then renamed.

#include "examples/gdr_run/npy.hpp"

#include <unistd.h>

#include <cstdio>

namespace npy {

/// Throws std::runtime_error("<path>: <reason>") where a file of that name could not be made. For a
/// program to ask before it computes.
inline void require_writable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder, error)) {
    throw std::runtime_error(path + ": there is no folder " + folder.string());
  }
  // A rename would put a plain file in the place of a device.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    throw std::runtime_error(path + ": it exists and is no regular file");
  }
  if (access(folder.c_str(), W_OK) != 0) {
    throw std::runtime_error(path + ": the folder " + folder.string() + " cannot be written to");
  }
}

class OutputFile {
 public:
  /// A .npy file of `count` elements of the given type and shape; under its name only by commit().
  OutputFile(const std::string& path, const std::string& type, const std::vector<int64_t>& shape,
             const void* elements)
      : path_(path), temporary_(path + ".part" + std::to_string(getpid())) {
    require_writable(path);
    std::FILE* file = std::fopen(temporary_.c_str(), "wbx");
    if (file == nullptr) throw std::runtime_error(path + ": " + temporary_ + " cannot be made");
    const std::string header = header_of(type, shape);
    const size_t bytes = detail::data_bytes(shape, find_type(type)->size);
    const bool written = std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
                         std::fwrite(elements, 1, bytes, file) == bytes;
    const bool closed = std::fclose(file) == 0;  // a full disk may show only here
    if (!written || !closed) {
      discard();
      throw std::runtime_error(path + ": it cannot be written; is the disk full?");
    }
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { discard(); }

  /// Takes the place of what had the name before.
  void commit() {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      throw std::runtime_error(path_ + ": the file cannot be renamed to it");
    }
    temporary_.clear();
  }

 private:
  void discard() {
    if (!temporary_.empty()) static_cast<void>(std::remove(temporary_.c_str()));
    temporary_.clear();
  }

  std::string path_;
  std::string temporary_;  // empty: there is none
};

}  // namespace npy
