# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0

# gdr as a subdirectory (GDR_DIR) or from an install tree (CMAKE_PREFIX_PATH).
if(DEFINED GDR_DIR)
  add_subdirectory(${GDR_DIR} gdr)
  foreach(option GDR_BUILD_TESTS GDR_BUILD_BENCH GDR_BUILD_EXAMPLES)
    if(${option})
      message(FATAL_ERROR "${option} is on in a subdirectory")
    endif()
  endforeach()
else()
  find_package(gdr 99.0 QUIET)
  if(gdr_FOUND)
    message(FATAL_ERROR "version 99.0 was found")
  endif()
  find_package(gdr ${EXPECTED_VERSION} REQUIRED)
  if(NOT gdr_VERSION VERSION_EQUAL EXPECTED_VERSION)
    message(FATAL_ERROR "version ${gdr_VERSION} was found instead of ${EXPECTED_VERSION}")
  endif()
  math(EXPR version_number
    "10000 * ${gdr_VERSION_MAJOR} + 100 * ${gdr_VERSION_MINOR} + ${gdr_VERSION_PATCH}")
  add_compile_definitions(EXPECTED_VERSION=${version_number})
endif()
