/* What the probe adds to an MPI call: the time of calls that do almost nothing, through the probe and past it
 * (the library's own entry, by its address), in the same process, interleaved.
 *
 *   mpicc -O2 -o probe_cost probe_cost.c
 *   mpirun -np 1 -x LD_PRELOAD=libmargay-probe.so -x MARGAY_RUN_DIR=DIR ./probe_cost
 *
 * Without an agent the ring fills after 65536 calls and the rest is dropped: the drop path is printed apart.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "past_the_probe.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int (*bare_iprobe)(int, int, MPI_Comm, int*, MPI_Status*);
static int (*bare_irecv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
static int (*bare_send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
static int (*bare_wait)(MPI_Request*, MPI_Status*);

enum { ROUNDS = 30, CALLS = 1000 };

#define MEASURE(result, call)             \
  do {                                    \
    const double begin = now();           \
    for (int k = 0; k < CALLS; ++k) call; \
    result = (now() - begin) / CALLS;     \
  } while (0)

static double median(double* v) {
  qsort(v, ROUNDS, sizeof *v, smaller);
  return v[ROUNDS / 2];
}

static void compare(const char* what) {
  double with[ROUNDS], without[ROUNDS], send_with[ROUNDS], send_without[ROUNDS];
  MPI_Request request;
  int flag, x = 0, y = 0;
  for (int i = 0; i < ROUNDS; ++i) {
    MEASURE(without[i], bare_iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    MEASURE(with[i], MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    double a = 0, b = 0;
    for (int k = 0; k < 100; ++k) { /* the send alone; its receive goes past the probe */
      bare_irecv(&y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
      double begin = now();
      bare_send(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
      a += now() - begin;
      bare_wait(&request, MPI_STATUS_IGNORE);
      bare_irecv(&y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
      begin = now();
      MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
      b += now() - begin;
      bare_wait(&request, MPI_STATUS_IGNORE);
    }
    send_without[i] = a / 100;
    send_with[i] = b / 100;
  }
  const double p0 = median(without), p1 = median(with), s0 = median(send_without), s1 = median(send_with);
  printf("%-10s MPI_Iprobe bare %6.1f ns, with the probe %6.1f ns, added %6.1f ns, ratio %.2f\n", what, p0,
         p1, p1 - p0, p1 / p0);
  printf("%-10s MPI_Send   bare %6.1f ns, with the probe %6.1f ns, added %6.1f ns, ratio %.2f\n", what, s0,
         s1, s1 - s0, s1 / s0);
}

int main(int argc, char** argv) {
  double clocks;
  MPI_Init(&argc, &argv);
  *(void**)&bare_iprobe = bare("PMPI_Iprobe");
  *(void**)&bare_irecv = bare("PMPI_Irecv");
  *(void**)&bare_send = bare("PMPI_Send");
  *(void**)&bare_wait = bare("PMPI_Wait");
  MEASURE(clocks, (now(), now()));
  printf("%-10s two readings of the clock %.1f ns\n", "", clocks);
  compare("recorded");
  int flag;
  for (long k = 0; k < 100000; ++k) MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  compare("ring full");
  MPI_Finalize();
  return 0;
}
