// The wrappers, generated from functions.def.
#include <string.h>

#include "probe.h"

namespace margay::probe {
namespace {

// What MPI answers.
[[gnu::noinline]] int size_by_mpi(MPI_Datatype type) {
  int size = 0;
  return g_page.library.type_size(type, &size) == MPI_SUCCESS ? size : 0;
}

// The size of `count` elements; 0 for what is null. REQUIRES: MPI looks at `type` in this call (see
// functions.def).
[[gnu::noinline, gnu::hot]] std::uint64_t B(MPI_Count count, MPI_Datatype type) {
  const Library& l = g_page.library;
  if (count <= 0 || type == nullptr || same(type, l.datatype_null)) return 0;
  const auto handle = reinterpret_cast<std::uintptr_t>(type) & l.is.handle_bits;
  int size = l.comm_c2f != nullptr ? g_page.types.of(handle) : mpich_type_size(handle);
  if (size < 0) size = size_by_mpi(type);
  return size < 0 ? 0 : static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

[[gnu::noinline, gnu::hot]] std::uint32_t C(MPI_Comm comm) {
  return number_of(comm);
}
// Of a communicator that lies in memory, and takes no more of it than its MPI's handles do.
std::uint32_t C_at(const MPI_Comm* comm) {
  if (g_page.library.comm_c2f != nullptr) return number_of(*comm);
  std::uint32_t low = 0;
  memcpy(&low, comm, sizeof low);
  return number_of(reinterpret_cast<MPI_Comm>(std::uintptr_t{low}));
}

bool in_place(const void* buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer) == g_page.library.is.in_place;
}

// What a process gives to (or gets from) the root; roots in place and the root's group of an
// intercommunicator have nothing.
std::uint64_t own_bytes(const void* buffer, MPI_Count count, MPI_Datatype type, int root) {
  return in_place(buffer) || root < 0 ? 0 : B(count, type);
}
std::uint64_t root_bytes(MPI_Count count, MPI_Datatype type, int root) {
  return root == g_page.library.is.proc_null ? 0 : B(count, type);
}

// How many processes an all-to-all in `comm` reaches.
std::uint64_t peers(MPI_Comm comm) {
  if (comm == nullptr || same(comm, g_page.library.comm_null)) return 0;
  int inter = 0, size = 0;
  g_page.library.comm_test_inter(comm, &inter);
  (inter != 0 ? g_page.library.comm_remote_size : g_page.library.comm_size)(comm, &size);
  return size < 0 ? 0 : static_cast<std::uint64_t>(size);
}

template <class Count>
std::uint64_t sum_bytes(const Count counts[], MPI_Datatype type, MPI_Comm comm) {
  if (counts == nullptr) return 0;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0, n = peers(comm); i < n; ++i)
    if (counts[i] > 0) sum += static_cast<std::uint64_t>(counts[i]);
  return sum * B(1, type);
}

// Leaves a call that received: with what arrived, if it arrived.
[[gnu::noinline, gnu::hot]] void end_received(Thread& t, const MPI_Status& status, std::uint32_t comm) {
  const MPI_Count bytes = bytes_of(status);
  int source = 0, tag = 0;
  memcpy(&source, status.raw + g_page.library.is.status_source, sizeof source);
  memcpy(&tag, status.raw + g_page.library.is.status_tag, sizeof tag);
  t.end(source, tag, comm, bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
}

}  // namespace
}  // namespace margay::probe

// NOLINTBEGIN: the names and signatures are MPI's.
using namespace margay::probe;

#define SPECIAL(name, family)

