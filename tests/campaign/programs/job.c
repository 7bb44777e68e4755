/* Ranks that work and talk to each other in one of four ways until they are told to end, and that write down
 * how long each of their steps took: what a fault did to a rank is known without Margay.
 *
 *   campaign-job coupled|halo|files|farm LOG STOP
 *                [--work MS] [--streams RANKS] [--writers RANKS] [--folder DIR]
 *
 *   coupled   work, then MPI_Allreduce: all wait for the slowest
 *   halo      work, then MPI_Isend, MPI_Irecv and MPI_Waitall with both neighbours of a ring
 *   files     as coupled, but the --writers write and fsync a file in --folder after a part of the work
 *   farm      rank 0 hands out tasks (MPI_Probe, MPI_Recv, MPI_Send), the others work; nobody waits for a
 *             slow one
 *
 * --work is the processor time of a step's work, ms (5); each step of a rank takes up to a tenth more, as it
 * comes. The work of the ranks --streams (a list: 1,3) goes through more memory than caches hold, the others'
 * stays in them. The amount of work is fixed at the start and does not depend on the clock: a slowed rank
 * really takes longer. After the first step rank 0 prints "steps". All end when the file STOP is there.
 *
 * LOG.RANK: three numbers of 64 bits a step, nanoseconds of CLOCK_REALTIME: begin, end, and how much of the
 * time between them was the rank's own (work and files, not MPI). Kept in memory until the end, kMostSteps at
 * most: writing must not disturb. The master's own time of a step is what lies between two MPI calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  kMostSteps = 1 << 20,
  kCached = 1 << 10,     /* doubles */
  kStreamed = 12 << 20,  /* doubles: 96 MiB */
  kStride = 8,           /* doubles: a cache line */
  kStreamPart = 1 << 14, /* lines of one unit of work */
  kHalo = 2048,
  kFileBytes = 256 << 10,
  kStepsPerLook = 16
};

struct step {
  int64_t begin, end, own;
};

static struct step* g_steps;
static int g_count;
static int g_rank, g_size;
static const char* g_stop;
static bool g_streams;
static double g_cached[kCached];
static double* g_streamed;
static size_t g_at;
static double g_units_per_ms;
static volatile double g_sink; /* keeps the compiler from removing the work */

static int64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now(void) {
  return clock_ns(CLOCK_REALTIME);
}

static void fail(const char* what) {
  fprintf(stderr, "campaign-job: rank %d: %s: %s\n", g_rank, what, strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 2);
}

/* A unit takes some 20 us in caches, more where it streams. */
static void work_units(int64_t units) {
  double sum = 0;
  for (int64_t u = 0; u < units; ++u) {
    if (g_streams) {
      for (int i = 0; i < kStreamPart; ++i) {
        g_streamed[g_at] += 1.0;
        g_at = (g_at + kStride) % kStreamed;
      }
    } else {
      for (int pass = 0; pass < 16; ++pass)
        for (int i = 0; i < kCached; ++i) g_cached[i] = 0.5 * g_cached[i] + 0.3;
    }
  }
  for (int i = 0; i < kCached; i += 64) sum += g_cached[i];
  g_sink = sum;
}

/* Processor time, and the fastest of several tries: others may share the core. */
static void calibrate(void) {
  enum { kUnits = 40, kTries = 12 };
  int64_t best = INT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const int64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work_units(kUnits);
    const int64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (took > 0 && took < best) best = took;
  }
  g_units_per_ms = kUnits * 1e6 / (double)best;
}

static void work(double ms) {
  static uint32_t state = 0;
  if (state == 0) state = 12345U + 977U * (uint32_t)g_rank;
  state = state * 1664525U + 1013904223U;
  work_units((int64_t)(ms * (1.0 + 0.1 * (double)(state >> 8) / (1 << 24)) * g_units_per_ms) + 1);
}

static void note(int64_t begin, int64_t own) {
  if (g_count < kMostSteps) g_steps[g_count++] = (struct step){begin, now(), own};
  if (g_rank == 0 && g_count == 1) {
    printf("steps\n");
    fflush(stdout);
  }
}

static bool told_to_stop(void) {
  return access(g_stop, F_OK) == 0;
}

