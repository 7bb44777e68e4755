/* Calls MPI functions a known number of times, for the test of libmargay-callcount.so. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  int value = 7;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 5; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int peer = 1; peer < size; ++peer) {
      for (int i = 0; i < 11; ++i) MPI_Send(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
    }
  } else {
    for (int i = 0; i < 11; ++i) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Pcontrol(1, "named");
  MPI_Pcontrol(0);
  PMPI_Barrier(MPI_COMM_WORLD); /* not counted by callcount; Margay sees it */
  MPI_Finalize();
  return 0;
}
