// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// The program gdr_run from files to files: the golden cases, its options, and what is wrong with a
// file. Through the reference, so that no GPU is needed; the last cases run on one.

#include "examples/gdr_run/output_file.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace {

namespace fs = std::filesystem;

const fs::path golden = GDR_GOLDEN_DIR;

std::string content_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

template <class T>
void write_npy(const fs::path& path, const char* type, const std::vector<int64_t>& shape,
               const std::vector<T>& values) {
  npy::OutputFile(path, type, shape, values.data()).commit();
}

std::vector<double> numbers(const fs::path& path) {
  const npy::Array array = npy::read(path);
  if (array.type == "<f8") return array.as<double>();
  const std::vector<float> values = array.as<float>();
  return {values.begin(), values.end()};
}

double relative_error(const std::vector<double>& x, const std::vector<double>& expected) {
  if (x.size() != expected.size()) return HUGE_VAL;
  double difference = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - expected[i]) * (x[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

struct Outcome {
  int code = -1;
  std::string output;
  std::string errors;
};

/// An empty folder for each case.
class GdrRun : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gdr_run.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name) const { return folder_ / name; }

  Outcome run(const std::string& arguments) const {
    const std::string command = "'" GDR_RUN_PROGRAM "' " + arguments + " > " +
                                file("output.txt").string() + " 2> " + file("errors.txt").string();
    const int status = std::system(command.c_str());
    const Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                          content_of(file("output.txt")), content_of(file("errors.txt"))};
    fs::remove(file("output.txt"));
    fs::remove(file("errors.txt"));
    return outcome;
  }

  /// "--name path"
  std::string option(const std::string& name, const fs::path& path) const {
    return " --" + name + " '" + path.string() + "'";
  }
  std::string outputs() const {
    return option("o", file("o.npy")) + option("final-state", file("s.npy"));
  }

  /// The options of a golden case, as case.txt has them.
  std::string golden_case(const std::string& name) const {
    const fs::path from = golden / name;
    std::map<std::string, std::string> entries;
    std::ifstream text(from / "case.txt");
    for (std::string key, value; text >> key >> value;) entries[key] = value;
    std::string options = " --axis " + entries["axis"] + " --space " + entries["space"] +
                          " --rule " + entries["rule"] + " --scale " + entries["scale"];
    for (const char* tensor : {"q", "k", "v"}) {
      options += option(tensor, from / (std::string(tensor) + ".npy"));
    }
    if (entries["axis"] != "none") options += option("gate", from / "gate.npy");
    if (entries["rule"] == "delta") options += option("beta", from / "beta.npy");
    if (entries["initial_state"] != "0") options += option("state", from / "initial_state.npy");
    if (fs::exists(from / "cu_seqlens.npy")) {
      options += option("cu-seqlens", from / "cu_seqlens.npy");
    }
    return options;
  }

  void expect_golden(const std::string& name, const std::string& options, double bound) const {
    const Outcome outcome = run(options + outputs());
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_LE(relative_error(numbers(file("o.npy")), numbers(golden / name / "o.npy")), bound);
    EXPECT_LE(relative_error(numbers(file("s.npy")), numbers(golden / name / "final_state.npy")),
              bound);
    EXPECT_EQ(npy::read(file("o.npy")).shape, npy::read(golden / name / "o.npy").shape);
    EXPECT_EQ(npy::read(file("s.npy")).shape, npy::read(golden / name / "final_state.npy").shape);
  }

  /// The default golden case with one file replaced is refused with the sentence, and the outputs
  /// of an earlier run stay as they are, alone.
  void expect_refused(const std::string& tensor, const fs::path& path,
                      const std::string& sentence) const {
    expect_refused(golden_case("value_linear_default") + option(tensor, path),
                   path.string() + ": " + sentence);
  }
  void expect_refused(const std::string& options, const std::string& sentence) const {
    write_text(file("o.npy"), "of an earlier run");
    const auto count = [this] {
      return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
    };
    const auto files = count();
    const Outcome outcome = run("--device reference" + options + outputs());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.errors.find(sentence), std::string::npos)
        << "wanted: " << sentence << "\ngot: " << outcome.errors;
    EXPECT_TRUE(content_of(file("o.npy")) == "of an earlier run");
    EXPECT_EQ(count(), files);
  }

  fs::path folder_;
};

