/* Ends in the way it is told, after all ranks have printed the same lines in every run.
 *
 *   ends exit N       rank 0 leaves with exit code N, after MPI_Finalize and after the others (with 0)
 *
 *   ends abort N      rank 1 calls MPI_Abort(MPI_COMM_WORLD, N)
 *
 *   ends signal N     rank 1 raises signal N
 *
 *   ends wait         computes until it is ended, and says "ready" when MPI is up
 *
 *   ends term         the same, but every rank ends with exit code 7 upon SIGTERM, after MPI_Finalize
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t g_ended;
static void on_signal(int number) {
  (void)number;
  g_ended = 1;
}

/* A dead peer's ranks leave this barrier by being ended. */
static int work_until_ended(int heed) {
  for (;;) {
    int mine = heed && g_ended;
    int any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any) return 7;
    usleep(1000);
  }
}

enum { kMostRanks = 64 };

/* A launcher ends all ranks as soon as one has left with an error, also one that is still in MPI_Finalize. */
static void wait_for_the_others(const int* pids, int count) {
  for (int i = 1; i < count; ++i)
    for (int tries = 0; tries < 10000 && kill(pids[i], 0) == 0; ++tries) usleep(1000);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "exit";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  int rank = 0;
  int sum = 0;
  if (strcmp(what, "term") == 0) signal(SIGTERM, on_signal);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; ++i) {
    int value = rank + i;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("line %d: %d\n", i, sum);
  }
  if (rank == 0) {
    printf("ready\n");
    fflush(stdout);
    fprintf(stderr, "this goes to stderr\n");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int code = 0, count = 0, pids[kMostRanks] = {0};
  if (strcmp(what, "abort") == 0) {
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, number);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(what, "signal") == 0) {
    if (rank == 1) raise(number);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(what, "wait") == 0 || strcmp(what, "term") == 0) {
    code = work_until_ended(strcmp(what, "term") == 0);
  } else if (number != 0) {
    const int mine = (int)getpid();
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (count > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 99);
    MPI_Gather(&mine, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) code = number;
  }
  MPI_Finalize();
  if (rank == 0) wait_for_the_others(pids, count);
  return code;
}
