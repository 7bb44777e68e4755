#include "margay/node/segment_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "margay/base/text.h"
#include "margay/probe/ring.h"
#include "margay/probe/sums.h"

namespace margay::node {

using probe::RingControl;
using probe::SegmentHeader;

namespace {

// Copies what another process may write to meanwhile. What is used afterwards is the copy: the compiler may
// not read the original a second time.
void copy_once(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  asm volatile("" ::: "memory");
}
template <class T>
T once(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_RELAXED);
}

// Text of at most kRoom bytes, copied.
template <std::size_t kRoom>
std::string text_once(const char (&shared)[kRoom]) {
  char copy[kRoom];
  copy_once(copy, shared, kRoom);
  return clean_text(copy, kRoom);
}

}  // namespace

RingReader::RingReader(RingControl* control, const margay_record* slots, std::uint64_t capacity,
                       probe::SumTable* sums)
    : control_(control),
      slots_(slots),
      capacity_(capacity),
      sums_(sums),
      tail_(control->tail.load(std::memory_order_relaxed)) {}

Result<RingReader::Look> RingReader::look(TimeNs now) {
  Look look;
  look.asked = now;
  // In this order: a record that began before `now` is seen either as pending or in the head.
  look.pending = control_->pending.load(std::memory_order_acquire) != 0;
  look.dropped = control_->dropped.load(std::memory_order_relaxed);
  // Before the head: what is not held any more is among its records.
  bool published = true;
  if (sums_ != nullptr) {
    look.summed = sums_->summed.load(std::memory_order_relaxed);
    const std::uint32_t generation = sums_->generation.load(std::memory_order_acquire);
    look.holds = sums_->held.load(std::memory_order_acquire) != 0;
    published = generation != ahead_generation_ || !look.holds;
  }
  look.head = control_->head.load(std::memory_order_acquire);
  look.lost = control_->lost.load(std::memory_order_relaxed);
  look.produced = control_->produced.load(std::memory_order_relaxed);
  if (published) {
    ahead_ = 0;
  } else if (ahead_ > 0) {
    look.holds = false;
    look.head += ahead_;
    look.produced += ahead_;
  }
  if (look.head - tail_ > capacity_)
    return fail(ErrorCode::kCorrupt, "a ring of " + std::to_string(capacity_) + " records has head " +
                                         std::to_string(look.head) + " and tail " + std::to_string(tail_));
  return look;
}

std::size_t RingReader::take(const Look& look, std::size_t most, std::vector<EventRecord>& out) {
  const std::uint64_t there = look.head - tail_;
  const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(there, most));
  if (n == 0) return 0;
  const std::size_t begin = tail_ & (capacity_ - 1);
  const std::size_t first = std::min<std::size_t>(n, capacity_ - begin);
  const std::size_t before = out.size();
  out.resize(before + n);
  copy_once(out.data() + before, slots_ + begin, first * sizeof(margay_record));
  copy_once(out.data() + before + first, slots_, (n - first) * sizeof(margay_record));
  tail_ += n;
  control_->tail.store(tail_, std::memory_order_release);
  last_time_ = std::max(last_time_, TimeNs(out.back().time_ns));
  return n;
}

std::size_t RingReader::take_sums(const Look& look, bool now_or_never, std::vector<EventRecord>& out) {
  if (!look.holds || tail_ != look.head) return 0;
  const std::uint32_t generation = sums_->generation.load(std::memory_order_acquire);
  if (!now_or_never) {
    if (look.asked.value <= sums_->end_ns || look.pending || look.lost != 0) return 0;
    if (control_->claim.load(std::memory_order_relaxed) != generation) {
      control_->claim.store(generation, std::memory_order_release);
      claimed_ = look.asked;
      return 0;
    }
    // Whatever event the thread began after this was visible to it begins with publishing the piece.
    if (look.asked - claimed_ < DurationNs(10 * probe::kGuardNs)) return 0;
  }
  margay_record records[probe::kMostPieceRecords];
  const std::uint32_t n = probe::piece_records(probe::SumPiece(*sums_), records);
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool same = sums_->summed.load(std::memory_order_relaxed) == look.summed &&
                    sums_->generation.load(std::memory_order_relaxed) == generation &&
                    sums_->held.load(std::memory_order_relaxed) != 0 &&
                    control_->pending.load(std::memory_order_relaxed) == 0;
  if (!same && !now_or_never) return 0;
  out.insert(out.end(), records, records + n);
  ahead_ = n;
  ahead_generation_ = generation;
  tail_ += n;
  last_time_ = std::max(last_time_, TimeNs(out.back().time_ns));
  return n;
}

