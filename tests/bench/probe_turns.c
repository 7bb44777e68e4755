/* What the probe costs a job that only communicates, on cores that many ranks share: the steps of such a job
 * in blocks, by turns through the probe and past it (the library's own entries, by their address), in one run
 * of one program.
 *
 *   mpicc -O2 -o probe_turns probe_turns.c
 *   mpirun -np 64 -x LD_PRELOAD=libmargay-probe.so -x MARGAY_RUN_DIR=DIR ./probe_turns [BLOCKS [STEPS]]
 *
 * DIR needs a folder `rings`; without an agent the rings fill, and the cost is that of dropping. Under
 * `margay run
 * --every-call` instead it is that of recording, and under `margay run` that of summing. Prints, of rank 0,
 * the ratio of each neighbouring pair's times: the median, and the quartiles. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "past_the_probe.h"

enum { PARTNERS = 2, VALUES = 64, MOST_BLOCKS = 4096 };

struct calls {
  int (*irecv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  int (*waitall)(int, MPI_Request*, MPI_Status*);
  int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
};

static double block(const struct calls* mpi, int rank, int size, int steps) {
  static double out[VALUES], in[PARTNERS][VALUES];
  double mine = 1, all = 0;
  const double begin = MPI_Wtime();
  for (int s = 0; s < steps; ++s) {
    MPI_Request requests[PARTNERS];
    const int partners[PARTNERS] = {(rank + 1) % size, (rank + size - 1) % size};
    for (int p = 0; p < PARTNERS; ++p)
      mpi->irecv(in[p], VALUES, MPI_DOUBLE, partners[p], 1, MPI_COMM_WORLD, &requests[p]);
    for (int p = 0; p < PARTNERS; ++p) mpi->send(out, VALUES, MPI_DOUBLE, partners[p], 1, MPI_COMM_WORLD);
    mpi->waitall(PARTNERS, requests, MPI_STATUSES_IGNORE);
    mpi->allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begin;
}

int main(int argc, char** argv) {
  int rank, size;
  static double ratios[MOST_BLOCKS];
  struct calls past, through = {MPI_Irecv, MPI_Send, MPI_Waitall, MPI_Allreduce};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int blocks = argc > 1 ? atoi(argv[1]) : 200, steps = argc > 2 ? atoi(argv[2]) : 20;
  if (blocks < 1 || blocks > MOST_BLOCKS || steps < 1) {
    fprintf(stderr, "usage: probe_turns [BLOCKS (1 to %d) [STEPS]]\n", MOST_BLOCKS);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  *(void**)&past.irecv = bare("PMPI_Irecv");
  *(void**)&past.send = bare("PMPI_Send");
  *(void**)&past.waitall = bare("PMPI_Waitall");
  *(void**)&past.allreduce = bare("PMPI_Allreduce");
  block(&past, rank, size, steps);
  block(&through, rank, size, steps);
  double with_all = 0, without_all = 0;
  for (int b = 0; b < blocks; ++b) {
    /* Which comes first changes from pair to pair. */
    const double first = block(b % 2 ? &through : &past, rank, size, steps);
    const double second = block(b % 2 ? &past : &through, rank, size, steps);
    const double with = b % 2 ? first : second, without = b % 2 ? second : first;
    ratios[b] = with / without;
    with_all += with;
    without_all += without;
  }
  if (rank == 0) {
    qsort(ratios, (size_t)blocks, sizeof *ratios, smaller);
    printf(
        "%d ranks, %d pairs of blocks of %d steps: past the probe %.0f us a step, through it %.0f us; ratio "
        "%.3f, "
        "median of pairs %.3f [quartiles %.3f, %.3f]\n",
        size, blocks, steps, without_all / blocks / steps * 1e6, with_all / blocks / steps * 1e6,
        with_all / without_all, ratios[blocks / 2], ratios[blocks / 4], ratios[blocks * 3 / 4]);
  }
  MPI_Finalize();
  return 0;
}
