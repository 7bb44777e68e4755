// The shared-memory file in which the probe of one process leaves its records: layout, and nothing else.
//
//   RUN_DIR/rings/p<pid>-<start time>-<PID namespace>    0600, at most 8 MiB
//     SegmentHeader   who this is, flags, name table, one RingControl per thread
//     ring 0          131072 records of 32 bytes (the first thread that calls MPI)
//     ring 1..7        16384 records each, given memory only when a thread takes them
//   MARGAY_RING_RECORDS in the job's environment makes rings smaller (never larger), and so does a lack of
//   memory: their places stay.
//
// Who writes: the probe, except `epoch`, the grid of slices, and each ring's `tail` and `claim`, which belong
// to the agent, and `sum`, which both write. A reader trusts nothing here: margay/node/segment_reader.h
// checks every value before it is used. Times are host time (CLOCK_MONOTONIC), nanoseconds.
//
// The probe lives in somebody else's process: this header uses nothing of the C++ library but lock-free
// atomics, which are address-free and so valid between processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "margay/base/record.h"

namespace margay::probe {

inline constexpr std::uint64_t kMagic =
    0x3130474e49524d4dULL;  // "MMRING01", written last when a segment is made
inline constexpr std::uint32_t kLayoutVersion = 8;
inline constexpr std::uint32_t kRings = 8;
inline constexpr std::uint64_t kFirstRingRecords = 131072;
inline constexpr std::uint64_t kOtherRingRecords = 16384;
inline constexpr std::uint64_t kLeastRingRecords = 64;
inline constexpr std::uint32_t kNames = 576;
inline constexpr std::size_t kNameBytes = 48;  // with the terminating 0
inline constexpr std::uint32_t kEnvironment = 13;

// The variables whose values are kept, in the order of SegmentHeader::environment.
inline constexpr const char* kEnvironmentKeys[kEnvironment] = {"SLURM_JOB_ID",
                                                               "SLURM_STEP_ID",
                                                               "SLURM_PROCID",
                                                               "SLURM_NODEID",
                                                               "PMIX_NAMESPACE",
                                                               "PMIX_RANK",
                                                               "OMPI_COMM_WORLD_RANK",
                                                               "PMI_RANK",
                                                               "MARGAY_ATTRIBUTES",
                                                               "SLURM_CLUSTER_NAME",
                                                               "SLURM_JOB_PARTITION",
                                                               "SLURM_TOPOLOGY_ADDR",
                                                               "SLURM_TOPOLOGY_ADDR_PATTERN"};

enum Flag : std::uint32_t {
  kInitialized = 1,   // MPI_Init returned
  kFinalized = 2,     // MPI_Finalize returned
  kAborted = 4,       // MPI_Abort was called
  kNamesStates = 16,  // its states are named by itself: it may be no rank, or become one later
  kExiting = 8,       // the process came to exit(): a process that ended without this flag was killed
};

enum RingState : std::uint32_t {
  kFree = 0,
  kLive = 1,
  kEnded = 2,   // its thread has ended; another may take it over and carries its ordinals on
  kFailed = 3,  // no memory could be had for it
};

// One ring. `head` counts records published, `tail` records taken; both only grow, and 0 <= head - tail <=
// capacity. When no record is under way: produced == dropped + head.
struct RingControl {
  std::uint64_t offset;    // of the first record from the start of the file
  std::uint64_t capacity;  // records, a power of two from kLeastRingRecords to ring_capacity()
  std::atomic<std::uint32_t> state;
  std::uint32_t thread_id;  // the kernel's

  // The producer's line.
  alignas(64) std::atomic<std::uint64_t> head;
  std::atomic<std::uint64_t> produced;  // records attempted
  std::atomic<std::uint64_t> dropped;   // records for which there was no room
  std::atomic<std::uint64_t> lost;      // dropped since the last record: the next one is preceded by a gap
  std::atomic<std::uint32_t> pending;   // 1 from before the clock is read until the record is published
  // Seldom written; here, for each event reads them.
  // 1: calls are to be summed, not recorded one by one. The consumer's wish; where the ring is half full also
  // the producer's, until the consumer comes.
  std::atomic<std::uint32_t> sum;
  std::atomic<std::uint32_t> claim;  // the sums of this generation are to be published at the next event
  // The producer's own, nobody else's: 1 while calls are being summed.
  std::atomic<std::uint32_t> summing;

  // The consumer's line.
  alignas(64) std::atomic<std::uint64_t> tail;
};

// What a thread has summed and not published yet (sums.h). Nothing here that holds together is read but while
// nothing is under way: `pending` is 0, and `summed` the same before and after.
inline constexpr std::uint32_t kMostSums = 24;  // states in one piece
inline constexpr std::uint32_t kMostOpen = 16;  // states that are open
// A word that another process may read at any moment: what it reads is then checked to hold together.
template <class T>
class Shared {
 public:
  operator T() const { return value_.load(std::memory_order_relaxed); }  // NOLINT: it stands for its value
  Shared& operator=(T v) {
    value_.store(v, std::memory_order_relaxed);
    return *this;
  }

 private:
  std::atomic<T> value_;
};
// A length in shared memory. Its owner reads what it has written; whoever else asks gets no more than kMost,
// however often, and whatever has been written there since: checking it first and reading it again cannot be
// written down.
template <std::uint16_t kMost>
class SharedLength {
 public:
  std::uint32_t own() const { return value_; }
  std::uint32_t bounded() const {
    const std::uint16_t once = value_;
    return once < kMost ? once : kMost;
  }
  SharedLength& operator=(std::uint16_t v) {
    value_ = v;
    return *this;
  }

