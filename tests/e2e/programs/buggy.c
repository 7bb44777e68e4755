/* An MPI program for sanitizers: calls MPI, prints, and ends with exit code 3, after a fault if one is asked
 * for.
 *
 *   buggy             none
 *
 *   buggy overflow    reads behind the end of what it has allocated
 *
 *   buggy leak        forgets what it has allocated
 *
 *   buggy race        two threads count without a lock
 *
 *   buggy shift       shifts further than an int is wide
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int g_count;
/* They count one after the other, while both are there: of accesses at the same instant, or of a thread that
 * has ended, a sanitizer may see nothing. Relaxed, so that it is no synchronisation. */
static atomic_int g_turn;
static void wait_for_turn(int turn) {
  while (atomic_load_explicit(&g_turn, memory_order_relaxed) < turn) sched_yield();
}
static void* count(void* turn) {
  wait_for_turn(*(int*)turn);
  for (int i = 0; i < 1000; ++i) ++g_count;
  atomic_fetch_add_explicit(&g_turn, 1, memory_order_relaxed);
  wait_for_turn(2);
  return turn;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int sum = 0, one = 1;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int* const data = malloc(10 * sizeof *data);
  for (int i = 0; i < 10; ++i) data[i] = sum + i;
  printf("sum %d, %d\n", sum, data[9]);
  fflush(stdout);
  if (strcmp(what, "overflow") == 0) printf("%d\n", data[9 + sum]);
  if (strcmp(what, "shift") == 0) printf("%d\n", sum << (31 + sum));
  if (strcmp(what, "race") == 0) {
    pthread_t threads[2];
    int turns[] = {0, 1};
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, &turns[i]);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  if (strcmp(what, "leak") != 0) free(data);
  MPI_Finalize();
  return 3;
}
