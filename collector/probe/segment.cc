// Making this process's segment, handing its rings to threads, and marking its end.
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace margay::probe {

std::atomic<Mode> g_mode{Mode::kUnknown};
SegmentHeader* g_segment = nullptr;
const char* g_why_off = nullptr;
// Preloaded objects always have room in the static TLS block, so the fast model is safe (CMakeLists.txt sets
// it).
constinit thread_local Thread t_thread{};
bool g_counter_is_time = false;

namespace {

constexpr const char* kNotSet = "MARGAY_RUN_DIR is not set";
constexpr const char* kRingRecords = "MARGAY_RING_RECORDS";
char g_path[512];       // of the segment
char g_complaint[512];  // RUN_DIR/rings/.complained
bool g_local_trouble = false;
std::uint64_t g_most_records = kFirstRingRecords;  // of a ring, as MARGAY_RING_RECORDS says
pid_t g_pid = 0;
pthread_key_t g_thread_end;
std::atomic<std::uint32_t> g_attaching{0};

struct FunctionRow {
  const char* name;
  std::uint8_t family;
};
// StateFamily of margay.proto.
enum Family : std::uint8_t {
  OTHER = 0,
  COMPUTE = 1,
  P2P = 2,
  COLL = 3,
  WAIT = 4,
  IO = 5,
  START = 6,
  REGION = 9
};
constexpr FunctionRow kRows[kFunctions] = {
    {"Compute", COMPUTE},
#define SPECIAL(name, family) {#name, family},
#define FN(name, family, ...) {#name, family},
#define RECV(name, family, ...) {#name, family},
#include "functions.def"
};

std::size_t read_file(const char* path, char* to, std::size_t room) {
  to[0] = '\0';
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::size_t n = 0;
  while (n + 1 < room) {
    const ssize_t got = read(fd, to + n, room - 1 - n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    n += static_cast<std::size_t>(got);
  }
  close(fd);
  to[n] = '\0';
  return n;
}

std::uint64_t own_start_time() {
  char stat[1024];
  read_file("/proc/self/stat", stat, sizeof(stat));
  // The command, field 2, may hold anything but ends at the last ')'; the start time is field 22.
  const char* p = strrchr(stat, ')');
  for (int field = 2; p != nullptr && field < 22; ++field) p = strchr(p + 1, ' ');
  return p == nullptr ? 0 : strtoull(p + 1, nullptr, 10);
}

void copy(char* to, std::size_t room, const char* from) {
  std::size_t n = strnlen(from, room - 1);
  memcpy(to, from, n);
  to[n] = '\0';
}

// Gives memory to [from, from + bytes) now: a full /dev/shm is an error here and would be a SIGBUS later.
int give_memory(int fd, std::uint64_t from, std::uint64_t bytes) {
  int error = EINTR;
  for (int tries = 0; error == EINTR && tries < 100; ++tries)
    error = posix_fallocate(fd, static_cast<off_t>(from), static_cast<off_t>(bytes));
  return error;
}

std::uint64_t records_of(std::uint32_t ring) {
  return ring_capacity(ring) < g_most_records ? ring_capacity(ring) : g_most_records;
}

// False if the variable is set to what cannot be a ring's size.
bool read_ring_records() {
  const char* text = getenv(kRingRecords);
  if (text == nullptr || *text == '\0') return true;
  char* end = nullptr;
  g_most_records = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
  return end != nullptr && *end == '\0' && valid_capacity(0, g_most_records);
}

void describe(SegmentHeader& h, std::uint64_t start_time) {
  h.layout = kLayoutVersion;
  h.header_bytes = sizeof(SegmentHeader);
  h.file_bytes = kFileBytes;
  h.pid = g_pid;
  h.start_time = start_time;
  read_file("/proc/sys/kernel/random/boot_id", h.boot_id, sizeof(h.boot_id));
  h.boot_id[strcspn(h.boot_id, "\n")] = '\0';
  gethostname(h.host, sizeof(h.host) - 1);
  const std::size_t n = read_file("/proc/self/cmdline", h.command, sizeof(h.command));
  for (std::size_t i = 0; i + 1 < n; ++i)
    if (h.command[i] == '\0') h.command[i] = ' ';
  for (std::uint32_t i = 0; i < kEnvironment; ++i) {
    const char* value = getenv(kEnvironmentKeys[i]);
    if (value != nullptr) copy(h.environment[i], sizeof(h.environment[i]), value);
  }
  h.rank.store(-1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kFunctions; ++i) {
    copy(h.names[i], kNameBytes, kRows[i].name);
    h.families[i] = kRows[i].family;
  }
  h.names_used.store(kFunctions, std::memory_order_relaxed);
  for (std::uint32_t r = 0; r < kRings; ++r) {
    h.rings[r].offset = ring_offset(r);
    h.rings[r].capacity = records_of(r);
  }
}

void in_child_after_fork() {
  // The parent's ring has one producer, and that is not us.
  g_mode.store(Mode::kOff, std::memory_order_release);
  t_thread.writer.unbind();
}

void at_thread_end(void* value) {
  auto* control = static_cast<RingControl*>(value);
  if (g_mode.load(std::memory_order_acquire) == Mode::kOff || t_thread.writer.control() != control) return;
  t_thread.writer.unbind();
  t_thread.claimed = false;
  control->state.store(kEnded, std::memory_order_release);
}

const char* make_segment() {
  const char* dir = getenv("MARGAY_RUN_DIR");
  if (dir == nullptr || *dir == '\0') return kNotSet;
  if (!read_ring_records()) return "MARGAY_RING_RECORDS is not a power of two from 64 to 131072";
  g_local_trouble = true;
  g_pid = getpid();
  const std::uint64_t start_time = own_start_time();
  const int n = snprintf(g_path, sizeof(g_path), "%s/rings/p%ld-%llu", dir, static_cast<long>(g_pid),
                         static_cast<unsigned long long>(start_time));
  if (n < 0 || static_cast<std::size_t>(n) >= sizeof(g_path)) return "MARGAY_RUN_DIR is too long";
  snprintf(g_complaint, sizeof(g_complaint), "%s/rings/.complained", dir);

  rlimit limit;  // beyond it the kernel does not fail but sends SIGXFSZ
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kFileBytes)
    return "the limit on file sizes is too low";
  const int fd = open(g_path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return errno == ENOSPC ? "no shared memory is left" : "its rings cannot be made in MARGAY_RUN_DIR";
  void* memory = MAP_FAILED;
  const std::uint64_t first_bytes = ring_offset(0) + records_of(0) * sizeof(margay_record);
  const char* why = nullptr;
  if (fchmod(fd, 0600) != 0 || ftruncate(fd, kFileBytes) != 0 || give_memory(fd, 0, first_bytes) != 0)
    why = "no shared memory is left";
  else if ((memory = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
    why = "its rings cannot be mapped";
  else if (pthread_key_create(&g_thread_end, at_thread_end) != 0 ||
           pthread_atfork(nullptr, nullptr, in_child_after_fork) != 0)
    why = "no thread key is left";
  close(fd);
  if (why != nullptr) {
    if (memory != MAP_FAILED) munmap(memory, kFileBytes);
    unlink(g_path);
    return why;
  }
#ifdef MADV_POPULATE_WRITE
  // Not all of it: MPI_Init would take most of a millisecond more by that. A page fault
  // for every 128 records, on the first lap only, is what nobody feels. Where the kernel cannot, no harm.
  constexpr std::uint64_t kAtOnce = ring_offset(0) + (256U << 10);
  madvise(memory, first_bytes < kAtOnce ? first_bytes : kAtOnce, MADV_POPULATE_WRITE);
#endif
  g_segment = static_cast<SegmentHeader*>(memory);
  describe(*g_segment, start_time);
  g_segment->magic.store(kMagic, std::memory_order_release);
  return nullptr;
}

}  // namespace

std::int64_t ThreadClock::anchor() {
#if defined(__x86_64__)
  constexpr std::int64_t kBaselineNs = 1'000'000;  // the counter's rate is taken over at least this
  constexpr std::int64_t kValidNs = 1'000'000;
  // Two readings of the counter around the kernel's: were we interrupted between, the anchor would be off.
  const std::uint64_t before = __builtin_ia32_rdtsc();
  std::int64_t t = kernel_time();
  const std::uint64_t after = __builtin_ia32_rdtsc();
  if (g_counter_is_time && after - before < 2000) {
    const std::uint64_t ticks = before + (after - before) / 2;
    if (first_ns == 0) {
      first_ns = t;
      first_ticks = ticks;
    } else if (t - first_ns >= kBaselineNs && ticks > first_ticks) {
      const auto ns = static_cast<std::uint64_t>(t - first_ns);
      const auto now_rate =
          static_cast<std::uint64_t>((static_cast<unsigned __int128>(ns) << 32) / (ticks - first_ticks));
      const std::uint64_t change = now_rate > rate ? now_rate - rate : rate - now_rate;
      const bool same = rate == 0 || change < rate / 1000;
      rate = same ? now_rate : 0;  // the machine slept or moved: begin again
      if (!same) first_ns = 0;
      valid_ticks =
          rate == 0 ? 0 : static_cast<std::uint64_t>((static_cast<unsigned __int128>(kValidNs) << 32) / rate);
      anchor_ns = t;
      anchor_ticks = ticks;
      // The baseline moves along once a second, for the kernel's rate does.
      if (ns > 1'000'000'000) {
        first_ns = t;
        first_ticks = ticks;
      }
    }
  }
  if (t < last_ns) t = last_ns;
  last_ns = t;
  return t;
#else
  return kernel_time();
#endif
}

void attach() {
  std::uint32_t none = 0;
  if (!g_attaching.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) return;
  const int saved = errno;
  char source[32];
  read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
  g_counter_is_time = strcmp(source, "tsc\n") == 0;
  const char* why = find_library() ? make_segment() : "this program's MPI is not Open MPI";
  g_why_off = why;
  g_mode.store(why == nullptr ? Mode::kOn : Mode::kOff, std::memory_order_release);
  errno = saved;
}

bool should_complain(int rank) {
  if (!g_local_trouble) return rank == 0;
  const int fd = open(g_complaint, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return errno != EEXIST && rank == 0;
  close(fd);
  return true;
}

void claim_ring(RingWriter& writer) {
  for (std::uint32_t i = 0; i < kRings; ++i) {
    RingControl& c = g_segment->rings[i];
    std::uint32_t state = c.state.load(std::memory_order_acquire);
    if (state != kFree && state != kEnded) continue;
    const bool fresh = state == kFree;
    if (!c.state.compare_exchange_strong(state, kLive, std::memory_order_acq_rel)) continue;
    if (fresh && i > 0) {
      // By name, not by a descriptor kept open: programs close descriptors they do not know and reuse the
      // numbers.
      const int fd = open(g_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
      const int error =
          fd < 0 ? errno : give_memory(fd, ring_offset(i), records_of(i) * sizeof(margay_record));
      if (fd >= 0) close(fd);
      if (error != 0) {
        c.state.store(kFailed, std::memory_order_release);
        continue;
      }
    }
    c.thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
    char* base = reinterpret_cast<char*>(g_segment);
    writer.bind(&c, reinterpret_cast<margay_record*>(base + ring_offset(i)), records_of(i));
    pthread_setspecific(g_thread_end, &c);
    return;
  }
}

std::uint16_t region_index(const char* name) {
  SegmentHeader& h = *g_segment;
  const auto find = [&](std::uint32_t from, std::uint32_t to) -> std::uint16_t {
    for (std::uint32_t i = from; i < to; ++i)
      if (h.families[i] == REGION && strcmp(h.names[i], name) == 0) return static_cast<std::uint16_t>(i);
    return 0;
  };
  const std::uint32_t seen = h.names_used.load(std::memory_order_acquire);
  if (const std::uint16_t i = find(kFunctions, seen < kNames ? seen : kNames)) return i;
  // A new name: threads take turns, but nobody waits for ever.
  std::uint32_t none = 0;
  for (int tries = 0; !h.names_lock.compare_exchange_strong(none, 1, std::memory_order_acquire);
       ++tries, none = 0)
    if (tries == 100'000) return 0;
  std::uint32_t used = h.names_used.load(std::memory_order_relaxed);
  if (used > kNames) used = kNames;
  std::uint16_t index = find(kFunctions, used);
  if (index == 0 && used < kNames) {
    copy(h.names[used], kNameBytes, name);
    h.families[used] = REGION;
    h.names_used.store(used + 1, std::memory_order_release);
    index = static_cast<std::uint16_t>(used);
  } else if (index == 0) {
    h.names_refused.fetch_add(1, std::memory_order_relaxed);
  }
  h.names_lock.store(0, std::memory_order_release);
  return index;
}

Thread* enter_slowly(const void* frame) {
  if (g_mode.load(std::memory_order_acquire) == Mode::kUnknown) {
    // MPI was initialized out of our sight (from Fortran, say), or is not initialized at all.
    if (!find_library()) return nullptr;
    int initialized = 0;
    g_library.initialized(&initialized);
    if (!initialized) return nullptr;
    attach();
    if (g_mode.load(std::memory_order_acquire) == Mode::kOn) {
      int rank = -1, size = 0;
      g_library.comm_rank(g_library.world, &rank);
      g_library.comm_size(g_library.world, &size);
      g_segment->world_size.store(size, std::memory_order_relaxed);
      g_segment->rank.store(rank, std::memory_order_relaxed);
      g_segment->flags.fetch_or(kInitialized, std::memory_order_release);
    }
  }
  if (g_mode.load(std::memory_order_acquire) != Mode::kOn) return nullptr;
  Thread& t = t_thread;
  if (t.inside) {
    // A call from inside a call lies deeper in the stack. One that does not tells that the outer call was
    // left by longjmp or an exception; unless it comes from a signal handler with a stack of its own.
    stack_t signal_stack;
    if (frame < t.frame ||
        (sigaltstack(nullptr, &signal_stack) == 0 && (signal_stack.ss_flags & SS_ONSTACK) != 0))
      return nullptr;
    t.end();
  }
  t.inside = true;
  t.frame = frame;
  if (!t.claimed) {
    t.claimed = true;
    claim_ring(t.writer);
    // The first reading of all may be slow and is then no anchor.
    t.clock.now();
    t.clock.now();
  }
  return &t;
}

// Told to the agent so that it can tell a process that came to its end from one that was killed.
__attribute__((destructor)) static void at_exit() {
  const Mode mode = g_mode.load(std::memory_order_acquire);
  if ((mode == Mode::kOn || mode == Mode::kDone) && g_pid == getpid())
    g_segment->flags.fetch_or(kExiting, std::memory_order_release);
}

}  // namespace margay::probe
