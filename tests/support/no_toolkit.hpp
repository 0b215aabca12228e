// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

// Included last: fails where a header before it has taken in the CUDA toolkit, which may lie in the
// compiler's own folders.

#if defined(CUDA_VERSION) || defined(CUDART_VERSION) || defined(__VECTOR_TYPES_H__) ||     \
    defined(__CUDA_FP16_H__) || defined(__CUDA_BF16_H__) || defined(CCCL_MAJOR_VERSION) || \
    defined(__HOST_DEFINES_H__)
#error "a header of the CUDA toolkit was included"
#endif
