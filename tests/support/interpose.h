/* What the interposing libraries here share: finding the next definition of an MPI function, and who we are.
 *
 * Included once by each library; the functions are static. None of them links an MPI library, so that they
 * can be loaded into any process. Thread safety: all functions from any thread.
 */
#ifndef MARGAY_TESTS_INTERPOSE_H
#define MARGAY_TESTS_INTERPOSE_H

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_libmpi(struct dl_phdr_info* info, size_t size, void* handle) {
  (void)size;
  const char* base = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
  if (base == NULL || (strncmp(base, "/libmpi.so", 10) != 0 && strncmp(base, "/libmpich.so", 12) != 0))
    return 0;
  *(void**)handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return *(void**)handle != NULL;
}

/* The next definition of a name; where the MPI library was loaded privately (dlopen without RTLD_GLOBAL, as
 * by interpreters), the library's own. NULL if there is none. */
static void* find_next(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol != NULL) return symbol;
  void* library = NULL;
  dl_iterate_phdr(find_libmpi, &library);
  return library == NULL ? NULL : dlsym(library, name);
}

/* The next definition of function `index` of a list, kept in `next`; ends the process if there is none. */
static inline void* next_of(void* _Atomic* next, const char* const* names, int index, const char* who) {
  void* function = atomic_load_explicit(&next[index], memory_order_acquire);
  if (function != NULL) return function;
  function = find_next(names[index]);
  if (function == NULL) {
    fprintf(stderr, "%s: %s was called but no MPI library defines it\n", who, names[index]);
    abort();
  }
  atomic_store_explicit(&next[index], function, memory_order_release);
  return function;
}

/* Rank and size in MPI_COMM_WORLD, as far as they can be had. REQUIRES: MPI is initialized. */
static inline void ask_rank(atomic_int* rank_out, atomic_int* size_out) {
  typedef int (*ask)(MPI_Comm, int*);
  const ask rank = (ask)find_next("PMPI_Comm_rank");
  const ask size = (ask)find_next("PMPI_Comm_size");
#ifdef MPICH_VERSION
  const MPI_Comm world = MPI_COMM_WORLD; /* a number */
  const bool known = true;
#else
  /* Looked up by name: a reference to MPI_COMM_WORLD would tie this library to libmpi. The object may have
   * been copied into the executable (copy relocation): ask as the application would. */
  void* at = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  if (at == NULL) at = find_next("ompi_mpi_comm_world");
  const MPI_Comm world = (MPI_Comm)at;
  const bool known = at != NULL;
#endif
  int value = -1;
  if (rank == NULL || size == NULL || !known) return;
  if (rank(world, &value) == MPI_SUCCESS) atomic_store(rank_out, value);
  if (size(world, &value) == MPI_SUCCESS) atomic_store(size_out, value);
}

#endif
