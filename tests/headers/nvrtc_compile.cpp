// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// nvrtc_compile <source text> [options...]: compiles the text with NVRTC; needs no driver. Any warning
// counts as a failure.

#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<const char*> options = {"--std=c++17", "--gpu-architecture=sm_80"};
  options.insert(options.end(), argv + 2, argv + argc);

  nvrtcProgram program = nullptr;
  nvrtcResult result = nvrtcCreateProgram(&program, argv[1], "test.cu", 0, nullptr, nullptr);
  if (result == NVRTC_SUCCESS) {
    result = nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  }
  size_t log_size = 0;
  std::string log;
  if (nvrtcGetProgramLogSize(program, &log_size) == NVRTC_SUCCESS) {
    log.resize(log_size);
    if (log_size > 0) nvrtcGetProgramLog(program, &log[0]);
  }
  std::printf("%s\n%s\n", nvrtcGetErrorString(result), log.c_str());
  const bool has_warning = log.find("warning") != std::string::npos;
  nvrtcDestroyProgram(&program);
  return result == NVRTC_SUCCESS && !has_warning ? 0 : 1;
}