void RingReader::sum(bool wanted) {
  // It lies in a line that the producer uses at each call, and is asked for at each look.
  const std::uint32_t value = wanted ? 1 : 0;
  if (control_->sum.load(std::memory_order_relaxed) != value)
    control_->sum.store(value, std::memory_order_relaxed);
}

TimeNs RingReader::covered_until(const Look& look) {
  // Not what a record claims beyond the present: a torn one must not hold the promise there for ever.
  TimeNs promise = std::min(last_time_, look.asked);
  if (!look.pending && look.lost == 0 && tail_ == look.head + (look.holds ? ahead_ : 0) &&
      (!look.holds || ahead_ > 0))
    promise = std::max(promise, look.asked - DurationNs(probe::kGuardNs));
  covered_ = std::max(covered_, promise);
  return covered_;
}

std::uint64_t RingReader::untold(const Look& look) const {
  // Between the reading of the head and of `lost` the ring may have been filled anew: then what was lost lies
  // behind records that are still to be taken.
  const bool last =
      tail_ == look.head && control_->head.load(std::memory_order_acquire) + ahead_ == look.head;
  return last ? look.lost : 0;
}

std::optional<std::uint16_t> RingReader::open_state() const {
  const std::uint64_t tail = tail_ - ahead_;
  if (tail == 0) return std::nullopt;
  const std::uint64_t reach = std::min<std::uint64_t>({tail, capacity_ / 2, 256});
  std::uint64_t closed = 0;  // visits that ended, whose begin lies farther back
  for (std::uint64_t at = tail; at > tail - reach;) {
    margay_record r;
    copy_once(&r, &slots_[--at & (capacity_ - 1)], sizeof r);
    if (r.kind == MARGAY_LEAVE) ++closed;
    if (r.kind == MARGAY_STACK || r.kind == MARGAY_SUM_OPEN) return closed == 0 ? r.state : std::uint16_t{0};
    if ((r.kind == MARGAY_ENTER || r.kind == MARGAY_SUM_INSIDE) && closed-- == 0) return r.state;
  }
  return std::uint16_t{0};
}

std::string clean_text(const char* text, std::size_t room) {
  return clean_utf8(std::string(text, strnlen(text, room)));
}

Result<SegmentReader> SegmentReader::open_untrusted(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    const bool short_of = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return fail(errno == ENOENT ? ErrorCode::kNotFound
                : short_of      ? ErrorCode::kLimit
                                : ErrorCode::kIo,
                path + ": " + std::strerror(errno));
  }
  struct stat st {};
  const auto why_not = [&]() -> Error {
    if (fstat(fd, &st) != 0) return {ErrorCode::kIo, std::strerror(errno)};
    if (!S_ISREG(st.st_mode)) return {ErrorCode::kCorrupt, "not a file"};
    if (st.st_uid != geteuid()) return {ErrorCode::kInvalidArgument, "belongs to another user"};
    if (st.st_size == 0) return {ErrorCode::kUnavailable, "is being made"};
    if (st.st_size != static_cast<off_t>(probe::kFileBytes))
      return {ErrorCode::kCorrupt, "has " + std::to_string(st.st_size) + " bytes, should have " +
                                       std::to_string(probe::kFileBytes)};
    return {};
  };
  if (Error error = why_not(); !error.message.empty()) {
    ::close(fd);
    return fail(error.code, path + ": " + error.message);
  }
  auto mapping = GuardedMapping::map(fd, probe::kFileBytes, path);
  ::close(fd);  // an agent has many segments, and few descriptors
  if (!mapping) return tl::unexpected(mapping.error());
  const auto refuse = [&](ErrorCode code, const std::string& why) { return fail(code, path + ": " + why); };
  const SegmentHeader& header = *static_cast<const SegmentHeader*>(mapping->data());
  const std::uint64_t magic = header.magic.load(std::memory_order_acquire);
  if (magic == 0) return refuse(ErrorCode::kUnavailable, "is being made");
  if (magic != probe::kMagic) return refuse(ErrorCode::kCorrupt, "is not a segment of Margay's probe");
  const std::uint32_t layout = once(header.layout);
  if (layout != probe::kLayoutVersion)
    return refuse(ErrorCode::kVersion, "was written by a probe of layout " + std::to_string(layout) +
                                           "; this agent reads " + std::to_string(probe::kLayoutVersion));
  if (once(header.header_bytes) != sizeof(SegmentHeader) || once(header.file_bytes) != probe::kFileBytes)
    return refuse(ErrorCode::kCorrupt, "its sizes are not those of its layout");
  SegmentIdentity identity;
  identity.pid = once(header.pid);
  if (identity.pid <= 0 || identity.pid > INT32_MAX) return refuse(ErrorCode::kCorrupt, "its pid is none");
  Capacities capacities;
  for (std::uint32_t r = 0; r < probe::kRings; ++r) {
    capacities[r] = once(header.rings[r].control.capacity);
    if (once(header.rings[r].control.offset) != probe::ring_offset(r) ||
        !probe::valid_capacity(r, capacities[r]))
      return refuse(ErrorCode::kCorrupt, "ring " + std::to_string(r) + " lies outside its place");
  }
  identity.start_time = once(header.start_time);
  identity.pid_namespace = once(header.pid_namespace);
  identity.locked = once(header.locked) == 1;
  identity.boot_id = text_once(header.boot_id);
  identity.host = text_once(header.host);
  identity.command = text_once(header.command);
  identity.mpi = text_once(header.mpi);
  identity.clock = text_once(header.clock);
  for (std::uint32_t i = 0; i < probe::kEnvironment; ++i)
    if (std::string value = text_once(header.environment[i]); !value.empty())
      identity.environment[probe::kEnvironmentKeys[i]] = std::move(value);
  return SegmentReader(std::move(*mapping), FileId{st.st_dev, st.st_ino}, std::move(identity), capacities);
}

