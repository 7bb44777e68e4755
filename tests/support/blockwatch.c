/* libmargay-blockwatch-outer.so, libmargay-blockwatch-inner.so: what an interposer between them costs a
 * program's MPI calls, and whether it ever makes one wait.
 *
 *   BLOCKWATCH_DIR=/tmp/watch
 * LD_PRELOAD=libmargay-blockwatch-outer.so:libother.so:libmargay-blockwatch-inner.so \ mpirun -np 4 ./app
 *
 * This file makes both. The outer one is called by the program and calls the library under watch; the inner
 * one is called by that and calls MPI. The part of a call that lies between them is what is measured:
 *
 *   program -> outer |<- library under watch ->| inner -> MPI -> inner |<- library under watch ->| outer ->
 * program
 *
 * by four clocks: wall time, processor time of the thread, its voluntary context switches (it waited for
 * something: a lock, a disk, a pipe, sleep) and its involuntary ones (another program took the processor:
 * nobody's doing here). Only outermost calls of a thread, and only functions that the library under watch
 * defines. The outer library's own readings of the clocks lie outside of what wall time measures.
 *
 * $BLOCKWATCH_DIR/<pid>.json, written when MPI_Finalize has returned:
 *   {"rank":R,"size":N,"functions":F,"kinds":{"init":K,"first":K,"call":K,"finalize":K},"offenders":[O,...]}
 *   F  functions that the library under watch defines
 *   K  {"calls":n,"wall":T,"cpu":T,"voluntary":n,"long_wall":n,"long_wall_preempted":n,"long_cpu":n}
 *      T = {"max":ns,"p50":ns,"p99":ns,"p999":ns}, percentiles within an eighth; long = above 1 ms;
 *      voluntary, long_...: calls, not switches
 *   O  the first 32 calls with a voluntary switch, long processor time, or long wall time without an
 * involuntary switch: {"function":NAME,"kind":...,"wall_ns":n,"cpu_ns":n,"voluntary":n,"involuntary":n} The
 * kinds: MPI_Init and MPI_Init_thread, the first other call of each thread that did not call those,
 * MPI_Finalize, and all the rest.
 *
 * BLOCKWATCH_INJECT=sleep:MPI_Xxx or spin:MPI_Xxx makes the inner library sleep or compute for 2 ms inside
 * the measured part of the tenth call of that function: for the test that this is noticed.
 *
 * Thread safety: all functions from any thread. Cost: about 8 us a call, four times two system calls. It
 * links no MPI library, so that it can be loaded into any process.
 */
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0 /* show the types of functions that MPI 3.0 removed */
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "callcount_functions.inc"
#include "interpose.h"

#define EXPORT __attribute__((visibility("default")))

static void* _Atomic g_next[kFunctionCount];

static void* callcount_next(int index) {
  return next_of(g_next, kFunctionNames, index, "blockwatch");
}

/* All at once, so that no search lies inside a measured part. */
static void find_all(void) {
  for (int i = 0; i < kFunctionCount; ++i)
    atomic_store_explicit(&g_next[i], dlsym(RTLD_NEXT, kFunctionNames[i]), memory_order_release);
}

static int64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

#ifdef BLOCKWATCH_INNER

/* Defined by the outer library. NULL without it. */
static void (*g_cross)(bool leaving);
static int g_inject = -1;
static bool g_inject_spin;
static atomic_int g_inject_calls;
static _Thread_local int g_depth;

