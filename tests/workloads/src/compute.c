/* Arithmetic with the memory access of a small sparse product: every row gathers five entries of a vector by
 * a fixed table. The table and the loop count never depend on the values, the values never become denormal
 * (the row sums are below 1 and a constant is added), so equal amounts take equal time on an equal processor,
 * and a slowed rank really takes longer: nothing here looks at the clock. */
#include <errno.h>
#include <time.h>

#include "workload.h"

enum { kRows = 512, kGather = 5 };

static double g_x[2][kRows];
static uint16_t g_index[kRows][kGather];
static volatile double g_sink; /* keeps the compiler from removing the work */

static void setup(void) {
  static bool ready = false;
  if (ready) return;
  ready = true;
  uint32_t state = 12345;
  for (int row = 0; row < kRows; ++row) {
    g_x[0][row] = g_x[1][row] = 1.0;
    for (int k = 0; k < kGather; ++k) {
      state = state * 1664525U + 1013904223U;
      g_index[row][k] = (uint16_t)((state >> 16) % kRows);
    }
  }
}

/* One loop is one pass over all rows. */
static void run_loops(int64_t loops) {
  static const double weight[kGather] = {0.3, 0.2, 0.15, 0.1, 0.05};
  for (int64_t loop = 0; loop < loops; ++loop) {
    const double* from = g_x[loop & 1];
    double* to = g_x[(loop & 1) ^ 1];
    for (int row = 0; row < kRows; ++row) {
      double sum = 0.1;
      for (int k = 0; k < kGather; ++k) sum += weight[k] * from[g_index[row][k]];
      to[row] = sum;
    }
  }
  g_sink = g_x[0][7] + g_x[1][11];
}

static double thread_cpu_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sleep_s(double seconds) {
  struct timespec left = {.tv_sec = (time_t)seconds};
  left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
  while (nanosleep(&left, &left) == -1 && errno == EINTR) {
  }
}

double compute_calibrate(void) {
  /* Processor time, and the fastest of several tries: other ranks and programs may share the core. */
  enum { kLoops = 2000, kTries = 12 };
  setup();
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const double begin = thread_cpu_s();
    run_loops(kLoops);
    const double took = thread_cpu_s() - begin;
    if (took > 0 && took < best) best = took;
  }
  return kLoops / (best * 1e3);
}

void compute(struct workload* w, double parts) {
  setup();
  double factor = fault_point(w) * w->factor;
  if (w->size > 1) factor *= 1.0 - w->uneven * w->rank / (w->size - 1);
  if (w->sleeps) {
    sleep_s(1e-3 * w->grain_ms * w->sparse * parts * factor);
    return;
  }
  run_loops((int64_t)(w->loops_per_ms * w->grain_ms * w->sparse * parts * factor));
}
