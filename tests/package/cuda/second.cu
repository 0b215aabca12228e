// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "problem.cuh"

Forward forward_of_second_unit() { return forward_function; }
Outcome run_in_second_unit() { return run_problem(); }
