# SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
# SPDX-License-Identifier: Apache-2.0

# cmake -D PROGRAM=... -D ARGUMENT=... -D SENTENCE=... -P expect_failure.cmake
# Passes if the program exits with 1 and its standard error holds the sentence.
execute_process(COMMAND ${PROGRAM} ${ARGUMENT}
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
string(FIND "${errors}" "${SENTENCE}" place)
if(NOT code EQUAL 1 OR place EQUAL -1)
  message(FATAL_ERROR "wanted exit code 1 and \"${SENTENCE}\", got ${code}:\n${output}${errors}")
endif()
