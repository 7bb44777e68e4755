/* As much of an MPI library as the probe's harness calls: by both names, with Open MPI's objects, and nothing
 * behind them. So the probe runs under sanitizers, which real MPI libraries do not. */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define BOTH(name, params, args, body)                             \
  EXPORT int PMPI_##name params{body} EXPORT int MPI_##name params \
      __attribute__((weak, alias("PMPI_" #name)));

EXPORT char ompi_mpi_comm_world[64], ompi_mpi_comm_null[64], ompi_mpi_byte[64], ompi_mpi_datatype_null[64];

static int initialized, finalized;
static int (*g_call_back)(void);

/* What MPI calls inside of a call, as a signal or a user's function would. */
EXPORT void fake_mpi_call_back(int (*function)(void)) {
  __atomic_store_n(&g_call_back, function, __ATOMIC_RELEASE);
}
static int inside(void) {
  int (*function)(void) = __atomic_load_n(&g_call_back, __ATOMIC_ACQUIRE);
  return function == NULL ? 0 : function();
}

BOTH(Init, (int* argc, char*** argv), (argc, argv), (void)argc; (void)argv; initialized = 1; return 0;)
BOTH(Init_thread, (int* argc, char*** argv, int required, int* provided), (), (void)argc; (void)argv;
     *provided = required; initialized = 1; return 0;)
BOTH(Get_library_version, (char* version, int* length), (version, length), *version = '\0'; *length = 0;
     return 0;)
BOTH(Initialized, (int* flag), (flag), *flag = initialized; return 0;)
BOTH(Finalize, (void), (), finalized = 1; return 0;)
BOTH(Finalized, (int* flag), (flag), *flag = finalized; return 0;)
BOTH(Abort, (void* comm, int code), (), (void)comm; return code;)
BOTH(Comm_rank, (void* comm, int* rank), (), (void)comm; *rank = 0; return 0;)
BOTH(Comm_size, (void* comm, int* size), (), (void)comm; *size = 1; return 0;)
BOTH(Comm_remote_size, (void* comm, int* size), (), (void)comm; *size = 0; return 0;)
BOTH(Comm_test_inter, (void* comm, int* flag), (), (void)comm; *flag = 0; return 0;)
BOTH(Comm_c2f, (void* comm), (), return (int)(size_t)comm & 0xffffff;)
BOTH(Type_size, (void* type, int* size), (), (void)type; *size = 4; return 0;)
BOTH(Get_elements_x, (const void* status, void* type, long* count), (), (void)status; (void)type; *count = 12;
     return 0;)
BOTH(Send, (const void* buf, int count, void* type, int dest, int tag, void* comm), (), (void)buf;
     (void)count; (void)type; (void)dest; (void)tag; (void)comm; return inside();)
BOTH(
    Recv, (void* buf, int count, void* type, int source, int tag, void* comm, void* status), (), (void)buf;
    (void)count; (void)type; (void)comm; if (status != NULL) {
      ((int*)status)[0] = source;
      ((int*)status)[1] = tag;
    } return 0;)
BOTH(Barrier, (void* comm), (), (void)comm; return 0;)
BOTH(Comm_dup, (void* comm, void** out), (), *out = (char*)comm + 1; return 0;)
BOTH(Comm_free, (void** comm), (), *comm = ompi_mpi_comm_null; return 0;)
EXPORT int PMPI_Pcontrol(const int level, ...) {
  (void)level;
  return 0;
}
EXPORT int MPI_Pcontrol(const int level, ...) __attribute__((weak, alias("PMPI_Pcontrol")));
