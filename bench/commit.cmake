# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0

cmake_minimum_required(VERSION 3.25)

# cmake -D SOURCE_DIR=... -D OUTPUT=... [-D COMMIT=...] -P commit.cmake
# Writes a header that names the commit, and touches it only when the name changes.
if(NOT COMMIT)
  set(COMMIT unknown)
  find_package(Git QUIET)
  if(Git_FOUND)
    execute_process(
      COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} describe --always --dirty --abbrev=12
      RESULT_VARIABLE result OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(result EQUAL 0)
      set(COMMIT ${described})
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define GDR_BENCH_COMMIT \"@COMMIT@\"\n" @ONLY)
