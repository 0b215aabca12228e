// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Links two translation units with the same layer; with an argument, runs it in both.

#include "problem.cuh"

Forward forward_of_second_unit();
Outcome run_in_second_unit();

int main(int argc, char**) {
  if (forward_function != forward_of_second_unit()) {
    std::printf("the two translation units have a function each\n");
    return wrong;
  }
  if (argc == 1) return right;
  const Outcome outcome = run_problem();
  return outcome == right ? run_in_second_unit() : outcome;
}
