// What the parts of the probe share. Nothing here is exported from the library.
//
// The call path (enter, Thread::begin, Thread::end) takes no lock, allocates nothing and makes no system
// call. What does (making the segment, a thread's first call, a new region name) happens once.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "margay/probe/ring.h"
#include "margay/probe/segment.h"
#include "mpi_abi.h"
#include "mpi_constants.h"

#define MARGAY_EXPORT extern "C" __attribute__((visibility("default")))

namespace margay::probe {

// Indices into the name table; 0 is the state outside MPI.
enum Function : std::uint16_t {
  kCompute = 0,
#define SPECIAL(name, family) k_##name,
#define FN(name, family, ...) k_##name,
#define RECV(name, family, ...) k_##name,
#define IRECV(name, family, ...) k_##name,
#include "functions.def"
  kFunctions
};
static_assert(kFunctions < kNames / 2, "regions need room in the name table as well");

// ---- The MPI library below us (mpi_library.cc) ----

// A call comes in by either of its names. A program in C calls MPI_Send; Open MPI's Fortran bindings call
// PMPI_Send (MPICH's both), and so does a tool that stands before us. It is recorded once, on the outside,
// and goes out by the name it came in by.
enum class Entry : std::uint8_t { kMpi, kPmpi };
inline constexpr std::size_t kEntries = 2;
// What forwarding uses: the next definition after ours, so that other interposers still see the call; MPI's
// own PMPI_ entry where MPI was loaded out of sight (dlopen with RTLD_LOCAL). Null if there is neither.
void* resolve(std::uint16_t function, Entry entry);
extern std::atomic<void*> g_real[kEntries][kFunctions];
template <class Fn>
inline Fn* real(std::uint16_t function, Entry entry) {
  void* p = g_real[static_cast<std::size_t>(entry)][function].load(std::memory_order_relaxed);
  if (p == nullptr) p = resolve(function, entry);
  return reinterpret_cast<Fn*>(p);
}
void* resolve_pcontrol(Entry entry);

// The few calls the probe itself makes, and what the MPI's own header would have told.
struct Library {
  int (*type_size)(MPI_Datatype, int*);
  int (*comm_c2f)(MPI_Comm);  // null: the handle is the number
  int (*comm_rank)(MPI_Comm, int*);
  int (*comm_size)(MPI_Comm, int*);
  int (*comm_remote_size)(MPI_Comm, int*);
  int (*comm_test_inter)(MPI_Comm, int*);
  int (*get_elements)(const MPI_Status*, MPI_Datatype, MPI_Count*);
  int (*initialized)(int*);
  int (*finalized)(int*);
  MPI_Comm world;
  MPI_Comm comm_null;
  MPI_Datatype byte;
  MPI_Datatype datatype_null;
  MpiConstants is;
  const char* name;
};
extern Library g_library;
// What a call answers that cannot go anywhere, for want of MPI: MPI_ERR_INTERN, or nearly.
inline constexpr int kNowhere = 16;
// Fills g_library. False if this is an MPI whose handles we would misread.
bool find_library();
template <class Handle>
inline bool same(Handle a, Handle b) {
  return ((reinterpret_cast<std::uintptr_t>(a) ^ reinterpret_cast<std::uintptr_t>(b)) &
          g_library.is.handle_bits) == 0;
}
// Of a communicator: 0 is the world, as Open MPI numbers it.
inline std::uint32_t number_of(MPI_Comm comm) {
  const auto word = [](MPI_Comm c) { return static_cast<std::uint32_t>(reinterpret_cast<std::intptr_t>(c)); };
  return g_library.comm_c2f != nullptr ? static_cast<std::uint32_t>(g_library.comm_c2f(comm))
                                       : word(comm) ^ word(g_library.world);
}

// ---- The segment (segment.cc) ----

enum class Mode : std::uint32_t {
  kUnknown,  // no MPI call has been seen yet
  kOff,      // nothing is recorded, for good
  kOn,
  kDone,  // MPI_Finalize has returned: what comes after is passed on and not looked at
};
extern std::atomic<Mode> g_mode;
extern SegmentHeader* g_segment;

// What of attach() takes long, before the program's first call of MPI. Whatever fails is for attach() to try
// and tell.
void prepare();
// For calls of MPI, unless it has been tried before: makes this process's segment, or shows the one that was
// prepared. On failure the mode is kOff and g_why_off says why.
void attach();
extern const char* g_why_off;
// The same for states that the program names itself (annotate.cc); MPI is not needed for these.
void attach_annotations();
extern std::atomic<Mode> g_annotations;
// Whether it falls to this rank to say that attach() failed: to rank 0 if the reason is the same everywhere,
// else to the first of the node.
bool should_complain(int rank);
// Gives the calling thread a ring; it stays without one when there is none left.
void claim_ring(RingWriter& writer);
// What a name of the program's own stands for: a region, or a state.
enum class Named : std::uint8_t { kRegion, kState };
// Its index in the name table, made if new. When the table is full: of a region 0, of a state that of all
// others.
std::uint16_t name_index(const char* name, Named what);

// ---- Requests (requests.cc) ----

// The receive that was posted is to be known when it completes. False: there is no room to remember it.
bool track_receive(const MPI_Request* request, std::uint64_t posted, bool persistent);

// ---- The calling thread ----

inline std::int64_t kernel_time() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

// Host time for half the price of clock_gettime: the time-stamp counter, anchored anew to CLOCK_MONOTONIC at
// least every millisecond (so that its error stays far below kGuardNs even while the kernel slews its clock).
// Each time it is seen how far it was off (SegmentHeader::clock_error_ns). Per thread; never goes backwards.
// Used only where the processor says that the counter is invariant and the kernel offers it as a clock, which
// it does not where cores disagree; otherwise every reading is the kernel's.
struct ThreadClock {
  std::int64_t anchor_ns;
  std::uint64_t anchor_ticks;
  std::uint64_t valid_ticks;  // after the anchor; 0 while the rate is not known
  std::uint64_t rate;         // nanoseconds per tick, times 2^32
  std::int64_t first_ns;
  std::uint64_t first_ticks;
  std::int64_t last_ns;

