# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0

# Runs the package test CASE in BINARY_DIR.
cmake_minimum_required(VERSION 3.25)

# Nothing of the environment may lead to a CUDA toolkit where a test is to do without one.
set(bare_environment ${CMAKE_COMMAND} -E env --unset=CPATH --unset=CUDACXX --unset=CUDA_HOME
  --unset=CUDA_PATH --unset=LIBRARY_PATH PATH=/usr/bin:/bin)

# Runs a command that must succeed; its output is in `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Fails unless `output` holds the text. Line breaks count as spaces: CMake wraps its messages.
function(expect text)
  string(REGEX REPLACE "[ \n]+" " " flat "${output}")
  string(FIND "${flat}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "the output lacks '${text}':\n${output}")
  endif()
endfunction()

set(configure ${CMAKE_COMMAND} -B ${BINARY_DIR} -G ${GENERATOR} -D CMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
  -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_BUILD_TYPE=Release)
set(build ${CMAKE_COMMAND} --build ${BINARY_DIR})
set(package -D EXPECTED_VERSION=${VERSION} -D CMAKE_PREFIX_PATH=${PREFIX})
set(subdirectory -D GDR_DIR=${SOURCE_DIR})
set(cuda -D CMAKE_CUDA_COMPILER=${CUDA_COMPILER} -D CMAKE_CUDA_HOST_COMPILER=${CXX_COMPILER})
file(REMOVE_RECURSE ${BINARY_DIR})

if(CASE STREQUAL cxx_find_package)
  run(${bare_environment} ${configure} -S ${CMAKE_CURRENT_LIST_DIR}/cxx ${package})
  run(${bare_environment} ${build})
  run(${BINARY_DIR}/program)

elseif(CASE STREQUAL cxx_add_subdirectory)
  run(${bare_environment} ${configure} -S ${CMAKE_CURRENT_LIST_DIR}/cxx ${subdirectory})
  run(${bare_environment} ${build})
  run(${BINARY_DIR}/program)

elseif(CASE STREQUAL cuda_find_package)
  run(${configure} -S ${CMAKE_CURRENT_LIST_DIR}/cuda ${cuda} ${package})
  run(${build})
  run(${BINARY_DIR}/program)
  run(${BINARY_DIR}/program_rdc)
  run(${BINARY_DIR}/load_libraries)
  run(nm --dynamic --defined-only --demangle ${BINARY_DIR}/libfor_80.so ${BINARY_DIR}/libfor_90a.so)
  expect("library_run")
  if(output MATCHES "[^\n]*gdr::[^\n]*")
    message(FATAL_ERROR "a shared library exports '${CMAKE_MATCH_0}'")
  endif()

elseif(CASE STREQUAL cuda_add_subdirectory)
  run(${configure} -S ${CMAKE_CURRENT_LIST_DIR}/cuda ${cuda} ${subdirectory})
  run(${build} --target program)
  run(${BINARY_DIR}/program)

elseif(CASE STREQUAL without_cuda)
  run(${bare_environment} ${configure} -S ${SOURCE_DIR} -D CMAKE_CUDA_COMPILER=OFF)
  expect("without a CUDA compiler these tests are left out")

elseif(CASE STREQUAL without_cli11)
  run(${configure} -S ${SOURCE_DIR} -D CMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
    -D CMAKE_CUDA_COMPILER=OFF -D GDR_BUILD_TESTS=OFF -D GDR_BUILD_BENCH=OFF)
  expect("gdr_run is left out")
  expect("apt-get install libcli11-dev")

else()
  # A dependency is missing: configure stops with a sentence that says what to do.
  if(CASE STREQUAL without_googletest)
    set(arguments -D CMAKE_DISABLE_FIND_PACKAGE_GTest=ON -D CMAKE_CUDA_COMPILER=OFF)
    set(debian_package libgtest-dev)
  elseif(CASE STREQUAL without_benchmark)
    set(arguments -D CMAKE_DISABLE_FIND_PACKAGE_benchmark=ON -D GDR_BUILD_TESTS=OFF ${cuda})
    set(debian_package libbenchmark-dev)
  else()
    message(FATAL_ERROR "no test '${CASE}'")
  endif()
  execute_process(COMMAND ${configure} -S ${SOURCE_DIR} ${arguments} RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0)
    message(FATAL_ERROR "configure does not stop:\n${output}")
  endif()
  expect("apt-get install ${debian_package}")
  expect("-DGDR_FETCH_DEPENDENCIES=ON")
endif()
