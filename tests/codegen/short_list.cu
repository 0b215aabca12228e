// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Part GDR_TEST_PART of GDR_TEST_PARTS of the short list, with the recurrent tunings alone: the
// kernels of the chunked form may spill where they go span by span, which few chunks do.

#include "support/instantiations.cuh"

std::vector<const void*> short_list() {
  return gdr::test::instantiate<GDR_TEST_PART, GDR_TEST_PARTS, gdr::RecurrentPolicy>(
      gdr::test::layers::Short{});
}
