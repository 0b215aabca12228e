// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// .npy files as gdr_run reads and writes them, and its bar.

#include "examples/gdr_run/output_file.hpp"
#include "examples/gdr_run/progress_bar.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace {

namespace fs = std::filesystem;

/// A file of its own for each test.
class Npy : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gdr_npy.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path() const { return (folder_ / "x.npy").string(); }

  /// A file with the given header, version 1 or 2, and two float32.
  npy::Array read_with(const std::string& header, char version = 1) const {
    const char length[] = {static_cast<char>(header.size()), 0, 0, 0};
    std::ofstream(path(), std::ios::binary)
        << std::string("\x93NUMPY") << version << '\0' << std::string(length, version == 1 ? 2 : 4)
        << header << std::string(8, '\0');
    return npy::read(path());
  }
  void expect_refused(const std::string& header, const std::string& reason) const {
    try {
      read_with(header);
      ADD_FAILURE() << header << " is read";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), path() + ": " + reason) << header;
    }
  }

  fs::path folder_;
};

TEST_F(Npy, ReadsWhatItWrites) {
  const std::vector<double> values = {1, -2.5, 1e300};
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{3}, {1, 3}, {3, 1, 1, 1}, {0, 7}, {}}) {
    npy::OutputFile(path(), "<f8", shape, values.data()).commit();
    const npy::Array array = npy::read(path());
    EXPECT_EQ(array.type, "<f8");
    EXPECT_EQ(array.shape, shape);
    const size_t count = shape.empty() ? 1 : shape[0] == 0 ? 0 : 3;
    EXPECT_EQ(array.as<double>(), std::vector<double>(values.begin(), values.begin() + count));
    EXPECT_THROW(array.as<float>(), std::runtime_error);
  }
  const std::vector<int64_t> integers = {0, 5, INT64_MAX};
  npy::OutputFile(path(), "<i8", {3}, integers.data()).commit();
  EXPECT_EQ(npy::read(path()).as<int64_t>(), integers);
}

TEST_F(Npy, AlignsTheElementsAsNumpyDoes) {
  for (int64_t extent = 1; extent < int64_t{1} << 40; extent *= 10) {
    const std::string header = npy::header_of("<f4", {extent, 1, extent});
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.back(), '\n');
  }
}

TEST_F(Npy, ReadsEveryFormOfHeader) {
  const std::vector<int64_t> two = {2};
  EXPECT_EQ(read_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   \n").shape, two);
  EXPECT_EQ(read_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 2).shape, two);
  EXPECT_EQ(read_with("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f4\"}").shape, two);
  EXPECT_EQ(read_with("{ 'shape' : ( 1 , 2 ) , 'fortran_order' : False, 'descr' : '<f4' }").shape,
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(read_with("{'descr': '<f8', 'fortran_order': False, 'shape': ()}").count(), 1u);
}

TEST_F(Npy, RefusesEveryOtherHeader) {
  const std::string broken = "its header is not NumPy's";
  for (const char* header :
       {"", "{", "{}", "not a header", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } rest",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999,)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}"}) {
    expect_refused(header, broken);
  }
  expect_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
                 "it holds records and not numbers");
  expect_refused("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}",
                 "it is in Fortran order; save numpy.ascontiguousarray(x)");
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
                 "it is cut short: 8 bytes of data, and [3] of float32 is 12");
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
                 "it is too long: 8 bytes of data, and [1] of float32 is 4");
  for (const char* type : {">f4", "|b1", "<c8", "|O", "<f16"}) {
    expect_refused(std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (2,)}",
                   std::string("it holds elements '") + type +
                       "'; read are float16, float32, float64, int32 and int64 in little endian");
  }
}

TEST_F(Npy, DoesNotBelieveAShapeThatNoFileHolds) {
  const std::string huge = "100000000000000000";
  EXPECT_THROW(
      read_with("{'descr': '<f4', 'fortran_order': False, 'shape': (" + huge + ", " + huge + ")}"),
      std::runtime_error);
}

TEST_F(Npy, AFileAppearsWholeOrNotAtAll) {
  const float value = 1;
  std::ofstream(path()) << "before";
  const auto content = [this] {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  };
  {
    const npy::OutputFile never_committed(path(), "<f4", {1}, &value);
    EXPECT_EQ(content(), "before");
  }
  EXPECT_EQ(content(), "before");
  npy::OutputFile(path(), "<f4", {1}, &value).commit();
  EXPECT_EQ(npy::read(path()).as<float>(), std::vector<float>{1});
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST(ProgressBar, IsAsLongAsItsShare) {
  using gdr_run::bar_text;
  const std::string ten(10, '#'), thirty(30, '-');
  EXPECT_EQ(bar_text("work", 1, 4), "work [" + ten + thirty + "]  25 %");
  EXPECT_EQ(bar_text("work", 4, 4), "work [" + std::string(40, '#') + "] 100 %");
  EXPECT_EQ(bar_text("work", 0, 0), "work [" + std::string(40, '#') + "] 100 %");
}

TEST(ProgressBar, IsSilentWhereThereIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    gdr_run::ProgressBar bar(file, "work", 3);
    for (int i = 0; i < 3; ++i) bar.advance();
  }
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
