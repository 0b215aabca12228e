// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include "support/instantiations.cuh"

std::vector<const void*> architectures() {
  return gdr::test::instantiate<0, 1>(gdr::test::layers::Each{});
}
