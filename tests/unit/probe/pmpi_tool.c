/* Another tool of the usual kind: its wrappers call MPI by the other name. It says how much it saw. */
#include <mpi.h>
#include <stdio.h>

static int seen;

int MPI_Send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  ++seen;
  return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  ++seen;
  return PMPI_Barrier(comm);
}

int MPI_Finalize(void) {
  printf("tool: %d\n", seen);
  fflush(stdout);
  return PMPI_Finalize();
}
