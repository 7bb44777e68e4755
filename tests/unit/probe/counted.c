/* The calls of counted.F90, in C; also compiled as C++. */
#include <mpi.h>
#include <stddef.h>

#ifdef LARGE /* counts of 64 bits */
#define MPI_Send MPI_Send_c
#define MPI_Recv MPI_Recv_c
#define MPI_Isend MPI_Isend_c
#define MPI_Irecv MPI_Irecv_c
#define MPI_Allreduce MPI_Allreduce_c
#endif

int main(int argc, char** argv) {
  int rank, other, i, out[100] = {0}, in[100];
  double a[4] = {1, 1, 1, 1}, b[4];
  MPI_Request r[2];
  MPI_Status status, statuses[2];
  MPI_Comm dup;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  for (i = 0; i < 10; ++i) {
    if (rank == 0) {
      MPI_Send(out, 100, MPI_INT, other, 7, MPI_COMM_WORLD);
      MPI_Recv(in, 100, MPI_INT, other, 7, MPI_COMM_WORLD, &status);
    } else {
      MPI_Recv(in, 100, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(out, 100, MPI_INT, other, 7, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) MPI_Send(out, 3, MPI_INT, 1, 9, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(in, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  for (i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; i < 2; ++i) MPI_Allreduce(a, b, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, b, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Irecv(in, 100, MPI_INT, other, 11, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(out, 100, MPI_INT, other, 11, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, statuses);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Barrier(dup);
  MPI_Comm_free(&dup);
  MPI_Finalize();
  return 0;
}
