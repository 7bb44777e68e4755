/* libmargay-callcount.so: counts a program's MPI calls, to check what a probe says against.
 *
 *   CALLCOUNT_DIR=/tmp/counts LD_PRELOAD=libmargay-callcount.so:libother.so mpirun -np 4 ./app
 *
 * Preload it BEFORE other interposers: it forwards to the next definition of the same name (dlsym RTLD_NEXT),
 * so it sees what the application called, not what somebody between called. Only outermost calls of a thread
 * count; what an MPI function (or an interposer inside it) calls in turn does not.
 *
 * Writes $CALLCOUNT_DIR/<pid>.json, {"rank":R,"size":N,"calls":{"MPI_Send":n,...}}, when MPI_Finalize has
 * returned, before MPI_Abort is passed on, and at exit; functions never called are left out, and a process
 * that calls no MPI function writes nothing. A call counts when it begins, so a call under way at exit is in.
 * Not counted: calls by the PMPI_ name, and so Fortran under Open MPI, and what happens
 * between the last writing and a death by signal or _exit.
 *
 * Thread safety: all functions from any thread; counters are atomic. Cost: about 5 ns a call. It links no MPI
 * library, so that it can be loaded into any process.
 */
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0 /* show the types of functions that MPI 3.0 removed */
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callcount_functions.inc"
#include "interpose.h"

#define EXPORT __attribute__((visibility("default")))

static atomic_uint_fast64_t g_calls[kFunctionCount];
static void* _Atomic g_next[kFunctionCount];
static _Thread_local int g_depth;
static atomic_int g_rank = -1;
static atomic_int g_size = -1;
static atomic_bool g_any;
static pthread_mutex_t g_write_lock = PTHREAD_MUTEX_INITIALIZER;

static void* callcount_next(int index) {
  return next_of(g_next, kFunctionNames, index, "callcount");
}

static void write_counts(void) {
  const char* folder = getenv("CALLCOUNT_DIR");
  if (folder == NULL || *folder == '\0' || !atomic_load(&g_any)) return;
  char path[4096];
  char temporary[4096 + 8];
  const int length = snprintf(path, sizeof(path), "%s/%d.json", folder, (int)getpid());
  if (length < 0 || length >= (int)sizeof(path)) return;
  snprintf(temporary, sizeof(temporary), "%s.tmp", path);
  pthread_mutex_lock(&g_write_lock);
  FILE* file = fopen(temporary, "we");
  if (file == NULL) {
    fprintf(stderr, "callcount: cannot write %s\n", temporary);
  } else {
    fprintf(file, "{\"rank\":%d,\"size\":%d,\"calls\":{", atomic_load(&g_rank), atomic_load(&g_size));
    const char* separator = "";
    for (int i = 0; i < kFunctionCount; ++i) {
      const uint_fast64_t calls = atomic_load_explicit(&g_calls[i], memory_order_relaxed);
      if (calls == 0) continue;
      fprintf(file, "%s\"%s\":%llu", separator, kFunctionNames[i], (unsigned long long)calls);
      separator = ",";
    }
    fprintf(file, "}}\n");
    /* Readers see the whole file or none. */
    if (fclose(file) != 0 || rename(temporary, path) != 0)
      fprintf(stderr, "callcount: cannot write %s\n", path);
  }
  pthread_mutex_unlock(&g_write_lock);
}

static void callcount_enter(int index) {
  if (g_depth++ > 0) return;
  atomic_store_explicit(&g_any, true, memory_order_relaxed);
  atomic_fetch_add_explicit(&g_calls[index], 1, memory_order_relaxed);
  if (strcmp(kFunctionNames[index], "MPI_Abort") == 0) write_counts();
}

static void callcount_leave(int index) {
  if (--g_depth > 0) return;
  const char* name = kFunctionNames[index];
  if (name[4] == 'I' && (strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0))
    ask_rank(&g_rank, &g_size);
  if (name[4] == 'F' && strcmp(name, "MPI_Finalize") == 0) write_counts();
}

/* A forked child has called nothing yet. */
static void forget(void) {
  atomic_store(&g_any, false);
  for (int i = 0; i < kFunctionCount; ++i) atomic_store_explicit(&g_calls[i], 0, memory_order_relaxed);
  pthread_mutex_init(&g_write_lock, NULL);
}

__attribute__((constructor)) static void load(void) {
  pthread_atfork(NULL, NULL, forget);
}
__attribute__((destructor)) static void unload(void) {
  write_counts();
}

#define CALLCOUNT_WRAPPERS
#include "callcount_functions.inc"