  std::int64_t now() {
#if defined(__x86_64__)
    const std::uint64_t ticks = __builtin_ia32_rdtsc() - anchor_ticks;
    if (__builtin_expect(ticks >= valid_ticks, 0)) return anchor();
    const std::int64_t t = anchor_ns + static_cast<std::int64_t>((ticks * rate) >> 32);
    if (t > last_ns) last_ns = t;
    return last_ns;
#else
    return kernel_time();
#endif
  }
  std::int64_t anchor();
};
// Whether the time-stamp counter may be used; found out by attach().
extern bool g_counter_is_time;
bool counter_is_invariant();

// States within states of the program's own that are told again after a gap; deeper ones are recorded only.
inline constexpr std::uint32_t kDeepest = 15;

struct Thread {
  RingWriter writer;
  ThreadClock clock;
  const void* frame;                 // of the wrapper that is inside MPI
  std::uint32_t depth;               // states that are open
  std::uint32_t deeper;              // and those beyond kDeepest
  std::uint16_t open[kDeepest + 1];  // outermost first: the program's own, and the function of MPI in them
  bool inside;
  bool claimed;  // a ring was asked for
  bool named;    // it has named a state of its own

  [[gnu::noinline]] void record(std::uint8_t kind, std::uint16_t state, std::int32_t peer, std::int32_t tag,
                                std::uint32_t comm, std::uint64_t bytes,
                                RingWriter::As as = RingWriter::As::kUsual) {
    if (__builtin_expect(!writer.bound(), 0)) {
      // None in a child that was forked inside of a call.
      if (g_segment != nullptr) g_segment->ringless.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    writer.write(
        {0, bytes, peer < 0 ? MARGAY_NO_PEER : peer, tag < 0 ? MARGAY_NO_TAG : tag, comm, state, kind, 0},
        open, depth, [this] { return clock.now(); }, as);
  }
  void begin(std::uint16_t function, std::int32_t peer, std::int32_t tag, std::uint32_t comm,
             std::uint64_t bytes) {
    record(MARGAY_ENTER, function, peer, tag, comm, bytes);
    open[depth++] = function;
  }
  // A state whose end is the end of more than it.
  void begin_last(std::uint16_t function) {
    record(MARGAY_ENTER, function, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, RingWriter::As::kAlone);
    open[depth++] = function;
  }
  void end_last() {
    record(MARGAY_LEAVE, open[depth - 1], MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, RingWriter::As::kAlone);
    --depth;
    inside = false;
  }
  void end(std::int32_t peer, std::int32_t tag, std::uint32_t comm, std::uint64_t bytes) {
    record(MARGAY_LEAVE, open[depth - 1], peer, tag, comm, bytes);
    --depth;
    inside = false;
  }
  void end() { end(MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0); }
};
extern constinit thread_local Thread t_thread;  // constinit: no hidden call to look whether it is initialized

Thread* enter_slowly(const void* frame);
// The rest of enter(), for who may record: null inside of MPI, and for a signal handler that interrupts it.
Thread* enter_thread(const void* frame);

// The calling thread, marked as inside MPI, or null if this call is not to be recorded: the probe is off, or
// MPI or a signal handler calls MPI while a call is under way. Every non-null answer is followed by
// Thread::end.
inline Thread* enter(const void* frame) {
  Thread& t = t_thread;
  if (__builtin_expect(g_mode.load(std::memory_order_acquire) != Mode::kOn || t.inside || !t.claimed, 0))
    return enter_slowly(frame);
  t.inside = true;
  t.frame = frame;
  return &t;
}

}  // namespace margay::probe
