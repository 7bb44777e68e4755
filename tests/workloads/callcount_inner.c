/* An interposer behind libmargay-callcount.so, which calls MPI inside MPI: those calls must not be counted.
 */
#include <mpi.h>

int MPI_Barrier(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  double now = MPI_Wtime();
  (void)now;
  return PMPI_Barrier(comm);
}
