// The agent's side of a probe's segment: opens it, checks it, drains its rings.
//
// The file is untrusted: it may be half made, cut short, or overwritten by a broken program, also while it is
// read. Every value is copied, once, and checked in the copy before it is used as a length or an index; text
// is bounded and made valid UTF-8. A file that is cut short reads as zeros from then on (guarded_mapping.h),
// and is not intact() any more. Ordinals are those of the ring (head and tail), so they are the sequence
// numbers of the wire. Times are host time.
//
// Thread safety: one reader per segment, one thread. Ownership: the reader unmaps the file; it never deletes
// it, and keeps no descriptor of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/record.h"
#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/node/guarded_mapping.h"
#include "margay/probe/segment.h"

namespace margay::node {

// The consumer's side of one ring (the producer's is probe::RingWriter).
class RingReader {
 public:
  // REQUIRES: `slots` has `capacity` records, a power of two; both outlive the reader.
  // Without a table nothing is summed.
  RingReader(probe::RingControl* control, const margay_record* slots, std::uint64_t capacity,
             probe::SumTable* sums = nullptr);

  // What the ring was like at one moment.
  struct Look {
    TimeNs asked;            // the clock, read before anything else
    std::uint64_t head = 0;  // records [tail, head) can be taken
    bool pending = false;    // a record was under way
    std::uint64_t produced = 0;
    std::uint64_t dropped = 0;
    std::uint64_t lost = 0;    // dropped since the last record: a GAP will tell, if there is another record
    std::uint64_t summed = 0;  // events summed, ever
    bool holds = false;        // some of them are in no record yet
  };
  // Looks at the ring. `now` is the clock, read before this call. Errors: kCorrupt (head and tail cannot be
  // right).
  Result<Look> look(TimeNs now);
  // Appends up to `most` records of what `look` saw to `out` and gives their room back to the producer.
  // Returns how many.
  std::size_t take(const Look& look, std::size_t most, std::vector<EventRecord>& out);
  // Takes what the thread has summed and not published, once it has come to its end without an event that
  // would have it published: appends the records it will be, which count as taken from then on. It takes two
  // calls, a period apart, for the thread is asked first. `now_or_never`: the thread has come to its end, or
  // nobody will ask again. Does nothing while there are records to take. Returns how many.
  std::size_t take_sums(const Look& look, bool now_or_never, std::vector<EventRecord>& out);
  // Whether calls are to be summed from now on.
  void sum(bool wanted);

  // The promise after take(): every record with an earlier time has been taken, and none was dropped since
  // the last of them. Never goes back.
  TimeNs covered_until(const Look& look);
  // After take() of all that `look` saw: records dropped behind the last one, if none has followed. Else 0: a
  // GAP tells.
  std::uint64_t untold(const Look& look) const;

  // What the thread is in the middle of after the records taken so far, by name index; nothing if there were
  // none. It reads what lies behind the tail, which the producer overwrites last: for the rare case that
  // another agent took those records. A nesting deeper than the last 256 records show is taken for Compute.
  std::optional<std::uint16_t> open_state() const;

  std::uint64_t tail() const { return tail_; }
  std::uint64_t capacity() const { return capacity_; }
  TimeNs last_time() const { return last_time_; }

 private:
  probe::RingControl* control_;
  const margay_record* slots_;
  std::uint64_t capacity_;
  probe::SumTable* sums_;
  std::uint64_t tail_;
  std::uint64_t ahead_ = 0;  // of the records taken, those of a piece that is not published
  std::uint32_t ahead_generation_ = 0;
  TimeNs claimed_{};
  TimeNs last_time_{};
  TimeNs covered_{};
};

struct SegmentIdentity {
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;     // clock ticks after boot; 0: not known
  std::uint64_t pid_namespace = 0;  // that the pid is of (an inode); 0: not known
  bool locked = false;              // it has its file locked for as long as it lives
  std::string boot_id;
  std::string host;
  std::string command;
  std::string mpi;    // whose it uses, "" where none has been used yet
  std::string clock;  // what its times are read from
  std::map<std::string, std::string> environment;
};
struct SegmentName {
  std::string name;
  std::uint32_t family = 0;
};

// A file, by device and inode.
struct FileId {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileId&) const = default;
};

class SegmentReader {
 public:
  // Errors: kUnavailable (the probe is still making it: try again), kLimit (no descriptor or no memory is
  // left: try again), kNotFound, kCorrupt, kVersion, kIo, kInvalidArgument (belongs to somebody else).
  static Result<SegmentReader> open_untrusted(const std::string& path);
  SegmentReader(SegmentReader&& other) noexcept = default;
  SegmentReader& operator=(SegmentReader&& other) = delete;
  ~SegmentReader() = default;

  const SegmentIdentity& identity() const { return identity_; }
  // Which file it is, whatever has its name now.
  FileId file() const { return file_; }
  // Of boot id, PID namespace, pid and start time: the source's id for good.
  std::uint64_t source_id() const;
  // Counts the agents that opened this segment; called once by each. The first gets 1.
  std::uint32_t next_epoch();

  std::int32_t rank() const;  // -1 while unknown
  std::int32_t world_size() const;
  std::uint32_t flags() const;
  // Names [0, names().size()); grows while regions are named.
  std::uint32_t name_count() const;
  std::vector<SegmentName> names() const;
  DurationNs clock_error() const;  // the worst that was seen so far
  std::uint64_t ringless() const;  // records of threads without a ring: attempted and dropped

  // False once something has been read that is not there any more, for the file has become shorter than it
  // was, or was written over: what was read since it was last true is worth nothing. To be asked after
  // reading.
  bool intact() const;
  // Rings that have ever had a thread are in use; index < probe::kRings.
  bool ring_used(std::uint32_t index) const;
  RingReader& ring(std::uint32_t index) { return rings_[index]; }
  // What slices are, host time: threads sum only within one (probe/sums.h).
  void tell_slices(DurationNs slice, TimeNs origin);

 private:
  using Capacities = std::array<std::uint64_t, probe::kRings>;
  SegmentReader(GuardedMapping mapping, FileId file, SegmentIdentity identity, const Capacities& capacities);
  probe::SegmentHeader& header() const { return *static_cast<probe::SegmentHeader*>(mapping_.data()); }
  GuardedMapping mapping_;
  FileId file_;
  SegmentIdentity identity_;
  std::vector<RingReader> rings_;
};

// `text` up to its first 0, with every byte that is not part of valid UTF-8 (or is a control character) made
// a '?'.
std::string clean_text(const char* text, std::size_t room);

}  // namespace margay::node
