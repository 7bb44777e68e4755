/* MPI 4 without MPI_Init: what the two processes do, they do in a session. */
#include <mpi.h>

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, size, value = 1, sum = 0;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 1;
  if (MPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS) return 2;
  if (MPI_Comm_create_from_group(group, "org.example.sessions", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) !=
      MPI_SUCCESS)
    return 3;
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < 3; ++i) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 5, comm);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return size == 2 && sum == 2 ? 0 : 4;
}
