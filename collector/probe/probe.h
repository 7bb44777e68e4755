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
#include "page.h"

namespace margay::probe {

// ---- The segment (segment.cc) ----

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

// ---- The calling thread (call.cc) ----

inline std::int64_t kernel_time() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

// Host time for half the price of clock_gettime: the time-stamp counter, anchored anew to CLOCK_MONOTONIC
// every 20 ms (while the kernel slews its clock, by at most 500 ppm, it is 10 us off then, far below
// kGuardNs). Each time it is seen how far it was off (SegmentHeader::clock_error_ns). Per thread; never goes
// backwards. Used only where the processor says that the counter is invariant and the kernel offers it as a
// clock, which it does not where cores disagree; otherwise every reading is the kernel's.
struct ThreadClock {
  // Where the rate is taken from.
  struct Baseline {
    std::int64_t ns;
    std::uint64_t ticks;
  };
  std::int64_t anchor_ns;
  std::uint64_t anchor_ticks;
  std::uint64_t valid_ticks;  // after the anchor; 0 while the rate is not known
  std::uint64_t rate;         // nanoseconds per tick, times 2^32
  std::int64_t last_ns;

  std::int64_t now(Baseline& baseline) {
#if defined(__x86_64__)
    const std::uint64_t ticks = __builtin_ia32_rdtsc() - anchor_ticks;
    if (__builtin_expect(ticks >= valid_ticks, 0)) return anchor(baseline);
    const std::int64_t t = anchor_ns + static_cast<std::int64_t>((ticks * rate) >> 32);
    if (__builtin_expect(t > last_ns, 1)) last_ns = t;
    return last_ns;
#else
    return kernel_time();
#endif
  }
  std::int64_t anchor(Baseline& baseline);
};
// Whether the time-stamp counter may be used; found out by attach().
extern bool g_counter_is_time;
bool counter_is_invariant();

// States within states of the program's own that are told again after a gap; deeper ones are recorded only.
inline constexpr std::uint32_t kDeepest = 15;

// All that a call reads, where calls are summed, is in the first cache line (PROBE.md, *Pages*).
struct alignas(64) Thread {
  ThreadClock clock;
  std::uint16_t depth;    // states that are open
  std::uint16_t current;  // the function of MPI among them, which is the innermost
  bool inside;
  bool claimed;  // a ring was asked for
  bool named;    // it has named a state of its own
  RingWriter writer;
  const void* frame;                 // of the wrapper that is inside MPI
  std::uint16_t open[kDeepest + 1];  // outermost first: the program's own, and the function of MPI in them
  std::uint32_t deeper;              // states beyond kDeepest that are open
  ThreadClock::Baseline baseline;

  std::int64_t now() { return clock.now(baseline); }

  void record(std::uint8_t kind, std::uint16_t state, std::int32_t peer, std::int32_t tag, std::uint32_t comm,
              std::uint64_t bytes, RingWriter::As as = RingWriter::As::kUsual);
  void begin(std::uint16_t function, std::int32_t peer, std::int32_t tag, std::uint32_t comm,
             std::uint64_t bytes);
  void end(std::int32_t peer, std::int32_t tag, std::uint32_t comm, std::uint64_t bytes);
  void end();
  [[gnu::always_inline]] void end_with(const CallArguments& arguments);
  // There is no ring.
  void nowhere();
  // A state whose end is the end of more than it.
  void begin_last(std::uint16_t function);
  void end_last();
};
static_assert(offsetof(Thread, writer) + RingWriter::kFirst <= 64);
extern constinit thread_local Thread t_thread;  // constinit: no hidden call to look whether it is initialized

Thread* enter_slowly(const void* frame);
// The rest of enter(), for who may record: null inside of MPI, and for a signal handler that interrupts it.
Thread* enter_thread(const void* frame);

// The calling thread, marked as inside MPI, or null if this call is not to be recorded: the probe is off, or
// MPI or a signal handler calls MPI while a call is under way. Every non-null answer is followed by
// Thread::end.
Thread* enter(const void* frame);

std::uint64_t local_processes();  // mpi_library.cc
void count_unwatched();           // unwatched.cc

}  // namespace margay::probe
