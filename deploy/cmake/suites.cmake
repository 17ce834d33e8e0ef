# CTest reads it in a folder of tests: each suite of a GoogleTest program is an entry
# <room>.<suite>, of one process. rooms.cmake sets program, folder, room and timeout.
if(NOT EXISTS "${program}")
  cmake_path(GET program FILENAME name)
  add_test(${name}_NOT_BUILT "${program}")
  return()
endif()
execute_process(COMMAND "${program}" --gtest_list_tests
  OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY TIMEOUT 60)
# A line of a suite begins with its name, one of a test with spaces.
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+\\." suites "\n${listed}")
foreach(suite ${suites})
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  add_test(${room}.${suite} "${program}" --any-skipped "--gtest_filter=${suite}.*")
  set_tests_properties(${room}.${suite} PROPERTIES WORKING_DIRECTORY "${folder}"
    TIMEOUT ${timeout} COST ${timeout} LABELS ${room} SKIP_RETURN_CODE 77)
endforeach()
