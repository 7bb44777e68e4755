/* What really happened: on stdout at the end, and as JSON lines in --truth FILE while it happens. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static int64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t realtime_ns(void) {
  return clock_ns(CLOCK_REALTIME);
}
double monotonic_s(void) {
  return 1e-9 * (double)clock_ns(CLOCK_MONOTONIC);
}

/* One write of a whole line to a file opened for appending: lines of several ranks do not mix. */
static void write_line(const struct workload* w, const char* text) {
  if (w->truth_fd < 0) return;
  if (write(w->truth_fd, text, strlen(text)) < 0) perror("margay-workload: --truth");
}

void truth_phase(struct workload* w, const struct phase* phase) {
  if (w->rank != 0) return;
  const struct name* name = &w->names[phase->name];
  char text[256];
  snprintf(text, sizeof(text),
           "{\"kind\":\"phase\",\"name\":\"%s\",\"pattern\":\"%s\",\"begin_ns\":%" PRId64
           ",\"end_ns\":%" PRId64 ",\"iterations\":%" PRId64 "}\n",
           name->text, pattern_name(name->pattern), phase->begin_ns, phase->end_ns, phase->iterations);
  write_line(w, text);
}

void truth_fault(struct workload* w, const struct fault* fault) {
  if (fault->begin_ns == 0) return;
  char text[256];
  snprintf(text, sizeof(text),
           "{\"kind\":\"fault\",\"fault\":\"%s\",\"rank\":%d,\"begin_ns\":%" PRId64 ",\"end_ns\":%" PRId64
           "}\n",
           fault_name(fault->kind), fault->rank, fault->begin_ns, fault->end_ns);
  write_line(w, text);
}

void truth_print(struct workload* w) {
  int64_t fault_edges[kMaxFaults * 2] = {0};
  int64_t all_faults[kMaxFaults * 2] = {0};
  for (int i = 0; i < w->fault_count; ++i) {
    if (w->faults[i].rank != w->rank) continue;
    fault_edges[2 * i] = w->faults[i].begin_ns;
    fault_edges[2 * i + 1] = w->faults[i].end_ns;
  }
  MPI_Reduce(fault_edges, all_faults, 2 * w->fault_count, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);

  /* How far apart the ranks crossed the edges: rank 0's edges are good to about this. */
  static int64_t ends[kMaxPhases];
  static int64_t least[kMaxPhases];
  static int64_t most[kMaxPhases];
  for (int i = 0; i < w->phase_count; ++i) ends[i] = w->phases[i].end_ns;
  MPI_Reduce(ends, least, w->phase_count, MPI_INT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(ends, most, w->phase_count, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
  if (w->rank != 0) return;

  int64_t spread = 0;
  for (int i = 0; i < w->phase_count; ++i) {
    const struct phase* phase = &w->phases[i];
    printf("phase %s %" PRId64 " %" PRId64 "\n", w->names[phase->name].text, phase->begin_ns, phase->end_ns);
    if (most[i] - least[i] > spread) spread = most[i] - least[i];
  }
  for (int i = 0; i < w->fault_count; ++i) {
    const struct fault* fault = &w->faults[i];
    if (all_faults[2 * i] == 0) {
      printf("fault %s rank %d did not happen\n", fault_name(fault->kind), fault->rank);
    } else {
      printf("fault %s rank %d %" PRId64 " %" PRId64 "\n", fault_name(fault->kind), fault->rank,
             all_faults[2 * i], all_faults[2 * i + 1]);
    }
  }
  printf("spread %" PRId64 "\n", spread);
  fflush(stdout);
}