 private:
  Shared<std::uint16_t> value_;
};
struct alignas(64) SumEntry {
  Shared<std::int64_t> duration_ns;
  Shared<std::int64_t> longest_ns;  // of the visits that ended
  Shared<std::uint64_t> bytes;      // moved
  Shared<std::uint32_t> visits;     // that ended
  Shared<std::uint32_t> entered;
  Shared<std::uint32_t> messages;
  Shared<std::int32_t> peer;  // of the longest, where it was a call in the world
  Shared<std::int32_t> tag;
  Shared<std::uint16_t> state;
};
inline constexpr std::uint32_t kFound = 16;
// What most events look at is in the first two cache lines, and in the entries of two states.
struct alignas(64) SumTable {
  std::atomic<std::uint64_t> summed;      // events summed, ever: they are in no record of their own
  std::atomic<std::uint32_t> generation;  // of pieces, from 1 on; 0: there has been none
  std::atomic<std::uint32_t> held;        // events in the piece; 0: nothing is held
  // The piece is [begin, until), all of it in a slice that ends at `end`; `until` is the last event.
  Shared<std::int64_t> until_ns;
  Shared<std::int64_t> end_ns;
  // Of the innermost, as it was entered.
  Shared<std::uint64_t> posted_bytes;
  Shared<std::uint64_t> posted_who;  // the peer below, the tag above; negative: none
  Shared<std::uint32_t> posted_comm;
  SharedLength<kMostSums> entries;
  SharedLength<kMostOpen> depth;
  // The producer's own: where the entries are of the states that are open, the one outside of all first.
  alignas(64) std::uint8_t place[kMostOpen];
  // Its own as well: where the entry of a state was found last, by the state's lowest bits.
  std::uint8_t found[kFound];
  Shared<std::uint16_t> open[kMostOpen];  // outermost first
  alignas(64) Shared<std::int64_t> begin_ns;
  Shared<std::uint16_t> state[kMostSums];
  SumEntry entry[kMostSums];
};

// What a call touches of its ring, but for the record itself: in one page (PROBE.md, *Pages*).
struct alignas(2048) RingSpace {
  RingControl control;
  SumTable sums;
};
static_assert(sizeof(RingSpace) == 2048 && offsetof(SumTable, begin_ns) == 128);

struct SegmentHeader {
  std::atomic<std::uint64_t> magic;
  std::uint32_t layout;
  std::uint32_t header_bytes;  // sizeof(SegmentHeader)
  std::uint64_t file_bytes;
  std::int64_t pid;
  std::uint64_t
      start_time;  // of the process, clock ticks after boot (field 22 of /proc/PID/stat); 0: not known
  // In which `pid` is the process: the inode of its PID namespace (/proc/self/ns/pid); 0: not known.
  std::uint64_t pid_namespace;
  // 1: the process has the file locked (flock) for as long as it has it mapped, which is until it ends or
  // becomes another program: who finds it unlocked knows that the process is gone. 0: the file system has no
  // such locks.
  std::uint32_t locked;
  char boot_id[40];
  char host[64];
  char command[256];
  char environment[kEnvironment][128];
  char mpi[16];    // whose MPI the program uses: "Open MPI", "MPICH"; "" while it has used none
  char clock[16];  // what its times are read from: "tsc" (the time-stamp counter) or "kernel"
  // The most that a reading of the counter was seen to be off from CLOCK_MONOTONIC, looked at every 20 ms.
  std::atomic<std::uint32_t> clock_error_ns;

  std::atomic<std::int32_t> rank;  // in MPI_COMM_WORLD, -1 before MPI_Init has returned
  std::atomic<std::int32_t> world_size;
  std::atomic<std::uint32_t> flags;
  std::atomic<std::uint32_t> epoch;  // the agent's: how many agents have opened this segment

  // Records of threads that found no ring: attempted and dropped.
  std::atomic<std::uint64_t> ringless;
  std::atomic<std::uint32_t> names_used;     // entries [0, names_used) are complete
  std::atomic<std::uint32_t> names_refused;  // regions that found the table full
  std::atomic<std::uint32_t> names_lock;
  // Slices are [origin + k slice, origin + (k+1) slice), host time; 0: nothing is to be summed.
  std::atomic<std::int64_t> slice_ns;
  std::atomic<std::int64_t> slice_origin_ns;
  std::uint8_t families[kNames];  // StateFamily of names.proto
  char names[kNames][kNameBytes];

  RingSpace rings[kRings];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

inline constexpr std::uint64_t kRingsBegin = (sizeof(SegmentHeader) + 4095) / 4096 * 4096;
// The place a ring has, records; its own `capacity` may be less.
constexpr std::uint64_t ring_capacity(std::uint32_t ring) {
  return ring == 0 ? kFirstRingRecords : kOtherRingRecords;
}
constexpr std::uint64_t ring_offset(std::uint32_t ring) {
  return ring == 0
             ? kRingsBegin
             : kRingsBegin + (kFirstRingRecords + (ring - 1) * kOtherRingRecords) * sizeof(margay_record);
}
constexpr bool valid_capacity(std::uint32_t ring, std::uint64_t records) {
  return records >= kLeastRingRecords && records <= ring_capacity(ring) && (records & (records - 1)) == 0;
}
// Beside the rings, RUN_DIR/unwatched: how many processes would have had a segment and have none (no memory,
// an MPI that is not known). One 64-bit little-endian counter, which every such process adds 1 to,
// atomically.
inline constexpr const char* kUnwatchedFile = "unwatched";
inline constexpr std::uint64_t kFileBytes = ring_offset(kRings);
static_assert(kFileBytes <= 8U << 20, "a process may take 8 MiB");

}  // namespace margay::probe
