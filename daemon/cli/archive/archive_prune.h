// Giving up what is old in an archive that nobody writes (`margay archive prune`): by age, by size, or both.
//
// Ages count back from the end of the newest slice kept. Coarser levels stay for as long as finer ones, or
// longer. What never goes: phases, alerts, the account, of each level the newest slice; of a run that has not
// ended what a restarted daemon needs, as in store/retention.h. Thread safety: functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "margay/store/archive.h"

namespace margay::daemon {

struct PruneRules {
  std::optional<DurationNs> keep_raw, keep_reports;
  std::vector<std::pair<DurationNs, DurationNs>> keep_levels;  // duration of the level's slices, age
  std::optional<std::uint64_t> to_size;                        // bytes on the disk
  bool dry_run = false;  // only says what would go; what the archive holds does not change, its files may
};

struct Pruned {
  struct Gone {
    store::Shelf shelf{};
    DurationNs slice{};        // of kSlices
    TimeNs before{};           // what began before it
    std::uint64_t bytes = 0;   // about; 0 also where only the log had it
    std::uint64_t slices = 0;  // of kSlices, at most
  };
  std::vector<Gone> gone;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;  // of a dry run an estimate
  bool enough = true;             // to_size was reached (in a dry run: would be)
};

// Errors: those of Archive::open (kUnavailable: it is being written), load() and drop_*; kInvalidArgument:
// the archive has no level of such slices, or a finer level would be kept for longer than a coarser one.
// Cost: small, but for the compaction of what lies beside what goes.
Result<Pruned> prune_archive(const std::string& path, const PruneRules& rules);

}  // namespace margay::daemon
