# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0

# Fails unless the kernels' host stubs are in the KERNELS object alone, and the CALLERS are small.
cmake_minimum_required(VERSION 3.25)

# Sets `count` to the number of symbols of the object that name the kernel.
function(count_kernel_symbols object)
  execute_process(COMMAND ${NM} ${object} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} ${object} ended with ${result}:\n${output}")
  endif()
  string(REGEX MATCHALL "recurrent_kernel" symbols "${output}")
  list(LENGTH symbols length)
  set(count ${length} PARENT_SCOPE)
endfunction()

count_kernel_symbols(${KERNELS})
if(count EQUAL 0)
  message(FATAL_ERROR "${KERNELS} has no kernel")
endif()
file(SIZE ${KERNELS} kernels_size)
foreach(object IN LISTS CALLERS)
  count_kernel_symbols(${object})
  if(NOT count EQUAL 0)
    message(FATAL_ERROR "${object} has kernels of its own")
  endif()
  file(SIZE ${object} size)
  math(EXPR limit "${kernels_size} / 4")
  if(size GREATER limit)
    message(FATAL_ERROR "${object} has ${size} bytes, ${KERNELS} ${kernels_size}")
  endif()
endforeach()
