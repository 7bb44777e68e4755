// The beginning and the end of MPI, and the regions a program names itself.
#include <stdarg.h>

#include "libc.h"
#include "probe.h"

namespace margay::probe {
namespace {

// One line, once per job (or node), so that nobody wonders why nothing was recorded.
void explain_silence(int rank) {
  if (g_why_off == nullptr) return;
  if (!should_complain(rank)) return;
  char line[256];
  const int n =
      snprintf(line, sizeof(line), "margay: no collector (%s): this job is not recorded\n", g_why_off);
  if (n > 0 && write(STDERR_FILENO, line, static_cast<std::size_t>(n)) < 0) return;
}

// Its rank by the launcher's word.
int launched_as() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* told = getenv(name); told != nullptr) return atoi(told);
  return 0;
}

void after_init() {
  int rank = -1, size = 0;
  if (g_page.library.world != nullptr) {
    g_page.library.comm_rank(g_page.library.world, &rank);
    g_page.library.comm_size(g_page.library.world, &size);
  } else {  // another MPI, whose handles we do not know
    rank = launched_as();
  }
  if (g_page.mode.load(std::memory_order_acquire) != Mode::kOn) {
    explain_silence(rank);
    return;
  }
  g_page.segment->world_size.store(size, std::memory_order_relaxed);
  g_page.segment->rank.store(rank, std::memory_order_relaxed);
  g_page.segment->flags.fetch_or(kInitialized, std::memory_order_release);
  learn_from_library();
}

template <class Call>
int initialize(std::uint16_t function, const void* frame, Call call) {
  const bool first = g_page.mode.load(std::memory_order_acquire) == Mode::kUnknown;
  if (first) attach();  // before MPI_Init, so that its own duration is seen
  Thread* const thread = enter(frame);
  if (thread != nullptr) thread->begin(function, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0);
  const int result = call();
  if (first && result == MPI_SUCCESS) after_init();
  if (thread != nullptr) thread->end();
  return result;
}

// Copies the string at an address that may be anything. The kernel reads it, so that a wild address is an
// error and no crash. True if it is a name: 1 to kNameBytes - 1 printable characters.
bool read_name(const void* at, char (&name)[kNameBytes]) {
  if (at == nullptr || process_vm_readv == nullptr) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::size_t in_page = 4096 - address % 4096;
  const std::size_t first = in_page < kNameBytes ? in_page : kNameBytes;
  iovec to{name, kNameBytes};
  // Two pieces where a page ends: only whole pieces are read when the second page is not there.
  iovec from[2] = {{reinterpret_cast<void*>(address), first},
                   {reinterpret_cast<void*>(address + first), kNameBytes - first}};
  const ssize_t got = process_vm_readv(getpid(), &to, 1, from, first < kNameBytes ? 2 : 1, 0);
  for (ssize_t i = 0; i < got; ++i) {
    if (name[i] == '\0') return i > 0;
    if (name[i] < ' ' || name[i] > '~') return false;
  }
  return false;
}

}  // namespace
}  // namespace margay::probe

using namespace margay::probe;

