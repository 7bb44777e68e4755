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
  if(MARGAY_SANITIZE MATCHES "address,undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A third of the compile time and a quarter of the rest, and what they would find ends in a bad address. The fuzz preset
    # has them.
    target_compile_options(margay_options INTERFACE -fno-sanitize=null,vptr,object-size,pointer-overflow,alignment)
  endif()
endif()

# What makes a mistake with memory end a program instead of doing what somebody else wants: what users run reads shared
# memory, sockets and files that others write. Not with sanitizers, which look for the same and are no builds for users, nor
# without optimisation, which _FORTIFY_SOURCE needs. The probe is no part of it: what goes into other people's programs needs
# no newer C library than theirs, and each instruction on a call's way is theirs to pay (collector/probe/CMakeLists.txt).
# tests/checks/hardening looks at the programs; Debian's crt1.o has no mark of CET, so theirs have none either, but the
# instructions are there.
add_library(margay_hardening INTERFACE)
if(NOT MARGAY_SANITIZE)
  set(released "$<CONFIG:Release,RelWithDebInfo>")
  target_compile_options(margay_hardening INTERFACE
    "$<${released}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2;-fstack-protector-strong;-fstack-clash-protection>"
    "$<$<AND:${released},$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:-fPIE>")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(margay_hardening INTERFACE "$<${released}:-fcf-protection=full>")
  endif()
  target_link_options(margay_hardening INTERFACE "$<${released}:LINKER:-z,relro,-z,now>"
    "$<$<AND:${released},$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:-pie>")
endif()
target_link_libraries(margay_options INTERFACE margay_hardening)

# What is compiled as a test, and not as what users run. Test sources are half of all compile time: most of it goes into
# GoogleTest's templates, whose optimisation and instrumentation find nothing. They are checked for addresses; undefined
# behaviour is looked for in Margay itself.
add_library(margay_test_options INTERFACE)
if(MARGAY_SANITIZE MATCHES "address")
  target_compile_options(margay_test_options INTERFACE -O0 -fno-sanitize=undefined)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # calls instead of code in place: a tenth less to compile
    target_compile_options(margay_test_options INTERFACE --param=asan-instrumentation-with-call-threshold=0)
  endif()
elseif(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  # Without optimisation (a third less to compile) they run for longer than that saves: partitions by brute force, pictures.
  target_compile_options(margay_test_options INTERFACE -O1 -g1)
endif()
find_program(MARGAY_LLD ld.lld)
if(MARGAY_LLD)
  target_link_options(margay_test_options INTERFACE -fuse-ld=lld)
endif()

# What does little and once in a while (flags, pages for people, files of settings) or hands over to what computes (the
# threads of margayd) is compiled with fewer optimisations in a build for users: a quarter of its compile time, which a first
# build waits for. What is done for each event, cell or part is in none of these. With sanitizers, without any: a quarter again.
function(margay_seldom_runs)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endforeach()
  margay_plain_if_sanitized(${ARGN})
endfunction()

# With sanitizers, what takes less time in their tests than its optimisation does: two fifths less to compile.
function(margay_plain_if_sanitized)
  if(NOT MARGAY_SANITIZE OR MARGAY_FUZZ)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -O0)
    get_target_property(headers ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    if(headers)
      set_target_properties(${target} PROPERTIES PRECOMPILE_HEADERS_REUSE_FROM margay_plain_headers)
    endif()
  endforeach()
endfunction()

# The sources of a module or of a test program are compiled in batches, each as one: a third of the time, for most of it goes
# into headers and into templates that many sources need alike. Not in the preset dev, so that each source is seen to include
# what it uses. Private names lie in unnamed namespaces, those of tests in one that is called as their file. A source of which
# a private name is another's as well (the compiler says "redefinition" or "ambiguous") is named after ALONE, and compiled by
# itself.
option(MARGAY_UNITY "Compile sources in batches" ON)

# With batches, the standard library's headers that nearly every source includes are compiled once, too: for libraries, and
# with GoogleMock for test programs, which are compiled with other options. A source of which the options differ
# (COMPILE_OPTIONS) goes without: SKIP_PRECOMPILE_HEADERS. A source still includes what it uses; the preset dev sees to it.
set(common_headers <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstring> <deque>
  <fstream> <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread>
  <unordered_map> <utility> <vector>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/nothing.cc CONTENT "")  # the same file stays as it is
set(margay_compiles_headers OFF)
if(MARGAY_UNITY)
  set(margay_compiles_headers ON)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # False ones of GCC 12 about std::string, which it keeps back only where it knows that the header is the system's.
    target_compile_options(margay_options INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  add_library(margay_headers OBJECT ${CMAKE_BINARY_DIR}/nothing.cc)
  set_target_properties(margay_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(margay_headers PRIVATE margay_options Threads::Threads)
  target_precompile_headers(margay_headers PRIVATE ${common_headers})
  if(MARGAY_SANITIZE AND NOT MARGAY_FUZZ)  # for what margay_seldom_runs compiles
    add_library(margay_plain_headers OBJECT ${CMAKE_BINARY_DIR}/nothing.cc)
    set_target_properties(margay_plain_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(margay_plain_headers PRIVATE -O0)
    target_link_libraries(margay_plain_headers PRIVATE margay_options Threads::Threads)
    target_precompile_headers(margay_plain_headers PRIVATE ${common_headers})
  endif()
  if(MARGAY_TESTS)
    find_package(GTest REQUIRED)
    add_library(margay_test_headers OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/nothing.cc)
    target_link_libraries(margay_test_headers PRIVATE margay_options margay_test_options GTest::gmock)
    target_precompile_headers(margay_test_headers PRIVATE ${common_headers} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()

function(margay_in_batches TARGET SIZE)
  get_target_property(sources ${TARGET} SOURCES)
  list(LENGTH sources count)
  if(count EQUAL 1)  # a batch of one is a file more
    return()
  endif()
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ${MARGAY_UNITY} UNITY_BUILD_BATCH_SIZE ${SIZE})
endfunction()

# The common headers for a target that is compiled as libraries are.
function(margay_common_headers TARGET)
  set_target_properties(${TARGET} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(margay_compiles_headers)
    target_precompile_headers(${TARGET} REUSE_FROM margay_headers)
  endif()
endfunction()

# margay_library(NAME SOURCES a.cc ... ALONE b.cc ... PUBLIC dep ... PRIVATE dep ...)
# Without SOURCES it is a header-only module.
function(margay_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;ALONE;PUBLIC;PRIVATE" ${ARGN})
  if(ARG_SOURCES)
    add_library(${NAME} STATIC ${ARG_SOURCES} ${ARG_ALONE})
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_include_directories(${NAME} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include
                                       PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${NAME} PUBLIC ${ARG_PUBLIC} PRIVATE margay_options ${ARG_PRIVATE})
    margay_in_batches(${NAME} 16)
    margay_common_headers(${NAME})
  else()
    add_library(${NAME} INTERFACE)
    target_include_directories(${NAME} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_link_libraries(${NAME} INTERFACE ${ARG_PUBLIC})
  endif()
endfunction()

# margay_rows(OUT TABLE.def MACRO): the names of a table's rows, MACRO(name, ...). Who adds a row adds no line anywhere else:
# the sources of what can be extended come from here.
function(margay_rows OUT TABLE MACRO)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TABLE})
  file(STRINGS ${TABLE} rows REGEX "^${MACRO}\\(")
  list(TRANSFORM rows REPLACE "^${MACRO}\\(([a-z0-9_]+).*$" "\\1")
  set(${OUT} ${rows} PARENT_SCOPE)
endfunction()

# What the sanitizer presets build and run: of address and undefined behaviour the tests that need no other
# program, of threads those among them in which more than one thread of ours runs; in CI those of what threads and
# processes share itself, at night all of them.
add_custom_target(unit_tests)
add_custom_target(threaded_tests)
add_custom_target(shared_memory_tests)

# margay_test(NAME SOURCES a.cc ... LINK dep ... LABELS unit THREADS): a GoogleTest program, one ctest entry per test.
# LABELS: unit (the default; in unit_tests), mpi (needs mpirun) or e2e (the whole of Margay; runs alone).
# THREADS: what it tests has threads, or shares memory; it is in threaded_tests, and its label ends in -threads: one label
# and not two, for gtest_discover_tests makes two properties of a list, and ctest -L takes a part of a name for it.
# SHARES: with THREADS, it is in shared_memory_tests: rings, sockets, queues, and the daemon's own threads.
# AS_SHIPPED: what it finds may depend on how the compiler optimises (sums of floats, kernels): it is built in every build,
# those without MARGAY_UNIT_TESTS as well.
# UNSANITIZED: a whole board of cases, of which the code is tested elsewhere: under a sanitizer minutes, and so at night alone
# (MARGAY_SANITIZE_ALL).
function(margay_test NAME)
  cmake_parse_arguments(ARG "THREADS;SHARES;AS_SHIPPED;UNSANITIZED" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)  # a hang, not a slow machine
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE margay_options margay_test_options ${ARG_LINK} GTest::gmock GTest::gtest_main)
  margay_in_batches(${NAME} 10)
  if(margay_compiles_headers AND NOT "viewer" IN_LIST ARG_LABELS)  # Qt's are compiled with -fPIC
    target_precompile_headers(${NAME} REUSE_FROM margay_test_headers)
  endif()
  if(ARG_UNSANITIZED AND MARGAY_SANITIZE AND NOT MARGAY_SANITIZE_ALL)
    set_target_properties(${NAME} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests ${NAME})
    if(NOT MARGAY_UNIT_TESTS AND NOT ARG_AS_SHIPPED)
      set_target_properties(${NAME} PROPERTIES EXCLUDE_FROM_ALL TRUE)
      return()
    endif()
  endif()
  if(ARG_THREADS)
    string(APPEND ARG_LABELS -threads)
    add_dependencies(threaded_tests ${NAME})
    if(ARG_SHARES)
      add_dependencies(shared_memory_tests ${NAME})
    endif()
  endif()
  set(serial "")
  if("e2e" IN_LIST ARG_LABELS)
    set(serial RUN_SERIAL TRUE)
  endif()
  if("lttng" IN_LIST ARG_LABELS)  # root's session daemons have one place, where root may not mount another
    set(serial RESOURCE_LOCK lttng)
  endif()
  gtest_discover_tests(${NAME} TEST_PREFIX "${NAME}." DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ${serial})
endfunction()
