// The sources of a run: who they are, which leaves they feed, what they have sent, and where every event
// went.
//
// Thread safety: none; owned by the ingest.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"
#include "margay/ingest/clock_map.h"
#include "margay/model/hierarchy.h"
#include "margay/model/state_table.h"
#include "margay/slicer/reslicer.h"
#include "margay/wire/ingest.pb.h"

namespace margay::ingest {

// Bounds of what untrusted sources may cause.
struct Limits {
  std::uint32_t sources = 4096;
  std::uint32_t streams_per_source = 8192;
  std::uint32_t leaves = 8192;
  std::uint32_t states = 640;
  std::uint32_t names_per_source = 1024;
  // Constant columns have no bytes: a small message can claim any number of records, each of which costs.
  std::uint32_t records_per_message = 1u << 21;
  // Of the slices that are held: leaves x (kLeafBytes + states x kCellBytes, and kMeasuredBytes) in each of
  // up to held_slices. Whatever leaves and states are allowed, what does not fit in here is refused.
  std::uint64_t cell_bytes = std::uint64_t{2} << 30;
  bool measured = false;  // slices have a plane of another operator, too
  static constexpr std::uint64_t kCellBytes = 20, kMeasuredBytes = 8, kLeafBytes = 128;
  static constexpr std::uint64_t kHeldSlices = 80;  // by a slicer
  std::uint64_t held_slices = kHeldSlices;          // and whoever holds what it makes, all together
  std::uint64_t column_bytes(std::uint64_t with_leaves, std::uint64_t with_states) const {
    return with_leaves * (kLeafBytes + with_states * (kCellBytes + (measured ? kMeasuredBytes : 0)));
  }
  bool cells_fit(std::uint64_t with_leaves, std::uint64_t with_states) const {
    return column_bytes(with_leaves, with_states) <= cell_bytes / held_slices;
  }
  // Of names and attributes, of all sources and leaves together, with what it takes to keep them. Those
  // beyond are refused.
  std::uint64_t text_bytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kTextOverhead = 96;  // of each
};

// Where the events of one stream went. One event is one timestamped record.
//   produced = modelled + late_dropped + probe_dropped + wire_lost + rejected + in_flight
// Each term is counted where it happens: produced, probe_dropped and recorded by the probe, the others here.
struct Account {
  std::uint64_t produced = 0;       // records the probe attempted
  std::uint64_t modelled = 0;       // handed to the slicer and counted in cells
  std::uint64_t late_dropped = 0;   // older than every slice that can still be amended
  std::uint64_t probe_dropped = 0;  // the probe had no room
  std::uint64_t wire_lost = 0;      // entered the ring, never arrived, and will not
  std::uint64_t rejected = 0;       // arrived, but made no sense
  std::uint64_t recorded = 0;       // entered the probe's ring
  std::uint64_t next = 0;           // ordinal expected next: all before are accounted for

