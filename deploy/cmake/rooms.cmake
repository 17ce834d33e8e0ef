# Rooms: each folder is one static library with private dependencies. Each folder of tests is one or
# more test programs.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# trainctl_cxx_options(TARGET VISIBILITY options …): compile options of C++ alone, never of CUDA.
function(trainctl_cxx_options name visibility)
  foreach(option ${ARGN})
    target_compile_options(${name} ${visibility} $<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endfunction()

# g++ looks for garbage first when it has a gigabyte, not 128 MB: an eighth off its time.
# deploy/build counts two gigabytes for each compiler.
foreach(parameter ggc-min-expand=1000 ggc-min-heapsize=1048576)
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=${parameter}>")
endforeach()

# -Wno-restrict: g++ 12 warns falsely of every "literal" + std::string (GCC bug 105651).
add_library(trainctl_flags INTERFACE)
trainctl_cxx_options(trainctl_flags INTERFACE
  -Wall -Wextra $<IF:$<BOOL:${TRAINCTL_UNITY}>,-Wshadow=local,-Wshadow> -Werror
  -Wno-missing-field-initializers -Wno-restrict)
# -Wno-maybe-uninitialized: g++ 13 (Ubuntu 24.04) warns falsely of moves of a std::variant.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  trainctl_cxx_options(trainctl_flags INTERFACE -Wno-maybe-uninitialized)
endif()
target_include_directories(trainctl_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(TRAINCTL_SANITIZE)
  # clang without optimization compiles in half of g++'s time, and a frugal room in a third of its
  # own; -w: warnings are g++'s, clang has others. -Wno-maybe-uninitialized: the instrumentation
  # makes g++ warn falsely, of libstdc++'s <regex> for one.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(options -O0 -w)
    if(TRAINCTL_SANITIZE MATCHES address)
      set(TRAINCTL_LIBFUZZER ON)  # tests/fuzz
      list(APPEND options -fsanitize=fuzzer-no-link)
    endif()
  else()
    set(options -O1 $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
  add_compile_options(-fsanitize=${TRAINCTL_SANITIZE} -fno-omit-frame-pointer -g1 ${options})
  add_link_options(-fsanitize=${TRAINCTL_SANITIZE})
  if(TRAINCTL_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

if(TRAINCTL_FUZZ)
  # -w: warnings are g++'s; clang has others.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow
    -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -O1 -w)
  add_link_options(-fsanitize=address,undefined)
  set(TRAINCTL_LIBFUZZER ON)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# For what computes so long that the time of its compilation is nothing.
function(trainctl_optimize_sanitized name)
  if(TRAINCTL_SANITIZE)
    trainctl_cxx_options(${name} PRIVATE -O1)
  endif()
endfunction()

# trainctl_several_at_a_time(TARGET): with TRAINCTL_UNITY, its .cc are compiled six at a time.
# CMake's own UNITY_BUILD names them by absolute paths, with which ccache shares nothing among
# clones.
function(trainctl_several_at_a_time name)
  if(TRAINCTL_UNITY)
    # Deferred until the folder has set the properties of its files.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL trainctl_group_sources ${name})")
  endif()
endfunction()

# Files with SKIP_UNITY_BUILD_INCLUSION or options of their own stay alone.
function(trainctl_group_sources name)
  get_target_property(sources ${name} SOURCES)
  set(compiled "")
  set(grouped "")
  foreach(source ${sources})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(alone OR options OR definitions OR NOT source MATCHES "\\.cc$")
      list(APPEND compiled ${source})
    else()
      cmake_path(ABSOLUTE_PATH source)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      list(APPEND grouped "#include \"${source}\"\n")
    endif()
  endforeach()
  list(LENGTH grouped files)
  foreach(first RANGE 0 ${files} 6)
    if(first LESS files)
      list(SUBLIST grouped ${first} 6 group)
      list(JOIN group "" content)
      set(together ${CMAKE_CURRENT_BINARY_DIR}/${name}_from_${first}.cc)
      file(CONFIGURE OUTPUT ${together} CONTENT "${content}" @ONLY)
      list(APPEND compiled ${together})
    endif()
  endforeach()
  set_property(TARGET ${name} PROPERTY SOURCES ${compiled})
endfunction()

# trainctl_library(NAME SOURCES a.cc … [DEPENDS public targets …] [PRIVATE private targets …]
# [FRUGAL]). TRAINCTL_UNITY compiles files six at a time, which takes half the time: most of it goes
# into headers and templates that they share. So names in unnamed namespaces are unique in a room.
# FRUGAL rooms are compiled with -O1, which takes a quarter to a third less: their time
# goes into waiting for terminals, files and networks.
function(trainctl_library name)
  cmake_parse_arguments(ROOM "FRUGAL" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  trainctl_several_at_a_time(${name})
  if(ROOM_FRUGAL AND NOT TRAINCTL_SANITIZE)
    trainctl_cxx_options(${name} PRIVATE -O1)
  endif()
  target_link_libraries(${name} PUBLIC ${ROOM_DEPENDS} PRIVATE trainctl_flags ${ROOM_PRIVATE})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
endfunction()

# trainctl_room(NAME [FOLDERS below this one …] [EXCEPT files …] [DEPENDS …] [PRIVATE …] [FRUGAL]):
# a library of every .cc and .cu in this folder but main.cc. A new file needs no line anywhere:
# CMake looks again at each build.
function(trainctl_room name)
  cmake_parse_arguments(ROOM "" "" "FOLDERS;EXCEPT;DEPENDS;PRIVATE" ${ARGN})
  set(patterns *.cc *.cu)
  foreach(folder ${ROOM_FOLDERS})
    list(APPEND patterns ${folder}/*.cc)
  endforeach()
  file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
  list(REMOVE_ITEM sources main.cc ${ROOM_EXCEPT})
  if(NOT TRAINCTL_TORCH)
    list(FILTER sources EXCLUDE REGEX "\\.cu$")
  endif()
  trainctl_library(${name} SOURCES ${sources} DEPENDS ${ROOM_DEPENDS} PRIVATE ${ROOM_PRIVATE}
    ${ROOM_UNPARSED_ARGUMENTS})
endfunction()

# trainctl_program(NAME SOURCES main.cc … DEPENDS targets …): a binary in build/bin
function(trainctl_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_link_libraries(${name} PRIVATE trainctl_flags ${PROGRAM_DEPENDS})
endfunction()

# trainctl_precompile(TARGET PRIVATE headers of libraries, never our own …)
# trainctl_precompile(TARGET REUSE_FROM another target with the same flags)
function(trainctl_precompile name)
  trainctl_cxx_options(${name} PRIVATE -fpch-preprocess)  # ccache wants it
  target_precompile_headers(${name} ${ARGN})
endfunction()

# trainctl_test_code(TARGET): code of tests is not optimized, which takes a third off its compile
# time; what it tests is. Nor is it checked for undefined behaviour, another third. -pthread, which
# some libraries bring along, is for all: precompiled headers fit only where it is the same.
function(trainctl_test_code name)
  trainctl_cxx_options(${name} PRIVATE -O0 -pthread)
  if(TRAINCTL_SANITIZE MATCHES undefined)
    trainctl_cxx_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  if(TRAINCTL_LIBFUZZER)
    trainctl_cxx_options(${name} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()

# trainctl_link_first(TARGET libraries …): our own of these come before the target's objects. Of
# functions that both hold, as templates, the linker keeps the first: the optimized ones. It takes
# two thirds off the time of tests that compute.
function(trainctl_link_first name)
  set(first "")
  list(FILTER ARGN INCLUDE REGEX "^trainctl_")
  foreach(library ${ARGN})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      string(APPEND first " $<TARGET_FILE:${library}>")
    endif()
  endforeach()
  if(first AND NOT TRAINCTL_SANITIZE)
    target_link_options(${name} PRIVATE
      "SHELL:-Wl,--whole-archive${first} -Wl,--no-whole-archive")
  endif()
endfunction()

# trainctl_test_main(NAME HEADERS … [DEPENDS …]): main() of test programs, where they find the
# checkout, and the headers of libraries that are precompiled for all of them.
function(trainctl_test_main name)
  cmake_parse_arguments(MAIN "" "" "HEADERS;DEPENDS" ${ARGN})
  add_library(${name} STATIC checkout.cc test_main.cc)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  trainctl_cxx_options(${name} PRIVATE -fPIE)  # the flag of programs
  target_link_libraries(${name}
    PUBLIC GTest::gtest GTest::gmock ${MAIN_DEPENDS} PRIVATE trainctl_flags)
  trainctl_test_code(${name})
  trainctl_precompile(${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${MAIN_HEADERS})
endfunction()

# trainctl_test(NAME [SOURCES …] [EXCEPT …] DEPENDS … [MAIN target] [WHOLE] [OPTIMIZED] [TIMEOUT
# s]): a GoogleTest program of these sources, or of every .cc of the folder but the EXCEPT ones.
# MAIN is trainctl_test_main, or another whose precompiled headers fit. WHOLE makes it one CTest
# entry, for programs that are slow to load; otherwise each suite is one. OPTIMIZED is for tests
# that compute much themselves. Each entry's label is its folder's name; those that may take longest
# start first. Tests find files and programs by tests/checkout.h.
function(trainctl_test name)
  cmake_parse_arguments(TEST "WHOLE;OPTIMIZED" "TIMEOUT;MAIN" "SOURCES;EXCEPT;DEPENDS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  if(NOT TEST_MAIN)
    set(TEST_MAIN trainctl_test_main)
  endif()
  if(NOT TEST_SOURCES)
    file(GLOB TEST_SOURCES RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cc)
    list(REMOVE_ITEM TEST_SOURCES ${TEST_EXCEPT})
  endif()
  add_executable(${name} ${TEST_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  trainctl_several_at_a_time(${name})
  target_link_libraries(${name} PRIVATE trainctl_flags ${TEST_MAIN} ${TEST_DEPENDS})
  if(TEST_OPTIMIZED)
    trainctl_optimize_sanitized(${name})
  else()
    trainctl_test_code(${name})
    trainctl_precompile(${name} REUSE_FROM ${TEST_MAIN})
    trainctl_link_first(${name} ${TEST_DEPENDS})
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME room)
  if(TEST_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    # tests/test_main.cc: every test of the program skipped itself.
    set_tests_properties(${name} PROPERTIES
      TIMEOUT ${TEST_TIMEOUT} COST ${TEST_TIMEOUT} LABELS ${room} SKIP_RETURN_CODE 77)
  else()
    set(entries ${CMAKE_CURRENT_BINARY_DIR}/${name}_entries.cmake)
    file(GENERATE OUTPUT ${entries} CONTENT "set(program \"$<TARGET_FILE:${name}>\")
set(folder \"${CMAKE_CURRENT_BINARY_DIR}\")
set(room ${room})
set(timeout ${TEST_TIMEOUT})
include(\"${CMAKE_SOURCE_DIR}/deploy/cmake/suites.cmake\")
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${entries})
  endif()
endfunction()

# trainctl_python_tests(FILE [SERIAL] [WHOLE] [TIMEOUT s]): a file of Python's unittest; each of its
# tests is a CTest entry <room>.<class>.<test>. WHOLE makes each class one entry, where setUpClass
# takes long. An entry that skips a test is shown as skipped, with the reason. Tests find the
# programs by TRAINCTL_BIN_DIR in their environment.
function(trainctl_python_tests file)
  cmake_parse_arguments(TEST "SERIAL;WHOLE" "TIMEOUT" "" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME room)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^class [A-Za-z]+|^    def test_")
  set(tests "")
  foreach(line ${lines})
    if(line MATCHES "^class ([A-Za-z]+)")
      set(class ${CMAKE_MATCH_1})
    elseif(TEST_WHOLE)
      list(APPEND tests ${class})
    elseif(line MATCHES "def (test_[a-z0-9_]+)")
      list(APPEND tests ${class}.${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES tests)
  foreach(test ${tests})
    add_test(NAME ${room}.${test}
      COMMAND python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/${file} -v ${test})
    set_tests_properties(${room}.${test} PROPERTIES
      LABELS ${room} TIMEOUT ${TEST_TIMEOUT} COST ${TEST_TIMEOUT}
      SKIP_REGULAR_EXPRESSION "(OK|NO TESTS RAN) .skipped="
      ENVIRONMENT "TRAINCTL_BIN_DIR=${CMAKE_BINARY_DIR}/bin" RUN_SERIAL "${TEST_SERIAL}")
  endforeach()
endfunction()

# trainctl_rooms(a b …): the rooms in these folders.
macro(trainctl_rooms)
  foreach(room ${ARGN})
    add_subdirectory(${room})
  endforeach()
endmacro()
