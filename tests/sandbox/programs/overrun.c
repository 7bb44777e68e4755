/* Rank 1 writes behind the end of its memory after a hundred collectives: what AddressSanitizer is there to
 * find. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank = 0;
  int sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; ++i) {
    const int value = rank + i;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  char* memory = malloc(10);
  volatile int size = 10;
  volatile char* behind =
      memory + size; /* volatile: the compiler is not to see it, nor to leave out the write */
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 99);
  if (rank == 0) printf("sum %d\n", sum);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) *behind = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  free(memory);
  MPI_Finalize();
  return 0;
}
