/* What the benchmarks of the probe share. Each is one program, compiled by hand. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* An entry of the MPI library's own, past all that is preloaded. */
static void* bare(const char* name) {
  void* library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) library = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
  void* function = library == NULL ? NULL : dlsym(library, name);
  if (function == NULL) {
    fprintf(stderr, "no MPI library has %s\n", name);
    exit(1);
  }
  return function;
}

/* Of two numbers, for qsort. */
static int smaller(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
