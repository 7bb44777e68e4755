/* Calls MPI as fast as it can, until it is told to end.
 *
 *   storm GO STOP [THREADS [COUNT]]
 *
 * After MPI_Init each process says "ready" and waits (outside of MPI) until the file GO is there; then it
 * calls until the file STOP is. Without COUNT: rounds of MPI_Iprobe, a ring of MPI_Irecv, MPI_Isend and
 * MPI_Waitall, and an MPI_Allreduce that says whether STOP is there. With COUNT: MPI_Iprobe, nothing else:
 * the call that takes least, and with nobody to wait for. Its account is kept in the file COUNT.RANK, in
 * memory that outlives the process: calls of MPI_Iprobe begun, and calls that have returned, two numbers of
 * 64 bits. Each of THREADS (0 to 16) further threads calls MPI_Iprobe as well, uncounted, its first call
 * after GO.
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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

static void alone(const char* stop, atomic_ullong account[2]) {
  do {
    for (int i = 0; i < kCallsPerLook; ++i) {
      atomic_fetch_add_explicit(&account[0], 1, memory_order_relaxed);
      probe_once();
      atomic_fetch_add_explicit(&account[1], 1, memory_order_relaxed);
    }
  } while (!there(stop));
}

static atomic_ullong* open_account(const char* name, int rank) {
  char path[4096];
  if (snprintf(path, sizeof(path), "%s.%d", name, rank) >= (int)sizeof(path)) return NULL;
  const size_t bytes = 2 * sizeof(atomic_ullong);
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return NULL;
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "storm: expected GO STOP [THREADS [COUNT]]\n");
    return 2;
  }
  int threads = argc > 3 ? atoi(argv[3]) : 0;
  if (threads < 0 || threads > kMostThreads) threads = kMostThreads;
  int rank = 0, size = 1, provided = 0;
  MPI_Init_thread(&argc, &argv, threads == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  atomic_ullong* account = NULL;
  if (argc > 4 && (account = open_account(argv[4], rank)) == NULL) {
    fprintf(stderr, "storm: %s.%d: cannot be written\n", argv[4], rank);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  printf("ready\n");
  fflush(stdout);
  while (!there(argv[1])) usleep(5000);
  pthread_t others[kMostThreads];
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&others[i], NULL, probe_until_over, NULL) != 0) return 1;
  if (account == NULL)
    together(argv[2], rank, size);
  else
    alone(argv[2], account);
  atomic_store(&g_over, true);
  for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
  MPI_Finalize();
  return 0;
}
