// What a replay finds beside what the archive has of what was reported live: the last revision of each alert,
// in its bytes but for the wall time at which it was written, and the phases of all levels.
//
// A replay of the same decisions finds the same for the same build of detection. Another build may find
// something else, and the archive tells: only what was compared is called identical.
//
// Of a run that did not end in order (its daemon was killed, or is at it), what was reported after the newest
// slice that the archive has findings of is not in it: what the replay finds from there on is left out.
//
// Thread safety: none. Memory: that of the archive's alerts and phases. Cost: of a slice, linear in the
// phases that may have changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/analysis/analyst.h"
#include "margay/analysis/phase_records.h"
#include "margay/base/recent_set.h"
#include "margay/store/records.h"

namespace margay::daemon {

// An alert or a phase stretch in which live and replay differ.
struct Difference {
  TimeNs at{};       // onset, or begin
  std::string what;  // path of the alert's node; "phase B"
  std::string how;   // "reported live only", "reported by this replay only", "differs in score_bits"
};

struct Comparison {
  enum class Outcome { kNotCompared, kIdentical, kDifferent };
  Outcome outcome = Outcome::kNotCompared;
  // Of kNotCompared: why, a clause. Of kDifferent: what may be the cause, each a clause.
  std::vector<std::string> reasons;
  std::uint64_t alerts_live = 0, alerts_now = 0, alerts_different = 0;
  std::uint64_t phases_live = 0, phases_now = 0, phases_different = 0;
  std::optional<Difference> first;  // by time; of kDifferent
};

// What the user is told of it, in lines. `begin`: of the run, from which times are counted.
std::vector<std::string> comparison_lines(const Comparison& comparison, TimeNs begin);

class LiveComparison {
 public:
  // `resume` must outlive it: of the whole archive.
  explicit LiveComparison(const store::Resume& resume);

  // A daemon began, with the levels that it watched. `before`: where what it looked back on begins, or
  // nothing where that is all of the run.
  void begin(const Options& options, const detect::Levels& levels, std::optional<TimeNs> before);
  // What was shown, and what was found by it.
  void take(const ClosedSlice& message, const std::vector<alert::Alert>& alerts,
            const detect::Levels& levels);
  // `reasons`: what else may be the cause of differences.
  Comparison result(std::vector<std::string> reasons) const;

 private:
  using PhaseKey = std::pair<std::uint8_t, std::uint32_t>;  // level, index
  using Phases = std::map<PhaseKey, store::PhaseRecord>;
  // Revisions of an alert that may be the one in the archive: the last one that must be there, and those
  // behind it.
  struct Revisions {
    bool must = false;
    std::vector<alert::Alert> alerts;
  };
  static constexpr std::size_t kMostRemembered = 65'536;  // as live

  void take_phases(const detect::Levels& levels);
  void compare_alerts(Comparison& to) const;
  void compare_phases(Comparison& to) const;

  const store::Resume& resume_;
  SliceIndex last_{INT64_MAX};         // the newest slice that the archive has findings of
  SliceIndex newest_{INT64_MIN};       // shown so far
  std::vector<PhaseRecords> records_;  // by level
  Phases phases_;
  Phases until_last_;                             // those after slice `last_`
  RecentSet<std::string> seen_{kMostRemembered};  // id/step
  std::map<std::string, Revisions> found_;        // by id
};

}  // namespace margay::daemon