const char* const golden_cases[] = {"head_linear_odd_gates",
                                    "head_log",
                                    "head_log_delta_gdn",
                                    "key_linear_odd_gates",
                                    "key_log_delta_kda",
                                    "key_log_gla",
                                    "none",
                                    "none_delta",
                                    "value_linear_cu_seqlens",
                                    "value_linear_default",
                                    "value_linear_odd_gates",
                                    "value_log_delta",
                                    "value_log_grouped_state"};

class GdrRunGolden : public GdrRun, public testing::WithParamInterface<const char*> {};

TEST_P(GdrRunGolden, IsRight) {
  expect_golden(GetParam(), "--device reference" + golden_case(GetParam()), 2e-7);
}
INSTANTIATE_TEST_SUITE_P(, GdrRunGolden, testing::ValuesIn(golden_cases),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(GdrRun, TakesAndMakesTransposedStates) {
  const std::string name = "value_log_grouped_state";
  const npy::Array state = npy::read(golden / name / "initial_state.npy");
  const std::vector<float> kv = state.as<float>();
  const size_t K = static_cast<size_t>(state.shape[2]), V = static_cast<size_t>(state.shape[3]);
  const auto transposed = [](const auto& x, size_t rows, size_t columns) {
    auto result = x;
    for (size_t n = 0; n < x.size(); ++n) {
      const size_t first = n / (rows * columns) * rows * columns, i = n % (rows * columns);
      result[first + i % columns * rows + i / columns] = x[n];
    }
    return result;
  };
  write_npy(file("vk.npy"), "<f4", {state.shape[0], state.shape[1], state.shape[3], state.shape[2]},
            transposed(kv, K, V));
  const Outcome outcome = run("--device reference --state-layout vk" + golden_case(name) +
                              option("state", file("vk.npy")) + outputs());
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(npy::read(file("s.npy")).shape[2], state.shape[3]);
  EXPECT_LE(relative_error(transposed(numbers(file("s.npy")), V, K),
                           numbers(golden / name / "final_state.npy")),
            2e-7);
}

TEST_F(GdrRun, ReadsDoubleAndHalfPrecision) {
  const std::string name = "value_linear_default";
  const npy::Array v = npy::read(golden / name / "v.npy");
  const std::vector<float> narrow = v.as<float>();
  write_npy(file("v8.npy"), "<f8", v.shape, std::vector<double>(narrow.begin(), narrow.end()));
  expect_golden(name, "--device reference" + golden_case(name) + option("v", file("v8.npy")), 2e-7);

  // v = 1.5 everywhere, in both types.
  write_npy(file("v2.npy"), "<f2", v.shape, std::vector<uint16_t>(narrow.size(), 0x3e00));
  write_npy(file("v4.npy"), "<f4", v.shape, std::vector<float>(narrow.size(), 1.5f));
  std::string o[2];
  for (const int i : {0, 1}) {
    const Outcome outcome = run("--device reference" + golden_case(name) +
                                option("v", file(i == 0 ? "v2.npy" : "v4.npy")) + outputs());
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    o[i] = content_of(file("o.npy"));
  }
  EXPECT_EQ(o[0], o[1]);
}

TEST_F(GdrRun, RoundsToSixteenBits) {
  const std::string name = "key_log_gla";
  expect_golden(name, "--device reference --compute bfloat16" + golden_case(name), 2e-2);
  const npy::Array o = npy::read(file("o.npy"));
  EXPECT_EQ(o.type, "<f4");
  for (size_t i = 0; i < o.bytes.size(); i += 4) {
    ASSERT_TRUE(o.bytes[i] == 0 && o.bytes[i + 1] == 0) << "o is not rounded to bfloat16";
  }
  const Outcome outcome =
      run("--device reference --compute float16" + golden_case(name) + outputs());
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(npy::read(file("o.npy")).type, "<f2");
}

TEST_F(GdrRun, PrintsWhatWasDone) {
  const Outcome outcome =
      run("--device reference --check" + golden_case("value_linear_default") + outputs());
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "") << "the bar belongs on a terminal";
  for (const char* text :
       {"layer      float32, K 24, V 24, gate value linear, rule outer_product",
        "shape      B 1, T 128, Hk 2, Hv 2, K 24, V 24, N 1", "algorithm  reference", "time ",
        "in o against the reference", "in the final state against the reference", "good"}) {
    EXPECT_NE(outcome.output.find(text), std::string::npos) << text << "\n" << outcome.output;
  }
}

