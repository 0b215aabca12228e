# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0

# Compiles SOURCE with COMMAND, right and wrong, as CMakeLists.txt beside this file says.
cmake_minimum_required(VERSION 3.25)

# Sets `result` to the texts of the lines `// key: text` of SOURCE.
function(read_lines key result)
  file(STRINGS ${SOURCE} lines REGEX "^// ${key}: ")
  list(TRANSFORM lines REPLACE "^// ${key}: " "")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

read_lines(expected expected_texts)
read_lines(errors allowed_errors)
read_lines(wrong wrong_flags)
read_lines(right right_flags)
if(NOT wrong_flags)
  set(wrong_flags -DGDR_TEST_WRONG)
endif()
if(NOT expected_texts)
  message(FATAL_ERROR "${SOURCE} has no line '// expected: ...'")
endif()

execute_process(COMMAND ${COMMAND} ${right_flags} RESULT_VARIABLE result OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the right form does not compile:\n${output}")
endif()

execute_process(COMMAND ${COMMAND} ${wrong_flags} RESULT_VARIABLE result OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "the wrong form compiles:\n${output}")
endif()
foreach(text IN LISTS expected_texts)
  string(FIND "${output}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "the message lacks '${text}':\n${output}")
  endif()
endforeach()
if(allowed_errors)
  string(REGEX MATCHALL "error: " errors "${output}")
  list(LENGTH errors error_count)
  if(NOT error_count EQUAL allowed_errors)
    message(FATAL_ERROR "${error_count} errors instead of ${allowed_errors}:\n${output}")
  endif()
endif()