static void inject(void) {
  if (atomic_fetch_add(&g_inject_calls, 1) != 9) return;
  if (!g_inject_spin) {
    usleep(2000);
    return;
  }
  const int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 2000000;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

static void callcount_enter(int index) {
  if (g_depth++ > 0) return;
  if (index == g_inject) inject();
  if (g_cross != NULL) g_cross(false);
}

static void callcount_leave(int index) {
  (void)index;
  if (--g_depth > 0) return;
  if (g_cross != NULL) g_cross(true);
}

__attribute__((constructor)) static void load(void) {
  find_all();
  g_cross = (void (*)(bool))dlsym(RTLD_DEFAULT, "blockwatch_cross");
  const char* wanted = getenv("BLOCKWATCH_INJECT");
  const char* name = wanted == NULL ? NULL : strchr(wanted, ':');
  if (name == NULL) return;
  g_inject_spin = strncmp(wanted, "spin:", 5) == 0;
  for (int i = 0; i < kFunctionCount; ++i)
    if (strcmp(kFunctionNames[i], name + 1) == 0) g_inject = i;
}

#else

enum { kLong = 1000000, kBuckets = 64 * 8, kOffenders = 32 };
enum kind { kInit, kFirst, kCall, kFinalize, kKinds };
static const char* const kKindNames[kKinds] = {"init", "first", "call", "finalize"};

struct sample {
  int64_t wall, cpu;
  long voluntary, involuntary;
};
/* Values by size: eight buckets for each power of two. */
struct spread {
  atomic_uint_fast64_t buckets[kBuckets];
  atomic_int_fast64_t max;
};
struct figures {
  atomic_uint_fast64_t calls, voluntary, long_wall, long_wall_preempted, long_cpu;
  struct spread wall, cpu;
};
struct offender {
  int function;
  enum kind kind;
  struct sample part;
};

static bool g_watched[kFunctionCount];
static enum kind g_kinds[kFunctionCount];
static int g_functions;
static struct figures g_figures[kKinds];
static struct offender g_offenders[kOffenders];
static atomic_int g_offender_count;
static atomic_int g_rank = -1;
static atomic_int g_size = -1;
static _Thread_local int g_depth;
static _Thread_local bool g_called;
static _Thread_local struct sample g_begin; /* where the part under way began */
static _Thread_local struct sample g_sum;   /* of the parts of this call */

static void read_switches(struct sample* s) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  s->voluntary = usage.ru_nvcsw;
  s->involuntary = usage.ru_nivcsw;
}

/* Wall time last at a begin and first at an end: the switches of a part are at least those in its wall time.
 */
static void begin_part(void) {
  read_switches(&g_begin);
  g_begin.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  g_begin.wall = clock_ns(CLOCK_MONOTONIC);
}

static void end_part(void) {
  struct sample now;
  now.wall = clock_ns(CLOCK_MONOTONIC);
  now.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  read_switches(&now);
  g_sum.wall += now.wall - g_begin.wall;
  /* The two readings of the processor's time lie around those of the wall's: when the machine itself is taken
   * away between them, more of it seems used than there was. */
  const int64_t wall = now.wall - g_begin.wall, cpu = now.cpu - g_begin.cpu;
  g_sum.cpu += cpu < wall ? cpu : wall;
  g_sum.voluntary += now.voluntary - g_begin.voluntary;
  g_sum.involuntary += now.involuntary - g_begin.involuntary;
}

EXPORT void blockwatch_cross(bool leaving);
void blockwatch_cross(bool leaving) {
  if (g_depth != 1) return;
  if (leaving)
    begin_part();
  else
    end_part();
}

static int bucket_of(int64_t value) {
  if (value < 8) return value < 0 ? 0 : (int)value;
  const int power = 63 - __builtin_clzll((unsigned long long)value);
  return (power - 2) * 8 + (int)((value >> (power - 3)) & 7);
}

static int64_t bucket_end(int bucket) {
  return bucket < 8 ? bucket : (INT64_C(9) + bucket % 8) << (bucket / 8 - 1);
}

static void add_value(struct spread* spread, int64_t value) {
  atomic_fetch_add_explicit(&spread->buckets[bucket_of(value)], 1, memory_order_relaxed);
  int_fast64_t max = atomic_load(&spread->max);
  while (value > max && !atomic_compare_exchange_weak(&spread->max, &max, value)) {
  }
}

static int64_t percentile(struct spread* spread, uint64_t calls, double part) {
  uint64_t left = (uint64_t)((double)calls * part);
  for (int i = 0; i < kBuckets; ++i) {
    const uint64_t here = atomic_load(&spread->buckets[i]);
    if (here > left) {
      const int64_t end = bucket_end(i), max = atomic_load(&spread->max);
      return end < max ? end : max;
    }
    left -= here;
  }
  return atomic_load(&spread->max);
}

static void account(int function, enum kind kind) {
  struct figures* f = &g_figures[kind];
  const struct sample* part = &g_sum;
  atomic_fetch_add(&f->calls, 1);
  add_value(&f->wall, part->wall);
  add_value(&f->cpu, part->cpu);
  if (part->voluntary > 0) atomic_fetch_add(&f->voluntary, 1);
  if (part->cpu > kLong) atomic_fetch_add(&f->long_cpu, 1);
  if (part->wall > kLong) atomic_fetch_add(&f->long_wall, 1);
  if (part->wall > kLong && part->involuntary > 0) atomic_fetch_add(&f->long_wall_preempted, 1);
  if (part->voluntary == 0 && part->cpu <= kLong && (part->wall <= kLong || part->involuntary > 0)) return;
  const int at = atomic_fetch_add(&g_offender_count, 1);
  if (at < kOffenders) g_offenders[at] = (struct offender){function, kind, *part};
}

