// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// As much of JSON as reading and writing records takes.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gdr::bench {

/// A string as JSON writes it.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8] = "";
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// A finite number as JSON writes it.
inline std::string number_text(double value) {
  char digits[40] = "";
  std::snprintf(digits, sizeof(digits), "%.10g", value);
  return digits;
}

/// A value that was read. What it is not is empty in it: a lookup that fails gives an empty value.
class Json {
 public:
  enum class Kind { empty, boolean, number, string, array, object };

  /// Throws std::runtime_error where the text is not JSON.
  static Json parse(const std::string& text) {
    const char* at = text.c_str();
    const char* const end = at + text.size();
    Json value = parse_value(at, 0);
    skip_space(at);
    if (at != end) fail("something follows the value");
    return value;
  }

  Kind kind() const { return kind_; }
  bool is_true() const { return kind_ == Kind::boolean && number_ != 0; }
  double number() const { return number_; }
  const std::string& string() const { return string_; }
  const std::vector<Json>& items() const { return items_; }  // of an array, or an object's values

  const Json& operator[](const std::string& key) const {
    static const Json none;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] == key) return items_[i];
    }
    return none;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw std::runtime_error(std::string("not JSON: ") + what);
  }
  static void skip_space(const char*& at) {
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') ++at;
  }
  static bool take(const char*& at, const char* word) {
    const char* p = at;
    for (; *word != '\0'; ++word, ++p) {
      if (*p != *word) return false;
    }
    at = p;
    return true;
  }

  static Json parse_value(const char*& at, int depth) {
    if (depth > 64) fail("it is nested too deeply");
    skip_space(at);
    Json value;
    if (*at == '{' || *at == '[') {
      parse_items(at, depth, value);
    } else if (*at == '"') {
      value.kind_ = Kind::string;
      value.string_ = parse_string(at);
    } else if (take(at, "null")) {
      return value;
    } else if (take(at, "true") || take(at, "false")) {
      value.kind_ = Kind::boolean;
      value.number_ = at[-2] == 'u' ? 1 : 0;  // tr-u-e
    } else {
      // strtod takes NaN and Infinity too, which Google Benchmark writes.
      char* end = nullptr;
      value.kind_ = Kind::number;
      value.number_ = std::strtod(at, &end);
      if (end == at) fail("a value is missing");
      at = end;
    }
    return value;
  }

  static void parse_items(const char*& at, int depth, Json& value) {
    const bool is_object = *at++ == '{';
    const char close = is_object ? '}' : ']';
    value.kind_ = is_object ? Kind::object : Kind::array;
    skip_space(at);
    if (*at == close) {
      ++at;
      return;
    }
    while (true) {
      if (is_object) {
        skip_space(at);
        if (*at != '"') fail("a key is missing");
        value.keys_.push_back(parse_string(at));
        skip_space(at);
        if (*at++ != ':') fail("a colon is missing");
      }
      value.items_.push_back(parse_value(at, depth + 1));
      skip_space(at);
      const char next = *at;
      if (next != ',' && next != close) fail("a list is not closed");
      ++at;
      if (next == close) return;
    }
  }

  static std::string parse_string(const char*& at) {
    std::string out;
    for (++at; *at != '"'; ++at) {
      if (*at == '\0') fail("a string is not closed");
      if (*at != '\\') {
        out += *at;
        continue;
      }
      switch (*++at) {
        case 'n':
          out += '\n';
          break;
        case 't':
          out += '\t';
          break;
        case 'r':
          out += '\r';
          break;
        case 'b':
          out += '\b';
          break;
        case 'f':
          out += '\f';
          break;
        case 'u':
          append_code_point(at, out);
          break;
        case '"':
        case '\\':
        case '/':
          out += *at;
          break;
        default:
          fail("an escape is unknown");
      }
    }
    ++at;
    return out;
  }

  /// \uXXXX as UTF-8. `at` is left on the last digit. Halves of pairs stay what they are: names of
  /// rows and devices have none.
  static void append_code_point(const char*& at, std::string& out) {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = *++at;
      const bool digit = c >= '0' && c <= '9';
      const char lower = static_cast<char>(c | 0x20);
      if (!digit && !(lower >= 'a' && lower <= 'f')) fail("an escape is cut short");
      code = 16 * code + static_cast<unsigned>(digit ? c - '0' : lower - 'a' + 10);
    }
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | (code >> 6));
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      out += static_cast<char>(0xe0 | (code >> 12));
      out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  Kind kind_ = Kind::empty;
  double number_ = 0;
  std::string string_;
  std::vector<std::string> keys_;
  std::vector<Json> items_;
};

}  // namespace gdr::bench
