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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int g_count;
static void* count(void* unused) {
  for (int i = 0; i < 1000; ++i) ++g_count;
  return unused;
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
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  if (strcmp(what, "leak") != 0) free(data);
  MPI_Finalize();
  return 3;
}
