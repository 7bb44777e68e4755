# How a module of Margay is declared. One folder is one target with a narrow set of public headers in
# <folder>/include/margay/<module>/; a module sees only the headers of what it links, so that the
# dependency rules (tests/layering) hold in the compiler as well.

add_library(margay_options INTERFACE)
target_compile_features(margay_options INTERFACE cxx_std_20)
target_compile_options(margay_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Woverloaded-virtual -fno-omit-frame-pointer)
if(MARGAY_WERROR)
  target_compile_options(margay_options INTERFACE -Werror)
endif()
if(MARGAY_SANITIZE)
  target_compile_options(margay_options INTERFACE -fsanitize=${MARGAY_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(margay_options INTERFACE -fsanitize=${MARGAY_SANITIZE})
endif()

# margay_library(NAME SOURCES a.cc ... PUBLIC dep ... PRIVATE dep ...)
# Without SOURCES it is a header-only module.
function(margay_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(ARG_SOURCES)
    add_library(${NAME} STATIC ${ARG_SOURCES})
    target_include_directories(${NAME} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include
                                       PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${NAME} PUBLIC ${ARG_PUBLIC} PRIVATE margay_options ${ARG_PRIVATE})
    set_target_properties(${NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  else()
    add_library(${NAME} INTERFACE)
    target_include_directories(${NAME} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_link_libraries(${NAME} INTERFACE ${ARG_PUBLIC})
  endif()
endfunction()

# What the sanitizer presets build and run: of address and undefined behaviour the tests that need no other
# program, of threads those among them in which more than one thread of ours runs.
add_custom_target(unit_tests)
add_custom_target(threaded_tests)

# margay_test(NAME SOURCES a.cc ... LINK dep ... LABELS unit THREADS): a GoogleTest program, one ctest entry per test.
# LABELS: unit (the default; in unit_tests), mpi (needs mpirun) or e2e (the whole of Margay; runs alone).
# THREADS: what it tests has threads, or shares memory; it is in threaded_tests, and its label ends in -threads: one label
# and not two, for gtest_discover_tests makes two properties of a list, and ctest -L takes a part of a name for it.
function(margay_test NAME)
  cmake_parse_arguments(ARG "THREADS" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)  # a hang, not a slow machine
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE margay_options ${ARG_LINK} GTest::gmock GTest::gtest_main)
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests ${NAME})
  endif()
  if(ARG_THREADS)
    string(APPEND ARG_LABELS -threads)
    add_dependencies(threaded_tests ${NAME})
  endif()
  set(serial "")
  if("e2e" IN_LIST ARG_LABELS)
    set(serial RUN_SERIAL TRUE)
  endif()
  gtest_discover_tests(${NAME} TEST_PREFIX "${NAME}." DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ${serial})
endfunction()
