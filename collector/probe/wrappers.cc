// The wrappers, generated from functions.def.
#include "probe.h"

namespace margay::probe {
namespace {

// The size of `count` elements; 0 for what is null. REQUIRES: MPI looks at `type` in this call (see
// functions.def).
std::uint64_t B(int count, MPI_Datatype type) {
  if (count <= 0 || type == nullptr || type == g_library.datatype_null) return 0;
  int size = 0;
  if (g_library.type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

std::uint32_t C(MPI_Comm comm) {
  return static_cast<std::uint32_t>(g_library.comm_c2f(comm));
}

bool in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE;
}

// What a process gives to (or gets from) the root; roots in place and the root's group of an
// intercommunicator have nothing.
std::uint64_t own_bytes(const void* buffer, int count, MPI_Datatype type, int root) {
  return in_place(buffer) || root < 0 ? 0 : B(count, type);
}
std::uint64_t root_bytes(int count, MPI_Datatype type, int root) {
  return root == MPI_PROC_NULL ? 0 : B(count, type);
}

// How many processes an all-to-all in `comm` reaches.
std::uint64_t peers(MPI_Comm comm) {
  if (comm == nullptr || comm == g_library.comm_null) return 0;
  int inter = 0, size = 0;
  g_library.comm_test_inter(comm, &inter);
  (inter != 0 ? g_library.comm_remote_size : g_library.comm_size)(comm, &size);
  return size < 0 ? 0 : static_cast<std::uint64_t>(size);
}

std::uint64_t sum_bytes(const int counts[], MPI_Datatype type, MPI_Comm comm) {
  if (counts == nullptr) return 0;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0, n = peers(comm); i < n; ++i)
    if (counts[i] > 0) sum += static_cast<std::uint64_t>(counts[i]);
  return sum * B(1, type);
}

// Leaves a call that received: with what arrived, if it arrived.
void end_received(Thread& t, const MPI_Status& status, std::uint32_t comm) {
  MPI_Count bytes = 0;
  if (g_library.get_elements(&status, g_library.byte, &bytes) != MPI_SUCCESS || bytes < 0) bytes = 0;
  t.end(status.MPI_SOURCE, status.MPI_TAG, comm, static_cast<std::uint64_t>(bytes));
}

}  // namespace
}  // namespace margay::probe

// NOLINTBEGIN: the names and signatures are MPI's.
using namespace margay::probe;

#define SPECIAL(name, family)

#define FN(name, family, params, args, peer, tag, comm, bytes)   \
  MARGAY_EXPORT int name params {                                \
    auto* const mg_real = real<decltype(name)>(k_##name);        \
    if (mg_real == nullptr) return MPI_ERR_INTERN;               \
    Thread* const mg_thread = enter(__builtin_frame_address(0)); \
    if (mg_thread == nullptr) return mg_real args;               \
    mg_thread->begin(k_##name, peer, tag, comm, bytes);          \
    const int mg_result = mg_real args;                          \
    mg_thread->end();                                            \
    return mg_result;                                            \
  }

#define RECV(name, family, params, args, peer, tag, comm, bytes, got) \
  MARGAY_EXPORT int name params {                                     \
    auto* const mg_real = real<decltype(name)>(k_##name);             \
    if (mg_real == nullptr) return MPI_ERR_INTERN;                    \
    MPI_Status* st = status;                                          \
    Thread* const mg_thread = enter(__builtin_frame_address(0));      \
    if (mg_thread == nullptr) return mg_real args;                    \
    MPI_Status mg_own;                                                \
    if (st == MPI_STATUS_IGNORE) st = &mg_own;                        \
    const std::uint32_t mg_comm = comm;                               \
    mg_thread->begin(k_##name, peer, tag, mg_comm, bytes);            \
    const int mg_result = mg_real args;                               \
    if (mg_result == MPI_SUCCESS && (got))                            \
      end_received(*mg_thread, *st, mg_comm);                         \
    else                                                              \
      mg_thread->end();                                               \
    return mg_result;                                                 \
  }

#include "functions.def"
// NOLINTEND
