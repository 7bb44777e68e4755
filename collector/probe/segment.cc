// Making this process's segment, handing its rings to threads, and marking its end.
#include "libc.h"
#include "probe.h"

namespace margay::probe {

std::atomic<Mode> g_annotations{Mode::kUnknown};
const char* g_why_off = nullptr;

namespace {

constexpr const char* kNotSet = "MARGAY_RUN_DIR is not set";
constexpr const char* kTooLittle = "too little shared memory is free";
constexpr const char* kRingRecords = "MARGAY_RING_RECORDS";
char g_path[512];       // of the segment
char g_complaint[512];  // RUN_DIR/rings/.complained
bool g_local_trouble = false;
std::uint64_t g_most_records = kFirstRingRecords;  // of a ring, as MARGAY_RING_RECORDS says
std::uint64_t g_affordable = kFirstRingRecords;    // of the first ring, as memory says
pid_t g_pid = 0;
std::uint64_t g_pid_namespace = 0;
pthread_key_t g_thread_key;
int (*g_set_key)(pthread_key_t, const void*) = nullptr;
std::atomic<std::uint32_t> g_attaching{0};
enum Making : std::uint32_t { kNotYet, kAtIt, kTried };
std::atomic<std::uint32_t> g_making{kNotYet};
const char* g_why_no_segment = nullptr;
std::uint16_t g_thread_end = 0;    // the state that ends a thread
std::uint16_t g_other_states = 0;  // what states beyond the name table count as

struct FunctionRow {
  const char* name;
  std::uint8_t family;
};
// StateFamily of names.proto.
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
#define IRECV(name, family, ...) {#name, family},
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

// 0: not known.
std::uint64_t own_pid_namespace() {
  char link[64];  // "pid:[4026531836]"
  const ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
  if (n <= 0) return 0;
  link[n] = '\0';
  const char* const number = strchr(link, '[');
  return number == nullptr ? 0 : strtoull(number + 1, nullptr, 10);
}

// The lock belongs to the open file, which the mapping holds: it outlives the descriptor, and a program that
// closes those it does not know, and ends with the process or its image. (A reader may be trying it just
// now.)
bool lock_for_life(int fd) {
  for (int tries = 0; tries < 100; ++tries)
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
      return true;
    else if (errno != EWOULDBLOCK)
      return false;
  return false;
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

std::uint64_t records_of(std::uint32_t ring, std::uint64_t affordable) {
  std::uint64_t records = ring_capacity(ring);
  if (records > g_most_records) records = g_most_records;
  if (ring > 0) affordable /= kFirstRingRecords / kOtherRingRecords;
  if (records > affordable) records = affordable;
  return records < kLeastRingRecords ? kLeastRingRecords : records;
}

std::uint64_t records_of(std::uint32_t ring) {
  return records_of(ring, g_affordable);
}

// What this process takes at most, once each of its rings has a thread.
std::uint64_t bytes_of_all(std::uint64_t affordable) {
  return kRingsBegin +
         (records_of(0, affordable) + (kRings - 1) * records_of(1, affordable)) * sizeof(margay_record);
}

// Rings take a quarter of what is free where they lie, and of that this process its share: MPI and the
// program need the same memory (/dev/shm of a container has 64 MiB) and do not count on ours. So rings are as
// small as that asks for. False if the smallest are too large.
bool afford(const char* rings) {
  struct statvfs place {};
  if (statvfs(rings, &place) != 0 || place.f_blocks == 0) return true;  // without a bound
  const std::uint64_t share = place.f_bavail * place.f_frsize / 4 / local_processes();
  constexpr std::uint64_t kFewest = 512;
  g_affordable = kFirstRingRecords;
  while (g_affordable > kFewest && bytes_of_all(g_affordable) > share) g_affordable /= 2;
  return bytes_of_all(g_affordable) <= share;
}

// False if the variable is set to what cannot be a ring's size.
bool read_ring_records() {
  const char* text = getenv(kRingRecords);
  if (text == nullptr || *text == '\0') return true;
  char* end = nullptr;
  g_most_records = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
  return end != nullptr && *end == '\0' && valid_capacity(0, g_most_records);
}

void find_out_the_clock() {
  // Where its cores' counters disagree, or do not keep a rate, the kernel does not offer them; a virtual
  // machine may have another clock as its current one all the same.
  char offered[256];
  read_file("/sys/devices/system/clocksource/clocksource0/available_clocksource", offered, sizeof(offered));
  for (const char* at = strstr(offered, "tsc"); at != nullptr; at = strstr(at + 1, "tsc"))
    if ((at == offered || at[-1] == ' ') && (at[3] == ' ' || at[3] == '\n' || at[3] == '\0'))
      g_counter_is_time = counter_is_invariant();
}

void describe(SegmentHeader& h, std::uint64_t start_time) {
  find_out_the_clock();
  copy(h.clock, sizeof h.clock, g_counter_is_time ? "tsc" : "kernel");
  h.layout = kLayoutVersion;
  h.header_bytes = sizeof(SegmentHeader);
  h.file_bytes = kFileBytes;
  h.pid = g_pid;
  h.start_time = start_time;
  h.pid_namespace = g_pid_namespace;
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
    h.rings[r].control.offset = ring_offset(r);
    h.rings[r].control.capacity = records_of(r);
  }
}

void at_thread_end(void* value) {
  auto* control = static_cast<RingControl*>(value);
  if (t_thread.writer.control() != control) return;
  if (t_thread.named) {
    t_thread.depth = 0;
    t_thread.begin_last(g_thread_end);
    t_thread.end_last();
  }
  t_thread.writer.flush();
  t_thread.writer.unbind();
  t_thread.claimed = t_thread.named = false;
  control->state.store(kEnded, std::memory_order_release);
}

// A segment without a name: nobody else sees it, and it goes with the process. Made while the program is
// loaded, for giving memory takes longer than an MPI call may.
struct Unnamed {
  void* memory = nullptr;
  int fd = -1;  // programs close descriptors they do not know and reuse the numbers: compared with `file`
                // before use
  struct stat file {};
  pid_t pid = 0;
};
constinit Unnamed g_unnamed;  // set before constructors of this file would run
bool g_no_memory_at_load = false;

// Not glibc's fstat, which was none of its library's symbols before 2.33. The kernel's struct is the same.
bool look_at(int fd, struct stat& file) {
  return syscall(SYS_fstat, fd, &file) == 0;
}

bool still_there(const Unnamed& u) {
  struct stat now {};
  return look_at(u.fd, now) && now.st_dev == u.file.st_dev && now.st_ino == u.file.st_ino;
}

void discard(Unnamed& u) {
  if (u.memory != nullptr) munmap(u.memory, kFileBytes);
  if (u.fd >= 0 && still_there(u)) close(u.fd);
  u = Unnamed{};
}

void in_child_after_fork() {
  // What the parent has mapped holds its lock: the parent would be taken to live for as long as this child
  // does.
  if (g_unnamed.memory != nullptr) discard(g_unnamed);
  if (g_page.segment == nullptr) return;
  // The parent's ring has one producer, and that is not us.
  g_page.mode.store(Mode::kOff, std::memory_order_release);
  t_thread.writer.unbind();
  t_thread.claimed = t_thread.named = false;
  munmap(g_page.segment, kFileBytes);
  // What the child names itself is of a process of its own, if it does.
  g_page.segment = nullptr;
  g_making.store(kNotYet, std::memory_order_relaxed);
  g_annotations.store(Mode::kUnknown, std::memory_order_release);
}

std::uint64_t first_bytes() {
  return ring_offset(0) + records_of(0) * sizeof(margay_record);
}

// Who this process is, and where its segment will be.
const char* look_around(std::uint64_t& start_time, char* rings, std::size_t room) {
  const char* dir = getenv("MARGAY_RUN_DIR");
  if (dir == nullptr || *dir == '\0') return kNotSet;
  if (!read_ring_records()) return "MARGAY_RING_RECORDS is not a power of two from 64 to 131072";
  g_local_trouble = true;
  g_pid = getpid();
  start_time = own_start_time();
  g_pid_namespace = own_pid_namespace();
  const int n = snprintf(rings, room, "%s/rings", dir);
  // Processes of two namespaces may have the same pid, and have begun at the same time.
  if (n < 0 || static_cast<std::size_t>(n) >= room ||
      snprintf(g_path, sizeof(g_path), "%s/p%ld-%llu-%llu", rings, static_cast<long>(g_pid),
               static_cast<unsigned long long>(start_time),
               static_cast<unsigned long long>(g_pid_namespace)) >= static_cast<int>(sizeof(g_path)) ||
      snprintf(g_complaint, sizeof(g_complaint), "%s/.complained", rings) >=
          static_cast<int>(sizeof(g_complaint)))
    return "MARGAY_RUN_DIR is too long";
  rlimit limit;  // beyond it the kernel does not fail but sends SIGXFSZ
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kFileBytes)
    return "the limit on file sizes is too low";
  return nullptr;
}

// Memory for the header and the first ring, mapped and described. On failure the file is still to be closed.
const char* furnish(int fd, std::uint64_t start_time, void*& memory) {
  if (fchmod(fd, 0600) != 0 || ftruncate(fd, kFileBytes) != 0 || give_memory(fd, 0, first_bytes()) != 0)
    return kTooLittle;
  void* const mapped = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return "its rings cannot be mapped";
  memory = mapped;
  describe(*static_cast<SegmentHeader*>(memory), start_time);
  static_cast<SegmentHeader*>(memory)->locked = lock_for_life(fd) ? 1 : 0;
  return nullptr;
}

void show(void* memory) {
  static_cast<SegmentHeader*>(memory)->magic.store(kMagic, std::memory_order_release);
}

// No page faults later, and memory for all of it; an error number where that cannot be had, EINVAL where the
// kernel does not know how.
int populate(void* memory, std::uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  return madvise(memory, bytes, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
  return EINVAL;
#endif
}

// Memory for a ring but the first. Through the mapping: by the file, threads that come together would wait
// for its lock.
int give_ring(std::uint32_t ring) {
  const std::uint64_t bytes = records_of(ring) * sizeof(margay_record);
  const std::uint64_t page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = ring_offset(ring) / page * page;
  const int error =
      populate(reinterpret_cast<char*>(g_page.segment) + begin, ring_offset(ring) + bytes - begin);
  if (error != EINVAL) return error;
  // By name, not by a descriptor kept open: programs close descriptors they do not know and reuse the
  // numbers.
  const int fd = open(g_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno;
  const int given = give_memory(fd, ring_offset(ring), bytes);
  close(fd);
  return given;
}

// What may have come with a library that was loaded after us.
template <class Function>
Function* here_or_since(Function* function, const char* name) {
  if (function != nullptr || dlsym == nullptr) return function;
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

const char* watch_threads() {
  static bool watched = false;  // a child's are watched already
  if (watched) return nullptr;
  if (__register_atfork != nullptr)
    watched = __register_atfork(nullptr, nullptr, in_child_after_fork, nullptr) == 0;
  else if (auto* const at_fork = here_or_since(&pthread_atfork, "pthread_atfork"); at_fork != nullptr)
    watched = at_fork(nullptr, nullptr, in_child_after_fork) == 0;
  if (!watched) return "forks cannot be seen";
  auto* const create_key = here_or_since(&pthread_key_create, "pthread_key_create");
  g_set_key = here_or_since(&pthread_setspecific, "pthread_setspecific");
  if (create_key == nullptr || g_set_key == nullptr) {  // it has no threads
    g_set_key = nullptr;
    return nullptr;
  }
  watched = create_key(&g_thread_key, at_thread_end) == 0;
  return watched ? nullptr : "no thread key is left";
}

// Gives the segment that was made at load its name. False if it is not to be had.
bool name_the_unnamed() {
  Unnamed& u = g_unnamed;
  if (u.memory == nullptr) return false;
  char link[32];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", u.fd);
  bool named = false;
  // A child has its parent's in sight, which is not its own.
  if (u.pid == getpid() && still_there(u)) {
    show(u.memory);
    named = linkat(AT_FDCWD, link, AT_FDCWD, g_path, AT_SYMLINK_FOLLOW) == 0;
    if (named && watch_threads() != nullptr) named = unlink(g_path) != 0;
  }
  if (!named) {
    discard(u);
    return false;
  }
  g_page.segment = static_cast<SegmentHeader*>(u.memory);
  u.memory = nullptr;
  discard(u);
  return true;
}

const char* make_segment() {
  if (name_the_unnamed()) return nullptr;
  std::uint64_t start_time = 0;
  char rings[sizeof(g_path)];
  if (const char* why = look_around(start_time, rings, sizeof(rings))) return why;
  // Giving memory to 4 MiB takes longer than an MPI call may. Where it could not be had at load either,
  // asking for all of it again tells why.
  if (!g_no_memory_at_load && g_most_records > kOtherRingRecords) g_most_records = kOtherRingRecords;
  if (!afford(rings)) return kTooLittle;
  const int fd = open(g_path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno == ENOSPC ? kTooLittle : "its rings cannot be made in MARGAY_RUN_DIR";
  void* memory = nullptr;
  const char* why = furnish(fd, start_time, memory);
  if (why == nullptr) why = watch_threads();
  close(fd);
  if (why != nullptr) {
    if (memory != nullptr) munmap(memory, kFileBytes);
    unlink(g_path);
    return why;
  }
  // Not all of it: this is inside an MPI call. A page fault for every 128 records, on the first lap only, is
  // what nobody feels.
  constexpr std::uint64_t kAtOnce = ring_offset(0) + (256U << 10);
  populate(memory, first_bytes() < kAtOnce ? first_bytes() : kAtOnce);
  g_page.segment = static_cast<SegmentHeader*>(memory);
  show(memory);
  return nullptr;
}

}  // namespace

void prepare() {
  std::uint64_t start_time = 0;
  char rings[sizeof(g_path)];
  Unnamed u;
  if (look_around(start_time, rings, sizeof(rings)) != nullptr) return;
  u.fd = open(rings, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (u.fd < 0) return;
  // Out of the way of programs that count on the numbers they get.
  if (const int high = fcntl(u.fd, F_DUPFD_CLOEXEC, 500); high >= 0) {
    close(u.fd);
    u.fd = high;
  }
  u.pid = g_pid;
  static_cast<void>(watch_threads());  // a child lets go of it
  if (!look_at(u.fd, u.file) || !afford(rings) || furnish(u.fd, start_time, u.memory) != nullptr) {
    g_no_memory_at_load = true;
    return discard(u);
  }
  populate(u.memory, first_bytes());
  g_unnamed = u;
}

namespace {

// The process has one segment, whoever wants it first. A thread that comes while another makes it waits for
// that, which takes half a millisecond, but not for ever.
const char* have_segment() {
  std::uint32_t making = kNotYet;
  if (g_making.compare_exchange_strong(making, kAtIt, std::memory_order_acq_rel)) {
    g_why_no_segment = make_segment();
    g_making.store(kTried, std::memory_order_release);
  }
  for (int tries = 0; g_making.load(std::memory_order_acquire) != kTried; ++tries) {
    if (tries == 2'000) return "another thread does not come to an end with its rings";
    usleep(50);
  }
  return g_why_no_segment;
}

}  // namespace

void attach() {
  std::uint32_t none = 0;
  if (!g_attaching.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) return;
  const int saved = errno;
  const char* why = !libc_is_complete() ? "this program's C library lacks what the probe needs"
                    : find_library()    ? have_segment()
                                        : "this program's MPI is neither Open MPI nor MPICH";
  g_why_off = why;
  if (why != nullptr) count_unwatched();
  if (why == nullptr) copy(g_page.segment->mpi, sizeof g_page.segment->mpi, g_page.library.name);
  g_page.mode.store(why == nullptr ? Mode::kOn : Mode::kOff, std::memory_order_release);
  errno = saved;
}

void attach_annotations() {
  const int saved = errno;
  const bool on = libc_is_complete() && have_segment() == nullptr;
  if (!on) count_unwatched();
  if (on) {
    g_page.segment->flags.fetch_or(kNamesStates, std::memory_order_release);
    g_other_states = name_index("(other states)", Named::kState);
    g_thread_end = name_index(MARGAY_THREAD_END, Named::kState);
  }
  g_annotations.store(on ? Mode::kOn : Mode::kOff, std::memory_order_release);
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
    RingSpace& space = g_page.segment->rings[i];
    RingControl& c = space.control;
    std::uint32_t state = c.state.load(std::memory_order_acquire);
    if (state != kFree && state != kEnded) continue;
    const bool fresh = state == kFree;
    if (!c.state.compare_exchange_strong(state, kLive, std::memory_order_acq_rel)) continue;
    if (fresh && i > 0) {
      const int error = give_ring(i);
      if (error != 0) {
        c.state.store(kFailed, std::memory_order_release);
        continue;
      }
    }
    c.thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
    char* base = reinterpret_cast<char*>(g_page.segment);
    writer.bind(&c, reinterpret_cast<margay_record*>(base + ring_offset(i)), records_of(i), &space.sums,
                g_page.segment);
    if (g_set_key != nullptr) g_set_key(g_thread_key, &c);
    return;
  }
}

std::uint16_t name_index(const char* name, Named what) {
  SegmentHeader& h = *g_page.segment;
  const std::uint8_t family = what == Named::kRegion ? REGION : OTHER;
  const auto find = [&](std::uint32_t from, std::uint32_t to) -> std::uint16_t {
    for (std::uint32_t i = from; i < to; ++i)
      if (h.families[i] == family && strcmp(h.names[i], name) == 0) return static_cast<std::uint16_t>(i);
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
  // States leave room for regions, and in the collector's table for those of other programs.
  if (index == 0 && used < (what == Named::kState ? kNames - 64 : kNames)) {
    copy(h.names[used], kNameBytes, name);
    h.families[used] = family;
    h.names_used.store(used + 1, std::memory_order_release);
    index = static_cast<std::uint16_t>(used);
  } else if (index == 0) {
    h.names_refused.fetch_add(1, std::memory_order_relaxed);
    if (what == Named::kState) index = g_other_states;
  }
  h.names_lock.store(0, std::memory_order_release);
  return index;
}

Thread* enter_slowly(const void* frame) {
  if (g_page.mode.load(std::memory_order_acquire) == Mode::kUnknown) {
    // MPI was initialized out of our sight (from Fortran, say), or is not initialized at all.
    if (!find_library()) return nullptr;
    int initialized = 0;
    g_page.library.initialized(&initialized);
    if (!initialized) return nullptr;
    attach();
    if (g_page.mode.load(std::memory_order_acquire) == Mode::kOn) {
      int rank = -1, size = 0;
      g_page.library.comm_rank(g_page.library.world, &rank);
      g_page.library.comm_size(g_page.library.world, &size);
      g_page.segment->world_size.store(size, std::memory_order_relaxed);
      g_page.segment->rank.store(rank, std::memory_order_relaxed);
      g_page.segment->flags.fetch_or(kInitialized, std::memory_order_release);
      learn_from_library();
    }
  }
  if (g_page.mode.load(std::memory_order_acquire) != Mode::kOn) return nullptr;
  return enter_thread(frame);
}

Thread* enter_thread(const void* frame) {
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
    t.depth = t.deeper = 0;  // what was open in the parent of a forked process is not open in this one
    claim_ring(t.writer);
    // The first reading of all may be slow and is then no anchor.
    t.now();
    t.now();
  }
  return &t;
}

// Sent to the agent, which distinguishes by it a process that came to its end from one that was killed.
__attribute__((destructor)) static void at_exit() {
  if (g_page.segment != nullptr && g_pid == getpid())
    g_page.segment->flags.fetch_or(kExiting, std::memory_order_release);
}

}  // namespace margay::probe
