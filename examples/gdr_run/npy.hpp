// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Reads NumPy's .npy files: C order, little endian, floats and integers. What is wrong with a file
/// is told by an exception that names it. output_file.hpp writes.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace npy {

/// The element types that are read, as the header spells them.
struct Type {
  const char* code;
  const char* name;
  size_t size;
};
inline constexpr Type types[] = {{"<f2", "float16", 2},
                                 {"<f4", "float32", 4},
                                 {"<f8", "float64", 8},
                                 {"<i4", "int32", 4},
                                 {"<i8", "int64", 8}};

inline const Type* find_type(const std::string& code) {
  for (const Type& type : types) {
    if (code == type.code) return &type;
  }
  return nullptr;
}

struct Array {
  std::string type;            // a code of `types`
  std::vector<int64_t> shape;  // empty for a scalar
  std::vector<char> bytes;

  size_t count() const { return bytes.size() / find_type(type)->size; }
  std::string type_name() const { return find_type(type)->name; }

  /// The elements; T is the type in the file.
  template <class T>
  std::vector<T> as() const {
    if (type != code_of(T{})) throw std::runtime_error("the file holds " + type_name());
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  static const char* code_of(float) { return "<f4"; }
  static const char* code_of(double) { return "<f8"; }
  static const char* code_of(int32_t) { return "<i4"; }
  static const char* code_of(int64_t) { return "<i8"; }
};

/// "[2, 128, 4, 24]".
inline std::string text_of(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  }
  return text + "]";
}

namespace detail {

/// The header: a Python dictionary of three entries, in any order.
class Header {
 public:
  std::string type;
  bool fortran_order = false;
  std::vector<int64_t> shape;

  explicit Header(const std::string& text) : text_(text) {
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        has_type = true;
        type = accept('[') ? structured() : quoted();
      } else if (key == "fortran_order") {
        has_order = true;
        fortran_order = boolean();
      } else if (key == "shape") {
        has_shape = true;
        shape = tuple();
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size() || !has_type || !has_order || !has_shape) fail();
  }

 private:
  [[noreturn]] static void fail() { throw std::runtime_error("its header is not NumPy's"); }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \n", at_), text_.size()); }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  std::string quoted() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = text_.find(quote, at_);
    if (end == std::string::npos) fail();
    const std::string inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }
  bool boolean() {
    skip_space();
    for (const char* word : {"True", "False"}) {
      if (text_.compare(at_, std::strlen(word), word) != 0) continue;
      at_ += std::strlen(word);
      return word[0] == 'T';
    }
    fail();
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> extents;
    expect('(');
    while (!accept(')')) {
      skip_space();
      const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
      if (end == at_ || end - at_ > 18) fail();  // 18 digits fit an int64_t
      extents.push_back(std::stoll(text_.substr(at_, end - at_)));
      at_ = end;
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }
  [[noreturn]] static std::string structured() {
    throw std::runtime_error("it holds records and not numbers");
  }

  const std::string& text_;
  size_t at_ = 0;
};

/// Bytes that follow the header; as many as no file has where that overflows.
inline uint64_t data_bytes(const std::vector<int64_t>& shape, size_t element_size) {
  uint64_t bytes = element_size;
  for (const int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  for (const int64_t extent : shape) {
    const uint64_t factor = static_cast<uint64_t>(extent);
    if (bytes > std::numeric_limits<uint64_t>::max() / factor) return UINT64_MAX;
    bytes *= factor;
  }
  return bytes;
}

inline std::string read_bytes(std::istream& file, size_t count) {
  std::string bytes(count, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  if (static_cast<size_t>(file.gcount()) != count) {
    throw std::runtime_error("it is cut short within its header");
  }
  return bytes;
}

/// Magic, a byte each of major and minor version, the header's length: 16 bits in version 1, 32 in
/// versions 2 and 3.
inline Header read_header(std::istream& file) {
  const std::string magic("\x93NUMPY", 6);
  std::string start(magic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start != magic) throw std::runtime_error("it is no .npy file");
  const int version = read_bytes(file, 2)[0];
  if (version < 1 || version > 3) {
    throw std::runtime_error("it is of the unknown .npy version " + std::to_string(version));
  }
  const std::string length_bytes = read_bytes(file, version == 1 ? 2 : 4);
  uint32_t length = 0;
  std::memcpy(&length, length_bytes.data(), length_bytes.size());
  if (length > 1 << 20) throw std::runtime_error("its header is not NumPy's");
  return Header(read_bytes(file, length));
}

inline Array read(std::ifstream& file, uint64_t file_size) {
  Header header = read_header(file);
  const Type* type = find_type(header.type);
  if (type == nullptr) {
    throw std::runtime_error("it holds elements '" + header.type +
                             "'; read are float16, float32, float64, int32 and int64 in little "
                             "endian");
  }
  if (header.fortran_order) {
    throw std::runtime_error("it is in Fortran order; save numpy.ascontiguousarray(x)");
  }
  // Compared before anything is allocated: the shape of a damaged file may be any.
  const uint64_t due = data_bytes(header.shape, type->size);
  const uint64_t there = file_size - static_cast<uint64_t>(file.tellg());
  if (there != due) {
    throw std::runtime_error((there < due ? "it is cut short: " : "it is too long: ") +
                             std::to_string(there) + " bytes of data, and " +
                             text_of(header.shape) + " of " + type->name + " is " +
                             std::to_string(due));
  }
  Array array;
  array.type = header.type;
  array.shape = std::move(header.shape);
  array.bytes.resize(due);
  file.read(array.bytes.data(), static_cast<std::streamsize>(due));
  if (static_cast<uint64_t>(file.gcount()) != due) throw std::runtime_error("it cannot be read");
  return array;
}

}  // namespace detail

/// Throws std::runtime_error("<path>: <reason>").
inline Array read(const std::string& path) {
  try {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) throw std::runtime_error("there is no such file");
    const uint64_t size = std::filesystem::file_size(path, error);
    if (error || !std::filesystem::is_regular_file(path)) {
      throw std::runtime_error("it is no regular file");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("it cannot be opened");
    return detail::read(file, size);
  } catch (const std::exception& reason) {
    throw std::runtime_error(path + ": " + reason.what());
  }
}

/// What stands before the elements in a file: its length is a multiple of 64 bytes.
inline std::string header_of(const std::string& type, const std::vector<int64_t>& shape) {
  std::string tuple = "(";
  for (const int64_t extent : shape) tuple += std::to_string(extent) + ",";
  std::string text = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + tuple + "), }";
  constexpr size_t prefix = 10;  // magic, version, length
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  const std::string length = {static_cast<char>(text.size() & 0xff),
                              static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + text;
}

}  // namespace npy
