// What an archive gives up when it comes near its bounds on the disk: the policy, apart from any database.
//
// Order: the oldest raw events first; when all of them that may go are gone, the oldest reports; then the
// oldest slices of the finest level, and of coarser ones. What never goes: of each level the slices from the
// floor on (Stock::keep_from), alerts, phases, counters. Retention is not loss: the events dropped here were
// modelled, and the account of events does not change by it.
//
// It begins when the archive takes more than 7/8 of its budget, or the file system has less than `keep_free`
// left, and goes on down to 13/16 of the budget, and to 1/16 more than `keep_free`: so that it works now and
// then, not with every commit; the last eighth is for what compaction takes for a while. Pure. Thread safety:
// values and functions.
#pragma once

#include <cstdint>
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
struct DiskUse {
  std::uint64_t archive = 0;  // bytes that the archive's files take, its log included
  std::uint64_t free = 0;     // bytes of the file system that may be written
  std::uint64_t size = 0;     // bytes of the file system
};

// Bytes to be given up now; 0: all is well.
std::uint64_t bytes_to_drop(const DiskRules& rules, const DiskUse& use);
// REQUIRES: stocks in the order in which they go. Whole extents only.
DropPlan plan_drops(std::uint64_t bytes, const std::vector<Stock>& stocks);

}  // namespace margay::store