TEST_F(GdrRun, NamesTheVariableOfLayersBeyondItsList) {
  // No list has kernels for 16 bits of a layer that no one asked for.
  const Outcome outcome = run("--device reference --compute float16" + golden_case("none_delta"));
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_NE(outcome.output.find("-DGDR_RUN_LAYERS='float16/15x9/none/linear/delta'"),
            std::string::npos)
      << outcome.output;
  EXPECT_NE(run("--help").output.find("GDR_RUN_LAYERS"), std::string::npos);
}

TEST_F(GdrRun, RefusesFilesThatAreDamaged) {
  const std::string whole = content_of(golden / "value_linear_default" / "v.npy");
  write_text(file("v.npy"), whole.substr(0, whole.size() - 1));
  expect_refused("v", file("v.npy"),
                 "it is cut short: 24575 bytes of data, and [1, 128, 2, 24] of "
                 "float32 is 24576");
  write_text(file("v.npy"), whole + "x");
  expect_refused("v", file("v.npy"), "it is too long");
  write_text(file("v.npy"), whole.substr(0, 60));
  expect_refused("v", file("v.npy"), "it is cut short within its header");
  write_text(file("v.npy"), "");
  expect_refused("v", file("v.npy"), "it is no .npy file");
  expect_refused("v", golden / "none" / "case.txt", "it is no .npy file");
  expect_refused("v", file("absent.npy"), "there is no such file");
  expect_refused("v", folder_, "it is no regular file");
}

TEST_F(GdrRun, RefusesFilesInFortranOrder) {
  std::string text = content_of(golden / "value_linear_default" / "gate.npy");
  text.replace(text.find("False,"), 6, "True, ");
  write_text(file("gate.npy"), text);
  expect_refused("gate", file("gate.npy"), "it is in Fortran order");
}

TEST_F(GdrRun, RefusesFilesOfAnotherType) {
  const std::vector<int64_t> shape = {1, 128, 2, 24};
  write_npy(file("q.npy"), "<i4", shape, std::vector<int32_t>(128 * 2 * 24));
  expect_refused("q", file("q.npy"), "it holds int32, and float16, float32 or float64 is due");
  std::string text = content_of(golden / "value_linear_default" / "q.npy");
  text.replace(text.find("<f4"), 3, ">f4");
  write_text(file("q.npy"), text);
  expect_refused("q", file("q.npy"), "it holds elements '>f4'");
  write_npy(file("c.npy"), "<f4", {2}, std::vector<float>{0, 5});
  expect_refused("cu-seqlens", file("c.npy"), "it holds float32, and int32 or int64 is due");
}

TEST_F(GdrRun, RefusesFilesOfAnotherShape) {
  const auto floats = [this](const char* name, const std::vector<int64_t>& shape) {
    size_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
    write_npy(file(name), "<f4", shape, std::vector<float>(count));
    return file(name);
  };
  expect_refused("q", floats("q.npy", {1, 128, 48}),
                 "its shape is [1, 128, 48], and [B, T, Hk, K] is due");
  expect_refused("q", floats("q.npy", {1, 1, 1, 257}), "K is 257; head dimensions go from 1");
  expect_refused("k", floats("k.npy", {1, 128, 1, 24}),
                 "its shape is [1, 128, 1, 24], and [1, 128, 2, 24] is due");
  expect_refused("v", floats("v.npy", {1, 64, 2, 24}),
                 "its shape is [1, 64, 2, 24], and [1, 128, Hv, V] is due");
  expect_refused("v", floats("v.npy", {1, 128, 3, 24}),
                 "its 3 heads are no multiple of the 2 of q");
  expect_refused("gate", floats("g.npy", {1, 128, 2}),
                 "its shape is [1, 128, 2], and [1, 128, 2, 24] is due");
  expect_refused("state", floats("i.npy", {2, 24, 24}),
                 "its shape is [2, 24, 24], and [1, 2, 24, 24] is due");
  expect_refused("rule delta --beta", floats("b.npy", {1, 128}),
                 "its shape is [1, 128], and [1, 128, 2] is due");
}

