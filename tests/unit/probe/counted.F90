! Known calls, by one of MPI's three Fortran interfaces.
#if defined(F08)
#define COMM_T type(MPI_Comm)
#define REQUEST_T type(MPI_Request)
#else
#define COMM_T integer
#define REQUEST_T integer
#endif
#if defined(LARGE)
#define N(count) int(count, MPI_COUNT_KIND)
#else
#define N(count) count
#endif
program counted
#if defined(F08)
  use mpi_f08
  implicit none
#elif defined(USE_MPI)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, other, i, error
  integer :: out(100), in(100)
  double precision :: a(4), b(4)
  COMM_T :: dup
  REQUEST_T :: r(2)
#if defined(F08)
  type(MPI_Status) :: status, statuses(2)
#else
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
#endif
  out = 0
  a = 1
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  do i = 1, 10
    if (rank == 0) then
      call MPI_Send(out, N(100), MPI_INTEGER, other, 7, MPI_COMM_WORLD, error)
      call MPI_Recv(in, N(100), MPI_INTEGER, other, 7, MPI_COMM_WORLD, status, error)
    else
      call MPI_Recv(in, N(100), MPI_INTEGER, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call MPI_Send(out, N(100), MPI_INTEGER, other, 7, MPI_COMM_WORLD, error)
    end if
  end do
  if (rank == 0) call MPI_Send(out, N(3), MPI_INTEGER, 1, 9, MPI_COMM_WORLD, error)
  if (rank == 1) call MPI_Recv(in, N(100), MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
  do i = 1, 3
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  do i = 1, 2
    call MPI_Allreduce(a, b, N(4), MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, b, N(4), MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Irecv(in, N(100), MPI_INTEGER, other, 11, MPI_COMM_WORLD, r(1), error)
  call MPI_Isend(out, N(100), MPI_INTEGER, other, 11, MPI_COMM_WORLD, r(2), error)
  call MPI_Waitall(2, r, statuses, error)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup, error)
  call MPI_Barrier(dup, error)
  call MPI_Comm_free(dup, error)
  call MPI_Finalize(error)
end program counted
