# libmargay-callcount.so, an independent counter of MPI calls. Included by tests/workloads, which has found MPI.
set(mpi_h "")
foreach(folder IN LISTS MPI_C_INCLUDE_DIRS)
  if(NOT mpi_h AND EXISTS ${folder}/mpi.h)
    set(mpi_h ${folder}/mpi.h)
  endif()
endforeach()

set(functions ${CMAKE_CURRENT_BINARY_DIR}/callcount_functions.inc)
add_custom_command(OUTPUT ${functions}
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/gen_callcount.py ${mpi_h} ${functions}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/gen_callcount.py ${mpi_h} VERBATIM)
add_library(margay-callcount SHARED ${CMAKE_CURRENT_LIST_DIR}/callcount.c ${functions})
target_include_directories(margay-callcount PRIVATE ${CMAKE_CURRENT_BINARY_DIR} ${MPI_C_INCLUDE_DIRS})
target_link_libraries(margay-callcount PRIVATE margay_c_options Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(margay-callcount PRIVATE -Wno-deprecated-declarations)
set_target_properties(margay-callcount PROPERTIES C_VISIBILITY_PRESET hidden)

# The same for MPICH.
find_path(MARGAY_MPICH_H mpi_proto.h PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich NO_DEFAULT_PATH)
if(MARGAY_MPICH_H)
  set(mpich_functions ${CMAKE_CURRENT_BINARY_DIR}/mpich/callcount_functions.inc)
  add_custom_command(OUTPUT ${mpich_functions}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/mpich
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/gen_callcount.py ${MARGAY_MPICH_H}/mpi_proto.h ${mpich_functions}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/gen_callcount.py ${MARGAY_MPICH_H}/mpi_proto.h VERBATIM)
  add_library(margay-callcount-mpich SHARED ${CMAKE_CURRENT_LIST_DIR}/callcount.c ${mpich_functions})
  target_include_directories(margay-callcount-mpich PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/mpich ${MARGAY_MPICH_H})
  target_link_libraries(margay-callcount-mpich PRIVATE margay_c_options Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_options(margay-callcount-mpich PRIVATE -Wno-deprecated-declarations)
  set_target_properties(margay-callcount-mpich PROPERTIES C_VISIBILITY_PRESET hidden)
endif()

# libmargay-blockwatch-outer.so and -inner.so, on either side of a library whose share of each call is measured.
foreach(side IN ITEMS outer inner)
  string(TOUPPER ${side} upper_side)
  add_library(margay-blockwatch-${side} SHARED ${CMAKE_CURRENT_LIST_DIR}/blockwatch.c ${functions})
  target_include_directories(margay-blockwatch-${side} PRIVATE ${CMAKE_CURRENT_BINARY_DIR} ${MPI_C_INCLUDE_DIRS})
  target_link_libraries(margay-blockwatch-${side} PRIVATE margay_c_options Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_definitions(margay-blockwatch-${side} PRIVATE BLOCKWATCH_${upper_side})
  target_compile_options(margay-blockwatch-${side} PRIVATE -Wno-deprecated-declarations)
  set_target_properties(margay-blockwatch-${side} PROPERTIES C_VISIBILITY_PRESET hidden)
endforeach()
