// What the binaries of Open MPI and of MPICH have in common, as far as the wrappers need it.
//
// One build of the probe serves both. The two differ in their handles (a pointer; a number of 32 bits), in
// constants, and in what a status looks like; they agree in everything else: names, the order of arguments,
// and that each argument takes a whole register or a whole slot of the stack (System V and AAPCS64). So a
// wrapper takes a handle as a whole word, looks at no more of it than its MPI defines (Library, probe.h), and
// passes the word on as it came. Nothing is included from either MPI.
//
//   Open MPI 3 to 5            libmpi.so.40
//   MPICH ABI Compatibility    libmpich.so.12 (Debian), libmpi.so.12 (MPICH, Intel MPI, MVAPICH2),
//   libmpi_gnu_91.so.12 (Cray)
//
// Names are MPI's, so that functions.def reads like its header.
#pragma once

#include <cstdint>

// NOLINTBEGIN: the names are MPI's.
using MPI_Comm = struct margay_mpi_comm*;
using MPI_Datatype = struct margay_mpi_datatype*;
using MPI_Request = struct margay_mpi_request*;
using MPI_Message = struct margay_mpi_message*;
using MPI_Group = struct margay_mpi_group*;
using MPI_Info = struct margay_mpi_info*;
using MPI_Op = struct margay_mpi_op*;
using MPI_Win = struct margay_mpi_win*;
using MPI_Errhandler = struct margay_mpi_errhandler*;
using MPI_File = struct margay_mpi_file*;
using MPI_Session = struct margay_mpi_session*;
using MPI_Aint = std::intptr_t;
using MPI_Offset = std::int64_t;
using MPI_Count = std::int64_t;

// As large as either's, and some more. Arrays of it are only passed on.
struct alignas(8) MPI_Status {
  unsigned char raw[64];
};

enum { MPI_SUCCESS = 0 };

extern "C" {
int MPI_Init(int* argc, char*** argv);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session);
int MPI_Session_finalize(MPI_Session* session);
int MPI_Pcontrol(const int level, ...);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status* statuses);
int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status);
int MPI_Waitsome(int count, MPI_Request requests[], int* out, int indices[], MPI_Status statuses[]);
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status);
int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]);
int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status);
int MPI_Testsome(int count, MPI_Request requests[], int* out, int indices[], MPI_Status statuses[]);
int MPI_Request_free(MPI_Request* request);
// The one that is not ours: null unless the program is linked with MPI.
[[gnu::weak]] int PMPI_Get_library_version(char* version, int* length);
}
// NOLINTEND