#define CALL(exported, name, entry, params, args, peer, tag, comm, bytes) \
  MARGAY_EXPORT HOW(exported)                                             \
  int exported params {                                                   \
    auto* const mg_real = real<decltype(exported)>(k_##name, entry);      \
    if (mg_real == nullptr) return kNowhere;                              \
    Thread* const mg_thread = enter(__builtin_frame_address(0));          \
    if (mg_thread == nullptr) return mg_real args;                        \
    mg_thread->begin(k_##name, peer, tag, comm, bytes);                   \
    const int mg_result = mg_real args;                                   \
    mg_thread->end();                                                     \
    return mg_result;                                                     \
  }

// What is received is told when it has come; where that cannot be known, what was posted.
#define POST(exported, name, entry, params, args, peer, tag, comm, bytes, persistent) \
  MARGAY_EXPORT HOW(exported)                                                         \
  int exported params {                                                               \
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
#define RECEIVE(exported, name, entry, params, args, peer, tag, comm, bytes, got)              \
  MARGAY_EXPORT HOW(exported)                                                                  \
  int exported params {                                                                        \
    auto* const mg_real = real<decltype(exported)>(k_##name, entry);                           \
    if (mg_real == nullptr) return kNowhere;                                                   \
    MPI_Status* st = status;                                                                   \
    Thread* const mg_thread = enter(__builtin_frame_address(0));                               \
    if (mg_thread == nullptr) return mg_real args;                                             \
    MPI_Status mg_own;                                                                         \
    if (reinterpret_cast<std::uintptr_t>(st) == g_page.library.is.status_ignore) st = &mg_own; \
    const std::uint32_t mg_comm = comm;                                                        \
    mg_thread->begin(k_##name, peer, tag, mg_comm, bytes);                                     \
    const int mg_result = mg_real args;                                                        \
    if (mg_result == MPI_SUCCESS && (got))                                                     \
      end_received(*mg_thread, *st, mg_comm);                                                  \
    else                                                                                       \
      mg_thread->end();                                                                        \
    return mg_result;                                                                          \
  }
// What programs call most lies together, apart from the rest (PROBE.md, *Pages*).
#define MOST_MPI_Send ~, [[gnu::hot]]
#define MOST_MPI_Isend ~, [[gnu::hot]]
#define MOST_MPI_Recv ~, [[gnu::hot]]
#define MOST_MPI_Irecv ~, [[gnu::hot]]
#define MOST_MPI_Sendrecv ~, [[gnu::hot]]
#define MOST_MPI_Iprobe ~, [[gnu::hot]]
#define MOST_MPI_Startall ~, [[gnu::hot]]
#define MOST_MPI_Barrier ~, [[gnu::hot]]
#define MOST_MPI_Bcast ~, [[gnu::hot]]
#define MOST_MPI_Reduce ~, [[gnu::hot]]
#define MOST_MPI_Allreduce ~, [[gnu::hot]]
#define MOST_MPI_Allgather ~, [[gnu::hot]]
#define MOST_MPI_Alltoall ~, [[gnu::hot]]
#define SECOND(first, second, ...) second
#define OF_TWO(...) SECOND(__VA_ARGS__)
// The attribute of those above; of others, whose name is no macro, nothing.
#define HOW(exported) OF_TWO(MOST_##exported, , )
#define FN(name, family, ...) CALL(name, name, Entry::kMpi, __VA_ARGS__)
#define IRECV(name, family, ...) POST(name, name, Entry::kMpi, __VA_ARGS__)
#define RECV(name, family, ...) RECEIVE(name, name, Entry::kMpi, __VA_ARGS__)
#include "functions.def"

#define SPECIAL(name, family)
#define FN(name, family, ...) CALL(P##name, name, Entry::kPmpi, __VA_ARGS__)
#define IRECV(name, family, ...) POST(P##name, name, Entry::kPmpi, __VA_ARGS__)
#define RECV(name, family, ...) RECEIVE(P##name, name, Entry::kPmpi, __VA_ARGS__)
#include "functions.def"

#define LARGE_COUNTS
#define SPECIAL(name, family)
#define FN(...)
#define IRECV(...)
#define RECV(...)
#define FNC(name, family, ...) CALL(name##_c, name, Entry::kMpiLarge, __VA_ARGS__)
#define IRECVC(name, family, ...) POST(name##_c, name, Entry::kMpiLarge, __VA_ARGS__)
#define RECVC(name, family, ...) RECEIVE(name##_c, name, Entry::kMpiLarge, __VA_ARGS__)
#include "functions.def"

#define SPECIAL(name, family)
#define FN(...)
#define IRECV(...)
#define RECV(...)
#define FNC(name, family, ...) CALL(P##name##_c, name, Entry::kPmpiLarge, __VA_ARGS__)
#define IRECVC(name, family, ...) POST(P##name##_c, name, Entry::kPmpiLarge, __VA_ARGS__)
#define RECVC(name, family, ...) RECEIVE(P##name##_c, name, Entry::kPmpiLarge, __VA_ARGS__)
#include "functions.def"
// NOLINTEND
