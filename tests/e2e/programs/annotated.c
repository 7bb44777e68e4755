/* Names its states (margay/annotate.h), a known number of times.
 *
 *   annotated threads THREADS ROUNDS   each thread, ROUNDS times: read, and transform with filter inside it
 *   annotated deep LEVELS              state d1 with d2 inside it, and so on
 *   annotated names COUNT              COUNT states of different names, one after the other
 *   annotated fork                     the child names states as well, while one of the parent's is open
 *   annotated unbalanced               leaves and enters that do not match
 *   annotated linger FILE              a few states, and a few more once there is such a file
 *   annotated ends                     a thread that ends soon; the process goes on
 *   annotated mpi ROUNDS               solve round MPI_Allreduce; before MPI_Init and after MPI_Finalize, too
 */
#include <margay/annotate.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int g_rounds;

static void spend(long us) {
  struct timespec t = {0, us * 1000};
  nanosleep(&t, NULL);
}

/* The first thread is the first to be seen: it has a ring, however few there are. */
static sem_t g_first_is_seen;
static void* work(void* first) {
  if (first == NULL) sem_wait(&g_first_is_seen);
  for (int i = 0; i < g_rounds; ++i) {
    margay_enter("read");
    if (first != NULL && i == 0)
      for (int others = *(int*)first - 1; others > 0; --others) sem_post(&g_first_is_seen);
    spend(1000);
    margay_leave("read");
    margay_enter("transform");
    spend(1000);
    margay_enter("filter");
    spend(1000);
    margay_leave("filter");
    margay_leave("transform");
  }
  return NULL;
}

static void threads(int count) {
  pthread_t ids[64];
  if (count < 1 || count > 64 || sem_init(&g_first_is_seen, 0, 0) != 0) exit(2);
  for (int i = 1; i < count; ++i)
    if (pthread_create(&ids[i], NULL, work, NULL) != 0) exit(3);
  work(&count);
  for (int i = 1; i < count; ++i) pthread_join(ids[i], NULL);
}

static void deep(int levels) {
  char(*names)[16] = calloc((size_t)levels, sizeof(*names));
  if (names == NULL) exit(3);
  for (int i = 0; i < levels; ++i) {
    snprintf(names[i], sizeof(names[i]), "d%d", i + 1);
    margay_enter(names[i]);
    spend(1000);
  }
  for (int i = levels; i-- > 0;) margay_leave(names[i]);
  free(names);
}

static void many_names(int count) {
  char name[32]; /* the same place for all of them */
  for (int i = 0; i < count; ++i) {
    snprintf(name, sizeof(name), "name %d", i);
    margay_enter(name);
    margay_leave(name);
  }
  spend(200000);
}

static void forked(void) {
  margay_enter("parent");
  const pid_t child = fork();
  if (child == 0) {
    margay_enter("child");
    spend(300000);
    margay_leave("child");
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  margay_leave("parent");
  if (status != 0) exit(4);
}

static void unbalanced(void) {
  margay_leave("never");
  margay_enter("outer");
  margay_enter("inner");
  spend(100000);
  margay_leave("outer");
  spend(100000);
  margay_enter("last");
  spend(100000);
}

static void* soon_over(void* unused) {
  margay_enter("short");
  spend(50000);
  margay_leave("short");
  return unused;
}

static void ends(void) {
  pthread_t thread;
  margay_enter("main");
  if (pthread_create(&thread, NULL, soon_over, NULL) != 0) exit(3);
  pthread_join(thread, NULL);
  for (int i = 0; i < 3; ++i) spend(900000);
  margay_leave("main");
}

static void linger(const char* file) {
  g_rounds = 5;
  threads(1);
  while (access(file, F_OK) != 0) spend(50000);
  threads(1);
}

static void with_mpi(int rounds) {
  margay_enter("before");
  spend(100000);
  margay_leave("before");
  MPI_Init(NULL, NULL);
  for (int i = 0; i < rounds; ++i) {
    margay_enter("solve");
    spend(1000);
    int in = 1, out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    spend(1000);
    margay_leave("solve");
  }
  MPI_Finalize();
  margay_enter("after");
  spend(100000);
  margay_leave("after");
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(what, "threads") == 0 && argc > 3) {
    g_rounds = atoi(argv[3]);
    threads(count);
  } else if (strcmp(what, "deep") == 0) {
    deep(count);
  } else if (strcmp(what, "names") == 0) {
    many_names(count);
  } else if (strcmp(what, "fork") == 0) {
    forked();
  } else if (strcmp(what, "ends") == 0) {
    ends();
  } else if (strcmp(what, "unbalanced") == 0) {
    unbalanced();
  } else if (strcmp(what, "linger") == 0) {
    linger(argv[2]);
  } else if (strcmp(what, "mpi") == 0) {
    with_mpi(count);
  } else {
    return 2;
  }
  puts("done");
  return 0;
}
