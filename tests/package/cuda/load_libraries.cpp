// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Loads libraries that carry the same layer for different architectures and versions into one
// namespace of symbols: each must keep to its own code. With an argument, runs each.

#include "outcome.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace {

struct Library {
  const char* path;
  int (*run)() = nullptr;
  int (*capability)() = nullptr;

  bool load() {
    void* handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      std::printf("%s\n", dlerror());
      return false;
    }
    run = reinterpret_cast<int (*)()>(dlsym(handle, "library_run"));
    capability = reinterpret_cast<int (*)()>(dlsym(handle, "library_capability"));
    const auto forward = reinterpret_cast<const void* (*)()>(dlsym(handle, "library_forward"));
    if (run == nullptr || capability == nullptr || forward == nullptr) return false;

    Dl_info info{};
    if (dladdr(forward(), &info) == 0) return false;
    std::printf("%s calls gdr::forward in %s\n", path, info.dli_fname);
    return std::strcmp(path, info.dli_fname) == 0;
  }
};

}  // namespace

int main(int argc, char**) {
  Library for_80{FOR_80}, for_90a{FOR_90A}, other_version{OTHER_VERSION};
  if (!for_80.load() || !for_90a.load() || !other_version.load()) return wrong;
  if (argc == 1) return right;

  const int outcome = for_80.run();
  if (outcome != right) return outcome;
  // On another device the sm_90a code must be missed; the other library's would run.
  if (for_90a.run() != (for_90a.capability() == 90 ? right : refused)) return wrong;
  return other_version.run();
}
