// The journal: what the analysis was shown, in order, with everything that depended on the time at which it
// happened: when slices closed, which were changed afterwards and shown again, when resources and states
// became known, when a daemon began, and with which settings. Detection is a function of it: a replay that is
// fed the journal says what was said live.
//
// A slice that changed after it was shown is kept as it was shown, too, under the number of the entry that
// showed it (Cut::superseded, Cut::kept). Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/ids.h"
#include "margay/model/hierarchy.h"
#include "margay/model/slice_column.h"

namespace margay::store {

struct JournalEntry {
  enum class Kind : std::uint8_t {
    kStart,     // a daemon begins: `settings`, the whole topology, and from where it looked back
    kTopology,  // `states` states and `leaves` leaves are known; `changed` have other attributes than before
    kClosed,    // `slice` of level 0 was shown for the first time
    kAmended,   // and again
    kEnd,       // the run is over at `time`
  };
  Kind kind = Kind::kClosed;
  std::uint64_t sequence = 0;  // 1, 2, ... over all daemons of the run
  SliceIndex at{};             // the newest slice shown so far (of kClosed: itself); does not go back
  SliceIndex slice{};          // kClosed, kAmended; kStart: the first slice that was looked at again
  bool whole = false;          // kStart: it looked back over all there was
  TimeNs watermark{};          // kClosed, kAmended, kEnd
  TimeNs time{};               // kEnd
  std::string region;          // kClosed, kAmended: SliceColumn::region, which slices do not hold
  std::uint32_t states = 0, leaves = 0;                          // kStart, kTopology
  std::vector<std::pair<LeafIndex, model::Attributes>> changed;  // kStart: all leaves
  std::map<std::string, std::string> settings;                   // kStart
  bool operator==(const JournalEntry&) const = default;
};

// The slice that entry `sequence` showed has changed: what the archive holds of it is to be kept as shown.
struct SupersededSlice {
  SliceIndex slice{};
  std::uint64_t sequence = 0;
  bool operator==(const SupersededSlice&) const = default;
};
// The same for one that the archive does not hold as it was shown.
struct KeptSlice {
  std::uint64_t sequence = 0;
  std::shared_ptr<const model::SliceColumn> column;
};

}  // namespace margay::store
