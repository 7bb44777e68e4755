/* A small MPI program with known calls, for the probe's tests. The first argument chooses what it does. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;

/* 10 exchanges of 100 ints with tag 7, one wildcard receive, 3 barriers, 2 allreduces of 4 doubles, a gather
 * with arguments that only matter at the root, a duplicate communicator, probes and a nonblocking pair. */
static void counted(void) {
  int out[100] = {0}, in[100];
  double a[4] = {1, 2, 3, 4}, b[4];
  int i, got[2];
  const int other = 1 - rank;
  for (i = 0; i < 10; ++i) {
    if (rank == 0) {
      MPI_Send(out, 100, MPI_INT, other, 7, MPI_COMM_WORLD);
      MPI_Recv(in, 100, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, 100, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(out, 100, MPI_INT, other, 7, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) MPI_Send(out, 3, MPI_INT, 1, 9, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(in, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; i < 2; ++i) MPI_Allreduce(a, b, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  /* Receive arguments are garbage where MPI does not look at them. */
  if (rank == 0)
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 1, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Gather(&rank, 1, MPI_INT, NULL, -5, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  MPI_Request r[2];
  MPI_Irecv(in, 100, MPI_INT, other, 11, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(out, 100, MPI_INT, other, 11, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Barrier(dup);
  MPI_Comm_free(&dup);
}

static void regions(void) {
  MPI_Pcontrol(0);
  MPI_Pcontrol(1, "solve");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1, "inner");
  MPI_Pcontrol(-1, "inner");
  MPI_Pcontrol(-1, "solve");
  MPI_Pcontrol(1, (char*)0);
  MPI_Pcontrol(1, (char*)16);
  MPI_Pcontrol(1, "a name that is much too long to be taken for the name of any region");
  MPI_Pcontrol(1, "not\tprintable");
  MPI_Pcontrol(1);
}

static void* in_thread(void* n) {
  int i, flag;
  for (i = 0; i < (int)(long)n; ++i) MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  return 0;
}

static jmp_buf out_of_mpi;
static void jump(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  longjmp(out_of_mpi, 1);
}
/* Calls that fail and are left by their error handler. */
static void jumps(void) {
  MPI_Errhandler handler;
  volatile int i;
  int x = 0;
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (i = 0; i < 5; ++i)
    if (setjmp(out_of_mpi) == 0) MPI_Send(&x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

enum { kMost = 300 };
/* Rank 1 receives by every call that completes requests; as posted 64 bytes each, as sent fewer. */
static void requests(void) {
  static char to[kMost][64];
  MPI_Request r[kMost];
  int i, flag, index, out, indices[kMost];
  const int other = 1 - rank;
#define POSTED(n, tag) \
  for (i = 0; i < (n); ++i) MPI_Irecv(to[i], 64, MPI_BYTE, other, tag, MPI_COMM_WORLD, &r[i])
  if (rank == 0) {
    const int sizes[][3] = {{1, 5, 1},  {1, 6, 2},     {2, 7, 3},  {3, 9, 5},  {2, 10, 6},
                            {2, 11, 7}, {kMost, 3, 8}, {1, 12, 9}, {1, 13, 10}};
    unsigned k;
    for (k = 0; k < sizeof sizes / sizeof sizes[0]; ++k)
      for (i = 0; i < sizes[k][0]; ++i) {
        MPI_Isend(to[0], sizes[k][1], MPI_BYTE, other, sizes[k][2], MPI_COMM_WORLD, &r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      }
    return;
  }
  POSTED(1, 1);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  POSTED(1, 2);
  for (flag = 0; !flag;) MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
  POSTED(2, 3);
  for (i = 0; i < 2; ++i) MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
  POSTED(3, 5);
  for (i = 0; i < 3; i += out) MPI_Waitsome(3, r, &out, indices, MPI_STATUSES_IGNORE);
  POSTED(2, 6);
  for (flag = 0; !flag;) MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
  MPI_Recv_init(to[0], 64, MPI_BYTE, other, 7, MPI_COMM_WORLD, &r[0]);
  for (i = 0; i < 2; ++i) {
    MPI_Start(&r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&r[0]);
  POSTED(kMost, 8);
  MPI_Waitall(kMost, r, MPI_STATUSES_IGNORE); /* more than the probe has statuses for: as posted */
  POSTED(1, 9);
  for (flag = 0; !flag;) MPI_Testany(1, r, &index, &flag, MPI_STATUS_IGNORE);
  POSTED(1, 10);
  for (out = 0; out == 0;) MPI_Testsome(1, r, &out, indices, MPI_STATUSES_IGNORE);
  MPI_Irecv(to[0], 64, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "counted";
  int provided, i, status;
  if (strcmp(what, "nothing") == 0) {
    puts("no MPI here");
    return 3;
  }
  if (strcmp(what, "closes") == 0) /* what a daemon does, or a careful launcher */
    for (i = 3; i < 1024; ++i) close(i);
  if (strcmp(what, "reuses") == 0) { /* a descriptor that it does not know becomes another file */
    for (i = 3; i < 1024; ++i) close(i);
    for (i = 3; i < 600; ++i) open("/dev/zero", O_RDWR | O_CLOEXEC);
  }
  if (strcmp(what, "child") == 0) { /* MPI is what the child does; its parent never calls it */
    const pid_t child = fork();
    if (child > 0) {
      waitpid(child, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
  }
  if (strcmp(what, "threads") == 0)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else
    MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) printf("hello from %d\n", size);
  if (strcmp(what, "counted") == 0) counted();
  if (strcmp(what, "regions") == 0) regions();
  if (strcmp(what, "requests") == 0) requests();
  if (strcmp(what, "jumps") == 0) jumps();
  if (strcmp(what, "killed") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(what, "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(what, "fork") == 0) { /* the child calls what it must not, and must not be recorded */
    const pid_t child = fork();
    if (child == 0) {
      MPI_Pcontrol(1, "child");
      _exit(0);
    }
    waitpid(child, &status, 0);
  }
  if (strcmp(what, "threads") == 0) { /* first ten at a time, then ten one after the other */
    pthread_t t[10];
    for (i = 0; i < 10; ++i) pthread_create(&t[i], 0, in_thread, (void*)100);
    for (i = 0; i < 10; ++i) pthread_join(t[i], 0);
    for (i = 0; i < 10; ++i) {
      pthread_create(&t[0], 0, in_thread, (void*)100);
      pthread_join(t[0], 0);
    }
  }
  if (strcmp(what, "many") == 0) { /* argv[2] calls */
    int flag;
    long n = argc > 2 ? atol(argv[2]) : 1000;
    for (; n > 0; --n) MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return strcmp(what, "code") == 0 ? 42 : 0; /* the launcher then kills the others, wherever they are */
}
