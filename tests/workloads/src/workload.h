/* margay-workload: what its parts share.
 *
 * Purpose: an MPI program whose phases and faults are known to the nanosecond, so that what a watcher
 * reports can be compared with what happened.
 * Units: seconds as double in options, nanoseconds (CLOCK_REALTIME) in everything printed; ranges are
 * half-open, [begin, end).
 * Errors: options are checked by plan.c before MPI_Init; a failed MPI call aborts the job (Open MPI's
 * default). Thread safety: none, one thread per rank. Ownership: everything lies in struct workload, which
 * main owns.
 */
#ifndef MARGAY_TESTS_WORKLOADS_WORKLOAD_H_
#define MARGAY_TESTS_WORKLOADS_WORKLOAD_H_

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { kMaxPhases = 512, kMaxFaults = 16, kMaxHeavier = 16, kMaxNames = 26, kNameSize = 32 };

enum pattern { kCg, kLu, kStencil, kAllToAll, kCompute, kIo, kPatternCount };
enum fault_kind { kStop, kSlow, kSleep, kImbalance };

struct phase {
  int name; /* index into workload.names */
  double seconds;
  int64_t most;             /* iterations, instead of seconds; 0: as long as that lasts */
  int64_t begin_ns, end_ns; /* as this rank saw them */
  int64_t iterations;
};

struct fault {
  enum fault_kind kind;
  int rank;
  double at_s, for_s; /* after the start of the plan, and for how long */
  bool begun, done;   /* on this rank */
  double begun_s;     /* slow, imbalance: after the start of the plan, later than at_s where it waited */
  int64_t begin_ns, end_ns; /* truth, on the rank concerned; 0 = did not happen */
  int helper_fd;            /* stop: socket to the helper that sends SIGCONT, -1 = none */
  int helper_pid;
};

/* More work in all phases of a name, on one rank, for good: a code that got slower. */
struct heavier {
  int name, rank;
  double percent;
};

struct name {
  char text[kNameSize];
  enum pattern pattern;
};

struct workload {
  struct name names[kMaxNames];
  int name_count;
  struct phase phases[kMaxPhases];
  int phase_count;
  struct fault faults[kMaxFaults];
  int fault_count;
  struct heavier heavier[kMaxHeavier];
  int heavier_count;
  double factor;       /* on this rank's work, in the phase that it is in */
  double grain_ms;     /* computation of one iteration of one rank */
  double loops_per_ms; /* speed of compute(), calibrated once and the same on every rank */
  bool pcontrol;
  bool sleeps;   /* instead of computing */
  double uneven; /* of the work, what the last rank has less than rank 0 */
  int sparse;    /* iterations merged into one: 1 = normal */
  const char* truth_path;
  const char* io_path;
  int truth_fd;
  int rank, size;
  double start_s; /* CLOCK_MONOTONIC at the start of the plan */
};

/* plan.c: options. Returns 0 to go on, 1 to leave with success (--help), 2 for a bad option (message printed
 * if loud). */
int workload_options(struct workload* w, int argc, char** argv, bool loud);
const char* pattern_name(enum pattern pattern);
const char* fault_name(enum fault_kind kind);

/* compute.c: arithmetic whose time depends on nothing but the amount asked for. */
double compute_calibrate(void);                 /* loops per millisecond of processor time, about 60 ms */
void compute(struct workload* w, double parts); /* 1.0 = one grain; planted faults act here */
void sleep_s(double seconds);                   /* whatever signals come */

/* fault.c */
void fault_prepare(struct workload* w, int rank); /* before MPI_Init: forks helpers of this rank's stops */
double fault_point(struct workload* w);           /* acts on due faults; returns the factor on the work */
void fault_finish(struct workload* w);            /* ends open faults, reaps the helpers */
int fault_helper_main(int fd);                    /* what the helper runs */

/* patterns.c: runs iterations until rank 0's clock says the phase is over; all ranks leave at the same one.
 */
void pattern_run(struct workload* w, struct phase* phase);

/* truth.c */
int64_t realtime_ns(void);
double monotonic_s(void);
void truth_phase(struct workload* w, const struct phase* phase);
void truth_fault(struct workload* w, const struct fault* fault);
void truth_print(struct workload* w); /* collective; rank 0 writes to stdout */

#endif