static void write_spread(FILE* file, const char* name, struct spread* spread, uint64_t calls) {
  fprintf(file, "\"%s\":{\"max\":%lld,\"p50\":%lld,\"p99\":%lld,\"p999\":%lld},", name,
          (long long)atomic_load(&spread->max), (long long)percentile(spread, calls, 0.5),
          (long long)percentile(spread, calls, 0.99), (long long)percentile(spread, calls, 0.999));
}

static void write_report(void) {
  const char* folder = getenv("BLOCKWATCH_DIR");
  if (folder == NULL || *folder == '\0') return;
  char path[4096];
  char temporary[4096 + 8];
  const int length = snprintf(path, sizeof(path), "%s/%d.json", folder, (int)getpid());
  if (length < 0 || length >= (int)sizeof(path)) return;
  snprintf(temporary, sizeof(temporary), "%s.tmp", path);
  FILE* file = fopen(temporary, "we");
  if (file == NULL) {
    fprintf(stderr, "blockwatch: cannot write %s\n", temporary);
    return;
  }
  fprintf(file, "{\"rank\":%d,\"size\":%d,\"functions\":%d,\"kinds\":{", atomic_load(&g_rank),
          atomic_load(&g_size), g_functions);
  for (int kind = 0; kind < kKinds; ++kind) {
    struct figures* f = &g_figures[kind];
    const uint64_t calls = atomic_load(&f->calls);
    fprintf(file, "%s\"%s\":{\"calls\":%llu,", kind == 0 ? "" : ",", kKindNames[kind],
            (unsigned long long)calls);
    write_spread(file, "wall", &f->wall, calls);
    write_spread(file, "cpu", &f->cpu, calls);
    fprintf(file, "\"voluntary\":%llu,\"long_wall\":%llu,\"long_wall_preempted\":%llu,\"long_cpu\":%llu}",
            (unsigned long long)atomic_load(&f->voluntary), (unsigned long long)atomic_load(&f->long_wall),
            (unsigned long long)atomic_load(&f->long_wall_preempted),
            (unsigned long long)atomic_load(&f->long_cpu));
  }
  fprintf(file, "},\"offenders\":[");
  const int offenders = atomic_load(&g_offender_count);
  for (int i = 0; i < offenders && i < kOffenders; ++i) {
    const struct offender* o = &g_offenders[i];
    fprintf(file, "%s{\"function\":\"%s\",\"kind\":\"%s\",\"wall_ns\":%lld,\"cpu_ns\":%lld,",
            i == 0 ? "" : ",", kFunctionNames[o->function], kKindNames[o->kind], (long long)o->part.wall,
            (long long)o->part.cpu);
    fprintf(file, "\"voluntary\":%ld,\"involuntary\":%ld}", o->part.voluntary, o->part.involuntary);
  }
  fprintf(file, "]}\n");
  /* Readers see the whole file or none. */
  if (fclose(file) != 0 || rename(temporary, path) != 0)
    fprintf(stderr, "blockwatch: cannot write %s\n", path);
}

static void callcount_enter(int index) {
  if (g_depth++ > 0 || !g_watched[index]) return;
  memset(&g_sum, 0, sizeof(g_sum));
  begin_part();
}

static void callcount_leave(int index) {
  if (g_depth == 1 && g_watched[index]) {
    end_part();
    const enum kind kind = g_kinds[index] == kCall && !g_called ? kFirst : g_kinds[index];
    g_called = true;
    account(index, kind);
    if (kind == kInit) ask_rank(&g_rank, &g_size);
    if (kind == kFinalize) write_report();
  }
  --g_depth;
}

__attribute__((constructor)) static void load(void) {
  find_all();
  for (int i = 0; i < kFunctionCount; ++i) {
    /* Under watch is what lies between us and the inner library. */
    Dl_info info;
    void* next = atomic_load(&g_next[i]);
    if (next == NULL || dladdr(next, &info) == 0 || info.dli_fname == NULL) continue;
    const char* base = strrchr(info.dli_fname, '/');
    base = base == NULL ? info.dli_fname : base + 1;
    g_watched[i] = strncmp(base, "libmpi.so", 9) != 0 && strncmp(base, "libmargay-blockwatch-inner", 26) != 0;
    g_functions += g_watched[i] ? 1 : 0;
    g_kinds[i] = strncmp(kFunctionNames[i], "MPI_Init", 8) == 0 && kFunctionNames[i][8] != 'i' ? kInit
                 : strcmp(kFunctionNames[i], "MPI_Finalize") == 0                              ? kFinalize
                                                                                               : kCall;
  }
}

#endif

#define CALLCOUNT_WRAPPERS
#include "callcount_functions.inc"
