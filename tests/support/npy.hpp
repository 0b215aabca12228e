// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Reads NumPy's .npy files: C order, little endian, of the three types that the golden cases use.

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace gdr::test {

struct NpyArray {
  std::string type;            // "<f4", "<f8" or "<i4"
  std::vector<int64_t> shape;  // empty for a scalar
  std::vector<char> bytes;

  /// The elements; T is the type in the file.
  template <class T>
  std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (type != type_name(T{})) throw std::runtime_error("the file holds " + type);
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  static const char* type_name(float) { return "<f4"; }
  static const char* type_name(double) { return "<f8"; }
  static const char* type_name(int32_t) { return "<i4"; }
};

/// What follows `'key': ` in the header's dictionary, up to `end`.
inline std::string npy_field(const std::string& header, const std::string& key, char end) {
  const size_t name = header.find("'" + key + "': ");
  if (name == std::string::npos) throw std::runtime_error("no " + key + " in the header");
  const size_t begin = name + key.size() + 4;
  return header.substr(begin, header.find(end, begin) - begin);
}

inline NpyArray read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  const std::vector<char> content(std::istreambuf_iterator<char>(file), {});

  // Magic, two bytes of version, then the header's length: 16 bits in version 1, the only one here.
  if (content.size() < 10 || std::memcmp(content.data(), "\x93NUMPY\x01", 7) != 0)
    throw std::runtime_error(path + " is no .npy file of version 1");
  uint16_t length = 0;
  std::memcpy(&length, content.data() + 8, sizeof(length));
  const size_t begin = 10 + size_t{length};
  if (content.size() < begin) throw std::runtime_error(path + " is cut short");
  const std::string header(content.data() + 10, length);
  if (npy_field(header, "fortran_order", ',') != "False")
    throw std::runtime_error(path + " is not in C order");

  NpyArray array;
  array.type = npy_field(header, "descr", ',').substr(1, 3);
  std::istringstream shape(npy_field(header, "shape", ')').substr(1));
  for (std::string extent; std::getline(shape, extent, ',');)
    if (extent.find_first_not_of(' ') != std::string::npos)
      array.shape.push_back(std::stoll(extent));
  array.bytes.assign(content.data() + begin, content.data() + content.size());

  size_t bytes = array.type == "<f8" ? 8 : 4;
  for (const int64_t extent : array.shape) bytes *= static_cast<size_t>(extent);
  if (array.bytes.size() != bytes) throw std::runtime_error(path + " is not as long as it says");
  return array;
}

}  // namespace gdr::test
