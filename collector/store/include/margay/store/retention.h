// What an archive gives up, because of its age and near its bounds on the disk: the policy, apart from any
// database.
//
// BY AGE goes what began longer than its shelf's age before the end of the newest closed slice. That is trace
// time: a run that has ended, or stands still, does not shrink by itself. Coarser levels are kept for as long
// as finer ones, or longer.
//
// BY SIZE go the oldest raw events first; when all of them that may go are gone, the oldest reports; then the
// oldest slices of the finest level, and of coarser ones; also what is not too old yet. It begins when the
// archive takes more than 7/8 of its budget, or the file system has less than `keep_free` left, and goes on
// down to 13/16 of the budget, and to 1/16 more than `keep_free`: so that it works now and then, not with
// every commit; the last eighth is for what compaction takes for a while.
//
// What never goes: of each level the slices from the floor on (Stock::keep_from), alerts, phases, counters.
// Retention is not loss: the events dropped here were modelled, and the account of events does not change by
// it. Pure. Thread safety: values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "margay/base/ids.h"

namespace margay::store {

enum class Shelf : std::uint8_t { kRaw, kReports, kSlices };

// What lies in [begin, end) of a shelf, in bytes on the disk (as it is known: see Archive::extents).
struct Extent {
  TimeNs begin{};
  TimeNs end{};
  std::uint64_t bytes = 0;
};
struct Stock {
  Shelf shelf{};
  LevelIndex level{};           // of kSlices
  TimeNs keep_from{};           // the floor: nothing that reaches beyond it goes
  std::vector<Extent> extents;  // oldest first
};
struct Drop {
  Shelf shelf{};
  LevelIndex level{};
  TimeNs before{};  // all before it goes
  std::uint64_t bytes = 0;
};
struct DropPlan {
  std::vector<Drop> drops;  // at most one of each shelf and level, in the order in which they go
  std::uint64_t bytes = 0;
  bool enough = true;  // false: all that may go does not make the room
};

struct DiskRules {
  std::uint64_t budget = 0;  // bytes of the archive; 0: no bound
  // Of the file system, in bytes: left alone. At most a twentieth of the file system counts, so that an
  // archive on a small one is possible.
  std::uint64_t keep_free = 0;
};
// How long things are kept, at least; nothing: no bound. Not negative.
struct AgeRules {
  std::optional<DurationNs> raw, reports;
  std::vector<std::optional<DurationNs>> levels;  // the finest first; those that are missing have no bound
  // The finest level that is to be kept for longer than a coarser one; nothing when all is well.
  std::optional<std::size_t> level_out_of_order() const;
};
struct DiskUse {
  std::uint64_t archive = 0;  // bytes that the archive's files take, its log included
  std::uint64_t free = 0;     // bytes of the file system that may be written
  std::uint64_t size = 0;     // bytes of the file system
};

// Of the finest level as many of the newest slices as a restarted daemon needs: the window, and those from
// which the coarsest level is merged anew, with what can still be amended, twice; of each coarser one the
// window. By level, in slices. REQUIRES: levels as in RunMeta.
std::vector<std::int64_t> restart_floor(const std::vector<DurationNs>& levels, std::int64_t window,
                                        std::int64_t amendable);
// The time before which things are too old, when `newest` is the end of the newest closed slice, but not
// beyond `keep_from`; nothing while the oldest is too old by less than a sixteenth of the age (10 s at
// least): so that it works now and then, not with every slice.
std::optional<TimeNs> too_old(std::optional<DurationNs> age, TimeNs newest, TimeNs keep_from, TimeNs oldest);
// Bytes to be given up now; 0: all is well.
std::uint64_t bytes_to_drop(const DiskRules& rules, const DiskUse& use);
// REQUIRES: stocks in the order in which they go. Whole extents only.
DropPlan plan_drops(std::uint64_t bytes, const std::vector<Stock>& stocks);

}  // namespace margay::store