SegmentReader::SegmentReader(GuardedMapping mapping, FileId file, SegmentIdentity identity,
                             const Capacities& capacities)
    : mapping_(std::move(mapping)), file_(file), identity_(std::move(identity)) {
  char* const base = static_cast<char*>(mapping_.data());
  for (std::uint32_t r = 0; r < probe::kRings; ++r)
    rings_.emplace_back(&header().rings[r].control,
                        reinterpret_cast<const margay_record*>(base + probe::ring_offset(r)), capacities[r],
                        &header().rings[r].sums);
}

std::uint64_t SegmentReader::source_id() const {
  // FNV-1a: the same in every build, for the id is kept in archives.
  std::uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  };
  mix(identity_.boot_id + "/" + std::to_string(identity_.pid) + "/" + std::to_string(identity_.start_time));
  // Two processes of two namespaces may have the same pid, and have begun in the same tick.
  if (identity_.pid_namespace != 0) mix("/" + std::to_string(identity_.pid_namespace));
  return hash;
}

std::uint32_t SegmentReader::next_epoch() {
  return header().epoch.fetch_add(1, std::memory_order_relaxed) + 1;
}
std::int32_t SegmentReader::rank() const {
  return std::max(-1, header().rank.load(std::memory_order_acquire));
}
std::int32_t SegmentReader::world_size() const {
  return std::max(0, header().world_size.load(std::memory_order_acquire));
}
std::uint32_t SegmentReader::flags() const {
  return header().flags.load(std::memory_order_acquire);
}
std::uint32_t SegmentReader::name_count() const {
  return std::min(header().names_used.load(std::memory_order_acquire), probe::kNames);
}

std::vector<SegmentName> SegmentReader::names() const {
  std::vector<SegmentName> names(name_count());
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = {text_once(header().names[i]), once(header().families[i])};
  return names;
}

void SegmentReader::tell_slices(DurationNs slice, TimeNs origin) {
  header().slice_ns.store(slice.value, std::memory_order_relaxed);
  header().slice_origin_ns.store(origin.value, std::memory_order_relaxed);
}

DurationNs SegmentReader::clock_error() const {
  return DurationNs(header().clock_error_ns.load(std::memory_order_relaxed));
}

std::uint64_t SegmentReader::ringless() const {
  return header().ringless.load(std::memory_order_relaxed);
}

bool SegmentReader::intact() const {
  // Longer again, it would be zeros without a fault.
  return header().magic.load(std::memory_order_acquire) == probe::kMagic && !mapping_.broken();
}

bool SegmentReader::ring_used(std::uint32_t index) const {
  const std::uint32_t state = header().rings[index].control.state.load(std::memory_order_acquire);
  return state == probe::kLive || state == probe::kEnded;
}

}  // namespace margay::node
