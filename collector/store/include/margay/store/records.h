// What an archive holds, as plain values. FORMAT.md tells how each is kept.
//
// Everything here is absolute (what is, not what was added), so that writing a record again, after an error
// or a restart, replaces it by itself and counts nothing twice. Times are nanoseconds of trace time unless
// said otherwise. Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/ids.h"
#include "margay/model/hierarchy.h"
#include "margay/model/name_kind.h"
#include "margay/model/slice_column.h"
#include "margay/model/state_table.h"
#include "margay/store/journal.h"

namespace margay::store {

// Bounds, of what is written and of what is accepted from a file. A cut beyond them is refused whole.
inline constexpr std::size_t kMostLevels = 16;
inline constexpr std::size_t kDeepestStack = 1024;     // open states of a leaf
inline constexpr std::size_t kMostAttributes = 256;    // of a leaf or source
inline constexpr std::size_t kLongestText = 1 << 20;   // an attribute, command, name or alert, in bytes
inline constexpr std::size_t kMostNames = 65536;       // of a source's name table
inline constexpr std::size_t kLargestBlob = 16 << 20;  // state, signature, report or raw block, in bytes
inline constexpr std::size_t kLongestBlobName = 256;
inline constexpr std::size_t kMostGaps = 65536;  // of a run; of more the oldest are not told any more

// In RunMeta::settings: what the times of raw events were rounded down to, such as "16ns"; none is 1ns. Of a
// run that was gone on with under another one, the coarsest.
inline constexpr const char* kResolutionSetting = "store.resolution";
// In RunMeta::settings and JournalEntry::settings: the operator's word (margay/slicer/operator.h), where it
// is another one than duration.
inline constexpr const char* kOperatorSetting = "operator";

// Written once, when the archive is made; exit code and end when the run ends (Cut::run).
struct RunMeta {
  std::string run;
  std::string command;
  std::string host;
  std::string boot_id;  // of `host`: wall_offset holds only for this boot
  std::string margay_version;
  // Where the first slice of level 0 begins, up to a slice before anything was heard: all times that people
  // read count from here. (In archives of versions before, it is within that slice.)
  TimeNs begin{};
  // Trace time less CLOCK_MONOTONIC of `host`: a restarted daemon goes on in the same trace time.
  DurationNs wall_offset{};
  // Slice durations, level 0 first; each a multiple of the one before. 1 to kMostLevels, above 0.
  std::vector<DurationNs> levels;
  DurationNs lateness{};
  std::uint32_t silence_hold_slices = 2;
  std::map<std::string, std::string> settings;  // the configuration the run was made with, for a replay
  std::optional<TimeNs> end;
  std::optional<std::int32_t> exit_code;
  bool operator==(const RunMeta&) const = default;
};

struct StateRecord {
  StateId id{};
  model::StateInfo info;
};

struct LeafRecord {
  LeafIndex leaf{};
  SourceId source{};
  std::uint32_t stream = 0;
  model::Attributes attributes;
  std::string owner = {};  // as SourceRecord.owner; of the sources that fed it
  bool operator==(const LeafRecord&) const = default;
};

// Where a leaf stands: enough to go on with its next record.
struct LeafState {
  LeafIndex leaf{};
  std::vector<model::OpenState> stack;  // outermost first
  TimeNs position{};                    // modelled up to here
  TimeNs last_event{};                  // time of the last record
  std::int64_t longest_before_ns = 0;   // see slicer::LeafState
  bool operator==(const LeafState&) const = default;
};

// What the operator of the run needs beside that: of communication what the open states were entered with, of
// the mean the variable's value. Written where the operator is one of these (slicer::StackEntry,
// CurrentValue).
struct MeasureState {
  struct Entered {
    std::uint64_t bytes = 0;
    bool peer = false;
    bool operator==(const Entered&) const = default;
  };
  LeafIndex leaf{};
  std::vector<Entered> stack;  // of the open states, outermost first, without the base
  bool known = false;
  TimeNs settled{};
  double value = 0, integral = 0;  // finite, >= 0
  bool operator==(const MeasureState&) const = default;
};

// A name of a source's records that is no state.
struct NameText {
  using Kind = model::NameKind;  // never kState
  std::uint16_t index = 0;       // in the source's name table
  Kind kind = Kind::kRegion;
  std::string text;
  bool operator==(const NameText&) const = default;
};

// What changes seldom about a source; written when it changes.
struct SourceRecord {
  SourceId source{};
  std::uint32_t epoch = 0;
  model::Attributes attributes;
  std::vector<StateId> names;  // the source's name table: index in its records -> state
  DurationNs clock_offset{};   // trace time less the source's host time
  DurationNs clock_error{};    // at most, each way
  std::uint32_t goodbye = 0;   // wire::Goodbye::Reason; meaningful with `end`
  std::optional<TimeNs> end;   // it has said goodbye
  // Those of `names` that are no states (kUnknown there), as far as they are kept. Of an imported trace, all:
  // the text of a mark or link is its type, a line break, its value.
  std::vector<NameText> texts = {};
  // Who may speak for it ("local", "key NAME"; "": not told, or of an imported trace) and the agent that does
  // (0: not told).
  std::string owner = {};
  std::uint64_t speaker = 0;
  bool operator==(const SourceRecord&) const = default;
};

// What changes with every batch of a source's stream. In a cut, `next` and the counters go with the cells
// they belong to, which is what makes an acknowledgement true.
struct StreamRecord {
  SourceId source{};
  std::uint32_t stream = 0;
  std::uint32_t epoch = 0;
  std::uint64_t next = 0;  // ordinal of the first record that is not in the archive
  std::uint64_t produced = 0;
  std::uint64_t recorded = 0;
  std::uint64_t modelled = 0;
  std::uint64_t late_dropped = 0;
  std::uint64_t probe_dropped = 0;
  std::uint64_t wire_lost = 0;
  std::uint64_t rejected = 0;
  bool operator==(const StreamRecord&) const = default;
};

struct AlertRecord {
  std::string id;      // 1 to 256 bytes
  std::string json;    // one line
  std::string status;  // "firing", "resolved", ...
  bool operator==(const AlertRecord&) const = default;
};

struct PhaseRecord {
  std::uint32_t index = 0;  // 0 for the run's first at its level
  std::string name;
  std::string label;
  TimeNs begin{};
  TimeNs end{};  // so far, for the current one
  std::uint32_t occurrence = 1;
  bool current = false;
  LevelIndex level{};  // of its slices
  bool operator==(const PhaseRecord&) const = default;
};

// A named value that only its owner understands. Writing a name again replaces it.
struct Blob {
  std::string name;  // 1 to kLongestBlobName bytes
  std::string bytes;
  bool operator==(const Blob&) const = default;
};

// A published report, kept by the watermark it shows.
struct ReportRecord {
  TimeNs watermark{};
  std::string bytes;
  bool operator==(const ReportRecord&) const = default;
};

// Records of one leaf in the columns of the wire, which the store does not look into.
struct RawBlock {
  LeafIndex leaf{};
  std::uint64_t first = 0;  // ordinal of the first record
  TimeNs begin{};           // times of the first and the last record, both inside
  TimeNs end{};
  std::uint32_t count = 0;
  std::string columns;
  // Whose they are, and so whose names they use; nothing in blocks that were written before this was kept.
  std::optional<SourceId> source = {};
  bool operator==(const RawBlock&) const = default;
};

// [closed-through]: every slice up to and including `through` is closed.
struct ClosedThrough {
  LevelIndex level{};
  SliceIndex through{};
  bool operator==(const ClosedThrough&) const = default;
};

// Time that nobody watched, for the daemon was away: slices [first, last] of level 0 are not kept, nor any
// coarser slice that lies in it as a whole. Leaves that existed are Unknown for so long, the others Absent.
struct GapRecord {
  SliceIndex first{}, last{};  // both inside
  std::vector<bool> existed;   // by leaf; those that joined later did not
  bool operator==(const GapRecord&) const = default;
};

// A source that has ended, been confirmed and been silent since: its records make room, its counters are
// added to those of its leaves (Cut::former).
struct ForgottenSource {
  SourceId source{};
  std::vector<std::uint32_t> streams;
  bool operator==(const ForgottenSource&) const = default;
};

// One consistent state of everything that changed since the cut before. Written whole or not at all.
struct Cut {
  std::uint64_t sequence = 0;  // 1, 2, ...; grows; the same again only to repeat a commit that failed
  TimeNs wall{};               // wall clock
  std::optional<RunMeta> run;
  // Open, closed and amended slices, whole columns. Shared, so that a closed column need not be copied; must
  // not change until the cut is committed.
  std::vector<std::shared_ptr<const model::SliceColumn>> columns;
  std::vector<StateRecord> states;
  std::vector<LeafRecord> leaves;
  std::vector<LeafState> leaf_states;
  std::vector<MeasureState> measure_states;
  std::vector<SourceRecord> sources;
  std::vector<StreamRecord> streams;
  std::vector<ForgottenSource> forgotten;  // removed, after `sources` and `streams` were written
  std::vector<StreamRecord> former;        // counters of a leaf's forgotten sources: `stream` is the leaf
  std::vector<ClosedThrough> closed;
  std::vector<GapRecord> gaps;             // new ones
  std::vector<SliceIndex> gaps_forgotten;  // by their first slice
  std::vector<RawBlock> raw;
  std::vector<AlertRecord> alerts;
  std::vector<PhaseRecord> phases;
  std::map<LevelIndex, std::uint32_t> phases_end;  // phases of a level from this index on are none (any more)
  std::vector<Blob> signatures;
  std::vector<Blob> state;  // the detector's; an empty value removes the name
  std::optional<ReportRecord> report;
  std::vector<JournalEntry> journal;  // ascending
  std::vector<SupersededSlice> superseded;
  std::vector<KeptSlice> kept;
};

// What a restarted daemon, or a replay, begins with. Index order everywhere.
struct Resume {
  RunMeta run;
  std::uint64_t sequence = 0;  // of the last cut; 0 when there is none
  TimeNs wall{};
  model::StateTable states;
  std::vector<LeafRecord> leaves;            // element i is LeafIndex(i)
  std::vector<LeafState> leaf_states;        // only of leaves that have one
  std::vector<MeasureState> measure_states;  // likewise
  std::vector<SourceRecord> sources;
  // Sources that were forgotten, while raw events may be kept that use their names: source, names, texts,
  // end.
  std::vector<SourceRecord> gone;
  std::vector<StreamRecord> streams;
  std::vector<StreamRecord> former;  // see Cut
  std::vector<ClosedThrough> closed;
  std::vector<GapRecord> gaps;  // ascending
  std::vector<AlertRecord> alerts;
  std::vector<PhaseRecord> phases;          // of the finest level
  std::vector<PhaseRecord> coarser_phases;  // level by level
  std::vector<Blob> signatures;
  std::vector<Blob> state;
  // Those that LoadBounds left in the archive.
  std::uint64_t alerts_left = 0, phases_left = 0, signatures_left = 0;
};

// What of an archive is loaded, where not all of it is: the newest, by the times that the caller tells
// (nothing told: the last ones in the order of keys), as many as take so many bytes. The rest stays where it
// is, for those who ask for it (Archive::alerts, phases).
struct LoadBounds {
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);
  std::size_t alert_bytes = kAll, phase_bytes = kAll, signature_bytes = kAll;
  std::function<std::int64_t(const AlertRecord&)> alert_time;
  std::function<std::int64_t(const Blob&)> signature_time;
  bool names_of_gone = true;  // Resume::gone
};

}  // namespace margay::store