namespace {

int init(Entry entry, const void* frame, int* argc, char*** argv) {
  auto* const function = real<decltype(MPI_Init)>(k_MPI_Init, entry);
  if (function == nullptr) return kNowhere;
  return initialize(k_MPI_Init, frame, [=] { return function(argc, argv); });
}

int init_thread(Entry entry, const void* frame, int* argc, char*** argv, int required, int* provided) {
  auto* const function = real<decltype(MPI_Init_thread)>(k_MPI_Init_thread, entry);
  if (function == nullptr) return kNowhere;
  return initialize(k_MPI_Init_thread, frame, [=] { return function(argc, argv, required, provided); });
}

int finalize(Entry entry, const void* frame) {
  auto* const function = real<decltype(MPI_Finalize)>(k_MPI_Finalize, entry);
  if (function == nullptr) return kNowhere;
  Thread* const thread = enter(frame);
  if (thread == nullptr) return function();
  thread->begin_last(k_MPI_Finalize);
  const int result = function();
  thread->end_last();
  g_page.segment->flags.fetch_or(kFinalized, std::memory_order_release);
  g_page.mode.store(Mode::kDone, std::memory_order_release);
  return result;
}

constinit std::atomic<int> g_sessions{0};  // that are open

// Without MPI_Init there is no world to have a rank in: the launcher's word has to do, which is in the
// segment.
int session_init(Entry entry, const void* frame, MPI_Info info, MPI_Errhandler handler,
                 MPI_Session* session) {
  auto* const function = real<decltype(MPI_Session_init)>(k_MPI_Session_init, entry);
  if (function == nullptr) return kNowhere;
  const bool first = g_page.mode.load(std::memory_order_acquire) == Mode::kUnknown;
  if (first) attach();
  Thread* const thread = enter(frame);
  if (thread != nullptr) thread->begin(k_MPI_Session_init, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0);
  const int result = function(info, handler, session);
  const bool on = g_page.mode.load(std::memory_order_acquire) == Mode::kOn;
  if (result == MPI_SUCCESS) g_sessions.fetch_add(1, std::memory_order_relaxed);
  if (result == MPI_SUCCESS && on) g_page.segment->flags.fetch_and(~kFinalized, std::memory_order_release);
  if (first && result == MPI_SUCCESS && on) learn_from_library();
  if (thread != nullptr) thread->end();
  if (first && !on) explain_silence(launched_as());
  return result;
}

// The last one may not be the last: another may be begun.
int session_finalize(Entry entry, const void* frame, MPI_Session* session) {
  auto* const function = real<decltype(MPI_Session_finalize)>(k_MPI_Session_finalize, entry);
  if (function == nullptr) return kNowhere;
  Thread* const thread = enter(frame);
  if (thread == nullptr) return function(session);
  thread->begin_last(k_MPI_Session_finalize);
  const int result = function(session);
  thread->end_last();
  if (result == MPI_SUCCESS && g_sessions.fetch_sub(1, std::memory_order_relaxed) == 1)
    g_page.segment->flags.fetch_or(kFinalized, std::memory_order_release);
  return result;
}

int abort(Entry entry, const void* frame, MPI_Comm comm, int code) {
  auto* const function = real<decltype(MPI_Abort)>(k_MPI_Abort, entry);
  if (function == nullptr) return kNowhere;
  Thread* const thread = enter(frame);
  if (g_page.mode.load(std::memory_order_acquire) == Mode::kOn)
    g_page.segment->flags.fetch_or(kAborted, std::memory_order_release);
  if (thread != nullptr) thread->begin(k_MPI_Abort, MARGAY_NO_PEER, MARGAY_NO_TAG, number_of(comm), 0);
  const int result = function(comm, code);
  if (thread != nullptr) thread->end();
  return result;
}

int control(Entry entry, const void* frame, int level, va_list list) {
  // Reading arguments that were not passed is harmless as long as they are not used: they come from the
  // registers in which variadic arguments lie. Five are passed on; floating-point ones cannot be.
  void* a = va_arg(list, void*);
  void* b = va_arg(list, void*);
  void* c = va_arg(list, void*);
  void* d = va_arg(list, void*);
  void* e = va_arg(list, void*);
  // Fortran has nothing but the level.
  if (entry == Entry::kMpi && (level == 1 || level == -1)) {
    char name[kNameBytes];
    Thread* const thread = enter(frame);
    if (thread != nullptr) {
      if (read_name(a, name))
        if (const std::uint16_t region = name_index(name, Named::kRegion))
          thread->record(level == 1 ? MARGAY_REGION_ENTER : MARGAY_REGION_LEAVE, region, MARGAY_NO_PEER,
                         MARGAY_NO_TAG, 0, 0);
      thread->inside = false;
    }
  }
  auto* const function = reinterpret_cast<decltype(MPI_Pcontrol)*>(resolve_pcontrol(entry));
  return function == nullptr ? MPI_SUCCESS : function(level, a, b, c, d, e);
}

}  // namespace

// NOLINTBEGIN: the names are MPI's.
#define BOTH(entry, prefix)                                                                           \
  MARGAY_EXPORT int prefix##MPI_Init(int* argc, char*** argv) {                                       \
    return init(entry, __builtin_frame_address(0), argc, argv);                                       \
  }                                                                                                   \
  MARGAY_EXPORT int prefix##MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {   \
    return init_thread(entry, __builtin_frame_address(0), argc, argv, required, provided);            \
  }                                                                                                   \
  MARGAY_EXPORT int prefix##MPI_Finalize(void) {                                                      \
    return finalize(entry, __builtin_frame_address(0));                                               \
  }                                                                                                   \
  MARGAY_EXPORT int prefix##MPI_Abort(MPI_Comm comm, int code) {                                      \
    return abort(entry, __builtin_frame_address(0), comm, code);                                      \
  }                                                                                                   \
  MARGAY_EXPORT int prefix##MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* s) { \
    return session_init(entry, __builtin_frame_address(0), info, handler, s);                         \
  }                                                                                                   \
  MARGAY_EXPORT int prefix##MPI_Session_finalize(MPI_Session* session) {                              \
    return session_finalize(entry, __builtin_frame_address(0), session);                              \
  }                                                                                                   \
  MARGAY_EXPORT int prefix##MPI_Pcontrol(const int level, ...) {                                      \
    va_list list;                                                                                     \
    va_start(list, level);                                                                            \
    const int result = control(entry, __builtin_frame_address(0), level, list);                       \
    va_end(list);                                                                                     \
    return result;                                                                                    \
  }
BOTH(Entry::kMpi, )
BOTH(Entry::kPmpi, P)
// NOLINTEND