  std::uint64_t in_flight() const { return recorded > next ? recorded - next : 0; }
  bool balanced() const {
    return produced == modelled + late_dropped + probe_dropped + wire_lost + rejected + in_flight();
  }
  Account& operator+=(const Account& o);
  bool operator==(const Account&) const = default;
};

enum class Condition : std::uint8_t { kLive, kStopped, kSilent, kLost, kEnded };
const char* to_string(Condition c);

struct Stream {
  LeafIndex leaf{};
  std::string name;         // of the thread, where its source tells
  std::uint32_t epoch = 0;  // of the records accepted last; 0: none were
  Account account;
  std::uint64_t summed = 0;  // events that its probe summed, ever; they are in no account
  bool summing = false;
  std::uint32_t probe_clock_error_ns = 0;  // the most that was told
  TimeNs covered{};                        // trace time: no record before it is still to come
  // Its next record is known, and later than what the slicer takes by now (slicer::Slicer::limit): `covered`
  // is when. It is asked for again once there is room; of the agent of this epoch.
  std::optional<std::uint32_t> waits;
  // A batch that begins after `account.next`: something is missing, since then (host time of the collector).
  std::optional<TimeNs> gap_since;
  std::vector<std::uint16_t> regions;  // open named regions, innermost last
  std::uint64_t told_dropped = 0;      // of account.probe_dropped: those whose GAP has come
  TimeNs moved{};                      // records came, or more were dropped (host time of the collector)
  // What was last said of its thread alone; `sampled` 0: nothing.
  TimeNs sampled{};  // trace time
  std::uint64_t cpu_ns = 0, run_delay_ns = 0;
};

// What the node sampler last said of a process.
struct Process {
  char state = 0;  // /proc letter, 0 unknown
  TimeNs at{};     // trace time of the sample
  TimeNs stopped_since{};
  std::uint64_t cpu_ns = 0;
  std::uint64_t run_delay_ns = 0;
  std::uint64_t main_cpu_ns = 0;  // 0 unknown
  // Told as blocked, and not: a turn on the CPU, or a wait for one, is counted when it ends.
  std::int64_t early_ns = 0;
  char slept = 0;  // the letter when it was last seen to sleep: S or D
  std::uint64_t storage_bytes = 0;
  bool tells_threads = false;  // what is known of the process says nothing of its streams
};

using model::NameKind;

// Who may speak in a source's name: everybody on this machine who can enter the run's directory is one owner,
// each key of the network another, by its name (a client's second key has the same).
inline constexpr const char* kLocalOwner = "local";
inline std::string owner_of_key(const std::string& name) {
  return "key " + name;  // no name of a key has a blank
}

struct Source {
  SourceId id{};
  // Who introduced it, and so who alone may speak for it; "": an archive of an older version did not tell.
  std::string owner;
  // The agent (ToCollector.agent) whose hello was the last, and how many there were: the epoch is counted
  // here, and nothing that a message says can make it grow.
  std::optional<std::uint64_t> speaker;
  std::uint32_t epoch = 0;
  std::uint32_t told_epoch = 0;  // as the speaker numbers it: goes back to it with acknowledgements
  model::Attributes attributes;
  std::vector<StateId> states;  // local name index -> state; kUnknown for names that are no states
  std::vector<std::string> names;
  std::vector<NameKind> kinds;     // by local name index
  std::vector<StateId> stand_ins;  // by local name index, of names that are no states (slicer/stand_in.h)
  std::vector<bool> ends_leaf;     // leaving this state, the resource ceases to exist (last_state.h)
  std::vector<std::uint32_t> plain_states;  // slicer::PlainChanges::states, as far as they were asked for
  DurationNs clock_offset{};                // trace time less host time
  DurationNs clock_error{};
  std::shared_ptr<ClockMap> clock;       // of its machine; nullptr: this one
  TimeNs met{};                          // host time of the collector at its first hello
  std::optional<TimeNs> nameless_since;  // a batch has names that no hello has told
  std::map<std::uint32_t, Stream> streams;
  std::string agent;    // routing id of the agent that speaks for it
  TimeNs heard{};       // host time of the collector
  bool silent = false;  // for longer than `silent_after`: the slices say so
  Process process;
  bool ended = false;
  std::uint32_t goodbye = 0;  // wire::Goodbye::Reason
  std::optional<TimeNs> end;
  std::optional<TimeNs> end_waits;  // it has said goodbye, later than what the slicer takes by now
  TimeNs asked{};                   // for what waits or is missing (host time of the collector)
  bool goodbye_acked = false;
  std::uint64_t text_bytes = 0;  // of its names and attributes (Limits::text_bytes)
  bool dirty = true;             // has changed since the last cut
  bool news = false;             // has sent something since its agent was told what was taken

  Condition condition(TimeNs now, DurationNs silent_after, DurationNs lost_after) const;
};

// What the leaf of a source's stream says of itself; `name` of the thread, "" where it has none.
model::Attributes leaf_attributes(const model::Attributes& source, SourceId id, std::uint32_t stream,
                                  const std::string& name);
std::uint64_t text_bytes(const model::Attributes& attributes);
// The same rank of two MPI programs of one job, one after the other.
bool same_resource(const model::Attributes& a, const model::Attributes& b);

}  // namespace margay::ingest
