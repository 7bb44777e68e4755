// Stretches of the run in which nobody watched, as the archive knows them. Thread safety: none. Bounded:
// store::kMostGaps.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "margay/base/ids.h"
#include "margay/observe/counters.h"
#include "margay/store/records.h"

namespace margay::daemon {

class Absences {
 public:
  explicit Absences(DurationNs slice) : slice_(slice) {}
  void add(SliceIndex first, SliceIndex last);  // both inside
  // The oldest, when there are more than an archive holds: it is not known any more.
  std::optional<SliceIndex> take_oldest_beyond();
  void set(observe::Values& values) const;

 private:
  DurationNs slice_;
  std::deque<SliceIndex> first_;  // of each, oldest first
  std::uint64_t count_ = 0;
  DurationNs not_watched_{};
  std::optional<std::pair<TimeNs, TimeNs>> last_;
};

}  // namespace margay::daemon
