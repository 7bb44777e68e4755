// The wrappers, generated from functions.def.
#include <string.h>

#include "probe.h"

namespace margay::probe {
namespace {

// The size of `count` elements; 0 for what is null. REQUIRES: MPI looks at `type` in this call (see
// functions.def).
std::uint64_t B(int count, MPI_Datatype type) {
  if (count <= 0 || type == nullptr || same(type, g_library.datatype_null)) return 0;
  int size = 0;
  if (g_library.type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

std::uint32_t C(MPI_Comm comm) {
  return number_of(comm);
}
// Of a communicator that lies in memory, and takes no more of it than its MPI's handles do.
std::uint32_t C_at(const MPI_Comm* comm) {
  if (g_library.comm_c2f != nullptr) return number_of(*comm);
  std::uint32_t low = 0;
  memcpy(&low, comm, sizeof low);
  return number_of(reinterpret_cast<MPI_Comm>(std::uintptr_t{low}));
}

bool in_place(const void* buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer) == g_library.is.in_place;
}

// What a process gives to (or gets from) the root; roots in place and the root's group of an
// intercommunicator have nothing.
std::uint64_t own_bytes(const void* buffer, int count, MPI_Datatype type, int root) {
  return in_place(buffer) || root < 0 ? 0 : B(count, type);
}
std::uint64_t root_bytes(int count, MPI_Datatype type, int root) {
  return root == g_library.is.proc_null ? 0 : B(count, type);
}

// How many processes an all-to-all in `comm` reaches.
std::uint64_t peers(MPI_Comm comm) {
  if (comm == nullptr || same(comm, g_library.comm_null)) return 0;
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
  int source = 0, tag = 0;
  memcpy(&source, status.raw + g_library.is.status_source, sizeof source);
  memcpy(&tag, status.raw + g_library.is.status_tag, sizeof tag);
  t.end(source, tag, comm, static_cast<std::uint64_t>(bytes));
}

}  // namespace
}  // namespace margay::probe

// NOLINTBEGIN: the names and signatures are MPI's.
using namespace margay::probe;

#define SPECIAL(name, family)

#define CALL(exported, name, entry, params, args, peer, tag, comm, bytes) \
  MARGAY_EXPORT int exported params {                                     \
    auto* const mg_real = real<decltype(exported)>(k_##name, entry);      \
    if (mg_real == nullptr) return kNowhere;                              \
    Thread* const mg_thread = enter(__builtin_frame_address(0));          \
    if (mg_thread == nullptr) return mg_real args;                        \
    mg_thread->begin(k_##name, peer, tag, comm, bytes);                   \
    const int mg_result = mg_real args;                                   \
    mg_thread->end();                                                     \
    return mg_result;                                                     \
  }
#define FN(name, family, params, args, peer, tag, comm, bytes)        \
  CALL(name, name, Entry::kMpi, params, args, peer, tag, comm, bytes) \
  CALL(P##name, name, Entry::kPmpi, params, args, peer, tag, comm, bytes)

// What is received is told when it has come; where that cannot be known, what was posted.
#define POST(exported, name, entry, params, args, peer, tag, comm, bytes, persistent) \
  MARGAY_EXPORT int exported params {                                                 \
    auto* const mg_real = real<decltype(exported)>(k_##name, entry);                  \
    if (mg_real == nullptr) return kNowhere;                                          \
    Thread* const mg_thread = enter(__builtin_frame_address(0));                      \
    if (mg_thread == nullptr) return mg_real args;                                    \
    const std::uint32_t mg_comm = comm;                                               \
    const std::uint64_t mg_bytes = bytes;                                             \
    mg_thread->begin(k_##name, peer, tag, mg_comm, 0);                                \
    const int mg_result = mg_real args;                                               \
    if (mg_result != MPI_SUCCESS || track_receive(request, mg_bytes, persistent))     \
      mg_thread->end();                                                               \
    else                                                                              \
      mg_thread->end(peer, tag, mg_comm, mg_bytes);                                   \
    return mg_result;                                                                 \
  }
#define IRECV(name, family, params, args, peer, tag, comm, bytes, persistent)     \
  POST(name, name, Entry::kMpi, params, args, peer, tag, comm, bytes, persistent) \
  POST(P##name, name, Entry::kPmpi, params, args, peer, tag, comm, bytes, persistent)

#define RECEIVE(exported, name, entry, params, args, peer, tag, comm, bytes, got)         \
  MARGAY_EXPORT int exported params {                                                     \
    auto* const mg_real = real<decltype(exported)>(k_##name, entry);                      \
    if (mg_real == nullptr) return kNowhere;                                              \
    MPI_Status* st = status;                                                              \
    Thread* const mg_thread = enter(__builtin_frame_address(0));                          \
    if (mg_thread == nullptr) return mg_real args;                                        \
    MPI_Status mg_own;                                                                    \
    if (reinterpret_cast<std::uintptr_t>(st) == g_library.is.status_ignore) st = &mg_own; \
    const std::uint32_t mg_comm = comm;                                                   \
    mg_thread->begin(k_##name, peer, tag, mg_comm, bytes);                                \
    const int mg_result = mg_real args;                                                   \
    if (mg_result == MPI_SUCCESS && (got))                                                \
      end_received(*mg_thread, *st, mg_comm);                                             \
    else                                                                                  \
      mg_thread->end();                                                                   \
    return mg_result;                                                                     \
  }
#define RECV(name, family, params, args, peer, tag, comm, bytes, got)         \
  RECEIVE(name, name, Entry::kMpi, params, args, peer, tag, comm, bytes, got) \
  RECEIVE(P##name, name, Entry::kPmpi, params, args, peer, tag, comm, bytes, got)

#include "functions.def"
// NOLINTEND
