/* Calls MPI as fast as it can, until it is told to end.
 *
 *   storm GO STOP [THREADS]
 *
 * After MPI_Init each process waits (outside of MPI) until the file GO is there, and then calls until the
 * file STOP is. Alone (no launcher needed) it calls MPI_Iprobe, nothing else: the call that takes least. In
 * company, rounds of MPI_Iprobe, a ring of MPI_Irecv, MPI_Isend and MPI_Waitall, and an MPI_Allreduce that
 * says whether STOP is there. Each of THREADS (0 to 16) further threads calls MPI_Iprobe as well, its first
 * call after GO. Prints "ready" when MPI is up and, alone, the number of its calls of MPI_Iprobe at the end.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kMostThreads = 16, kProbesPerRound = 4096, kCallsPerLook = 4096 };

static atomic_bool g_over;

static bool there(const char* path) {
  return access(path, F_OK) == 0;
}

static void probe_once(void) {
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void* probe_until_over(void* unused) {
  while (!atomic_load_explicit(&g_over, memory_order_relaxed)) probe_once();
  return unused;
}

static void together(const char* stop, int rank, int size) {
  static double out[64];
  static double in[64];
  for (int over = 0; !over;) {
    for (int i = 0; i < kProbesPerRound; ++i) probe_once();
    MPI_Request requests[2];
    MPI_Irecv(in, 64, MPI_DOUBLE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 64, MPI_DOUBLE, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    const int seen = rank == 0 && there(stop);
    MPI_Allreduce(&seen, &over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
}

static unsigned long long alone(const char* stop) {
  unsigned long long calls = 0;
  do {
    for (int i = 0; i < kCallsPerLook; ++i) probe_once();
    calls += kCallsPerLook;
  } while (!there(stop));
  return calls;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "storm: expected GO STOP [THREADS]\n");
    return 2;
  }
  int threads = argc > 3 ? atoi(argv[3]) : 0;
  if (threads < 0 || threads > kMostThreads) threads = kMostThreads;
  int rank = 0, size = 1, provided = 0;
  MPI_Init_thread(&argc, &argv, threads == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("ready\n");
  fflush(stdout);
  while (!there(argv[1])) usleep(5000);
  pthread_t others[kMostThreads];
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&others[i], NULL, probe_until_over, NULL) != 0) return 1;
  if (size > 1)
    together(argv[2], rank, size);
  else
    printf("%llu\n", alone(argv[2]));
  atomic_store(&g_over, true);
  for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
  MPI_Finalize();
  return 0;
}