TEST_F(GdrRun, RefusesOffsetsThatCannotBe) {
  const std::string options = golden_case("value_linear_cu_seqlens");
  for (const std::vector<int64_t>& offsets :
       {std::vector<int64_t>{1, 5}, {0, 5, 4}, {0, 1000000}, {-1, 3}}) {
    write_npy(file("c.npy"), "<i8", {static_cast<int64_t>(offsets.size())}, offsets);
    expect_refused(options + option("cu-seqlens", file("c.npy")),
                   "c.npy: its offsets do not ascend from 0 to at most T");
  }
  write_npy(file("c.npy"), "<i8", {0}, std::vector<int64_t>());
  expect_refused(options + option("cu-seqlens", file("c.npy")), "c.npy: it is empty");
  write_npy(file("x.npy"), "<f4", {2, 5, 1, 4}, std::vector<float>(40));
  write_npy(file("c.npy"), "<i8", {2}, std::vector<int64_t>{0, 5});
  const std::string batch_of_two = option("q", file("x.npy")) + option("k", file("x.npy")) +
                                   option("v", file("x.npy")) + option("gate", file("x.npy"));
  expect_refused(batch_of_two + option("cu-seqlens", file("c.npy")),
                 "c.npy: offsets cut one batch row, and q has 2");
}

TEST_F(GdrRun, RefusesOptionsThatDoNotFit) {
  const std::string options = golden_case("value_linear_default");
  expect_refused(options + " --axis none", "--gate: the axis none has no gate");
  expect_refused(golden_case("none") + " --axis head", "--gate is missing");
  expect_refused(options + " --rule delta", "--beta is missing");
  expect_refused(options + option("beta", file("b.npy")), "--beta belongs to --rule delta");
  expect_refused(options + " --axis diagonal", "diagonal");
  expect_refused(options + " --scale nan", "--scale is not finite");
  expect_refused(" --q x.npy", "--k is required");
  expect_refused(options + " --wrong", "--wrong");
}

TEST_F(GdrRun, RefusesOutputsThatCannotBeWritten) {
  const std::string options = "--device reference" + golden_case("value_linear_default");
  const auto expect = [&](const std::string& output, const std::string& sentence) {
    const Outcome outcome = run(options + output);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.errors.find(sentence), std::string::npos) << outcome.errors;
    EXPECT_TRUE(fs::is_empty(folder_));
  };
  expect(option("o", file("absent/o.npy")), "o.npy: there is no folder");
  expect(option("o", folder_), "it exists and is no regular file");
  expect(option("o", "/dev/null"), "/dev/null: it exists and is no regular file");
  expect(option("o", file("x.npy")) + option("final-state", folder_ / "." / "x.npy"),
         "--o and --final-state name one file");
}

/// On a GPU: the layers of the default list.
class GdrRunOnGpu : public GdrRun {
 protected:
  void expect_golden_on_gpu(const std::string& name, const std::string& options, double bound) {
    const Outcome outcome = run("--check" + golden_case(name) + " " + options + outputs());
#ifndef GDR_REQUIRE_GPU
    if (outcome.output.find("no GPU") != std::string::npos) GTEST_SKIP() << "no usable GPU";
#endif
    EXPECT_EQ(outcome.code, 0) << outcome.output << outcome.errors;
    for (const char* text :
         {"device ", "algorithm  automatic", "us a launch", "GB/s", "the copy rate"}) {
      EXPECT_NE(outcome.output.find(text), std::string::npos) << text << "\n" << outcome.output;
    }
    EXPECT_LE(relative_error(numbers(file("o.npy")), numbers(golden / name / "o.npy")), bound);
  }
};

TEST_F(GdrRunOnGpu, Float32) { expect_golden_on_gpu("value_linear_default", "", 1e-6); }
TEST_F(GdrRunOnGpu, Float32OfSequences) {
  expect_golden_on_gpu("value_linear_cu_seqlens", "", 1e-6);
}
TEST_F(GdrRunOnGpu, Bfloat16) {
  expect_golden_on_gpu("head_log_delta_gdn", "--compute bfloat16", 2e-2);
}

TEST_F(GdrRunOnGpu, NamesTheVariable) {
  const Outcome outcome = run("--compute float16" + golden_case("none_delta"));
#ifndef GDR_REQUIRE_GPU
  if (outcome.output.find("no GPU") != std::string::npos) GTEST_SKIP() << "no usable GPU";
#endif
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.errors.find("-DGDR_RUN_LAYERS='float16/15x9/none/linear/delta'"),
            std::string::npos)
      << outcome.errors;
}

}  // namespace