/* Rank 0 looks, all agree: none goes on alone. */
static bool together_over(void) {
  int mine = g_rank == 0 && told_to_stop();
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

static void coupled(double ms) {
  double out[64] = {0};
  double in[64];
  for (bool over = false; !over;) {
    const int64_t begin = now();
    work(ms);
    const int64_t own = now() - begin;
    out[0] = g_rank == 0 && told_to_stop();
    MPI_Allreduce(out, in, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    over = in[0] > 0;
    note(begin, own);
  }
}

static void halo(double ms) {
  static double out[2][kHalo];
  static double in[2][kHalo];
  const int left = (g_rank + g_size - 1) % g_size;
  const int right = (g_rank + 1) % g_size;
  for (int step = 1;; ++step) {
    const int64_t begin = now();
    work(ms);
    const int64_t own = now() - begin;
    MPI_Request requests[4];
    MPI_Irecv(in[0], kHalo, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], kHalo, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out[0], kHalo, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out[1], kHalo, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    note(begin, own);
    if (step % kStepsPerLook == 0 && together_over()) return;
  }
}

static void files(double ms, bool writes, const char* folder) {
  static char block[kFileBytes];
  int fd = -1;
  if (writes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/rank%d", folder, g_rank);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) fail(path);
  }
  do {
    const int64_t begin = now();
    work(writes ? 0.3 * ms : ms);
    if (writes && (pwrite(fd, block, sizeof(block), 0) != (ssize_t)sizeof(block) || fsync(fd) != 0))
      fail("write");
    const int64_t own = now() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    note(begin, own);
  } while (!together_over());
  if (writes) close(fd);
}

static void farm_master(double ms) {
  int at_work = g_size - 1;
  while (at_work > 0) {
    MPI_Status status;
    double result;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Recv(&result, 1, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int64_t begin = now();
    work(0.02 * ms);
    const double task = told_to_stop() ? 0 : ms;
    if (task == 0) --at_work;
    const int64_t own = now() - begin;
    MPI_Send(&task, 1, MPI_DOUBLE, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    note(begin, own);
  }
}

static void farm_worker(void) {
  for (;;) {
    const int64_t begin = now();
    double task = 0;
    const double result = g_cached[0];
    MPI_Send(&result, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&task, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (task == 0) return;
    const int64_t working = now();
    work(task);
    note(begin, now() - working);
  }
}

static bool listed(const char* list, int rank) {
  while (list != NULL && *list != '\0') {
    char* end;
    if (strtol(list, &end, 10) == rank && end != list) return true;
    list = *end == ',' ? end + 1 : NULL;
  }
  return false;
}

static void write_log(const char* prefix) {
  char path[4096];
  snprintf(path, sizeof(path), "%s.%d", prefix, g_rank);
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(g_steps, sizeof(struct step), (size_t)g_count, file) != (size_t)g_count ||
      fclose(file) != 0)
    fail(path);
}

int main(int argc, char** argv) {
  double ms = 5;
  const char *streams = NULL, *writers = NULL, *folder = ".";
  bool wrong = argc < 4;
  for (int i = 4; i < argc && !wrong; i += 2) {
    wrong = i + 1 == argc;
    if (wrong) break;
    if (strcmp(argv[i], "--work") == 0)
      ms = atof(argv[i + 1]);
    else if (strcmp(argv[i], "--streams") == 0)
      streams = argv[i + 1];
    else if (strcmp(argv[i], "--writers") == 0)
      writers = argv[i + 1];
    else if (strcmp(argv[i], "--folder") == 0)
      folder = argv[i + 1];
    else
      wrong = true;
  }
  if (wrong || ms <= 0) {
    fprintf(stderr,
            "campaign-job: expected coupled|halo|files|farm LOG STOP [--work MS] [--streams RANKS]"
            " [--writers RANKS] [--folder DIR]\n");
    return 2;
  }
  const char* pattern = argv[1];
  g_stop = argv[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  g_streams = listed(streams, g_rank);
  g_steps = malloc(sizeof(struct step) * kMostSteps);
  g_streamed = g_streams ? calloc(kStreamed, sizeof(double)) : NULL;
  if (g_steps == NULL || (g_streams && g_streamed == NULL)) fail("memory");
  if (g_streams)
    for (size_t i = 0; i < kStreamed; i += 512) g_streamed[i] = 1; /* pages of its own, not the zero page */
  calibrate();
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(pattern, "coupled") == 0)
    coupled(ms);
  else if (strcmp(pattern, "halo") == 0)
    halo(ms);
  else if (strcmp(pattern, "files") == 0)
    files(ms, listed(writers, g_rank), folder);
  else if (strcmp(pattern, "farm") == 0 && g_size > 1 && g_rank == 0)
    farm_master(ms);
  else if (strcmp(pattern, "farm") == 0 && g_size > 1)
    farm_worker();
  else
    fail(pattern);
  write_log(argv[2]);
  free(g_steps);
  free(g_streamed);
  MPI_Finalize();
  return 0;
}
