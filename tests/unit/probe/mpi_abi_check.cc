// Compiled with the header of Open MPI and with that of MPICH, never run: what the probe takes for granted of
// both is what they say. A prototype of functions.def that differs from the header's is a conflicting
// declaration.
#include <mpi.h>

#include "mpi_constants.h"

namespace {

using margay::probe::MpiConstants;

#ifdef OPEN_MPI
constexpr MpiConstants kTaken = margay::probe::kOpenMpiConstants;
static_assert(sizeof(MPI_Comm) == sizeof(void*) && sizeof(MPI_Datatype) == sizeof(void*));
#else
constexpr MpiConstants kTaken = margay::probe::kMpichConstants;
static_assert(sizeof(MPI_Comm) == 4 && sizeof(MPI_Datatype) == 4 && sizeof(MPI_Request) == 4);
static_assert(MPI_COMM_WORLD == margay::probe::kMpichWorld &&
              MPI_COMM_NULL == margay::probe::kMpichCommNull && MPI_BYTE == margay::probe::kMpichByte &&
              MPI_DATATYPE_NULL == margay::probe::kMpichDatatypeNull);
constexpr int size_of(MPI_Datatype type) {
  return margay::probe::mpich_type_size(static_cast<std::uint32_t>(type));
}
static_assert(size_of(MPI_BYTE) == 1 && size_of(MPI_PACKED) == 1 && size_of(MPI_INT) == sizeof(int) &&
              size_of(MPI_LONG) == sizeof(long) && size_of(MPI_DOUBLE) == sizeof(double) &&
              size_of(MPI_LONG_DOUBLE) == sizeof(long double) && size_of(MPI_UINT16_T) == 2 &&
              size_of(MPI_C_DOUBLE_COMPLEX) == 2 * sizeof(double) && size_of(MPI_2INT) == 2 * sizeof(int) &&
              size_of(MPI_DOUBLE_PRECISION) == sizeof(double));
static_assert(size_of(MPI_DOUBLE_INT) == -1 && size_of(MPI_DATATYPE_NULL) == -1);
#endif

static_assert(MPI_SUCCESS == 0 && MPI_PROC_NULL == kTaken.proc_null);
static_assert(sizeof(MPI_Status) == kTaken.status_bytes);
static_assert(offsetof(MPI_Status, MPI_SOURCE) == kTaken.status_source &&
              offsetof(MPI_Status, MPI_TAG) == kTaken.status_tag);
static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Offset) == 8 && sizeof(MPI_Count) == 8 &&
              sizeof(MPI_File) == 8);
// A receive that goes to nobody is not looked at; the others leave a negative number.
static_assert(MPI_ANY_SOURCE < 0 && MPI_ANY_TAG < 0 && MPI_ROOT < 0);

}  // namespace

#define SPECIAL(name, family)
#define FN(name, family, params, ...) extern "C" int name params;
#define RECV(name, family, params, ...) extern "C" int name params;
#define IRECV(name, family, params, ...) extern "C" int name params;
#include "functions.def"

#if MPI_VERSION >= 4
#define LARGE_COUNTS
#define SPECIAL(name, family)
#define FN(...)
#define RECV(...)
#define IRECV(...)
#define FNC(name, family, params, ...) extern "C" int name##_c params;
#define RECVC(name, family, params, ...) extern "C" int name##_c params;
#define IRECVC(name, family, params, ...) extern "C" int name##_c params;
#include "functions.def"
#endif

// Pointers that are constants cannot be compared before the program runs, but here it is seen that nobody
// changed them.
bool margay_abi_pointers_are_as_taken() {
  return reinterpret_cast<std::uintptr_t>(MPI_IN_PLACE) == kTaken.in_place &&
         reinterpret_cast<std::uintptr_t>(MPI_STATUS_IGNORE) == kTaken.status_ignore;
}
