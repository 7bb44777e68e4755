// When the next report is due. Pure; times are host time. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "margay/base/time.h"

namespace margay::daemon {

class ReportPace {
 public:
  static constexpr DurationNs kPeriod = milliseconds(100);

  void news() { fresh_ = true; }
  bool has_news() const { return fresh_; }
  bool due(TimeNs now) const { return now >= (fresh_ ? next_ : next_ + kAnyway); }
  // Until something that is new is due.
  DurationNs left(TimeNs now) const { return next_ - now; }
  // The number of the one that is made now.
  std::uint64_t begin() {
    fresh_ = false;
    return ++sequence_;
  }
  std::uint64_t sequence() const { return sequence_; }
  // Large models: at most a fifth of the time goes into pictures. Others: one a period, though slices come
  // unevenly: what comes half a period early waits for nothing, and what comes late makes no later one late.
  void made(TimeNs begin, TimeNs end) {
    next_ = std::max({std::min(next_, begin) + kPeriod, begin + kPeriod - kEarly, end + (end - begin) * 4});
  }
  // Is this one for the archive? Once a second; large ones less often, so that they take 64 KiB/s of it at
  // most.
  bool archive_due(TimeNs now) const { return now >= next_archived_; }
  void archived(TimeNs now, std::size_t bytes) {
    const auto kib = static_cast<std::int64_t>(bytes >> 10);
    next_archived_ = now + std::max(kArchivedPeriod, seconds(1) * (kib / 64));
  }

 private:
  static constexpr DurationNs kEarly = milliseconds(50);
  // Also when nothing is new: how the daemon stands may be.
  static constexpr DurationNs kAnyway = seconds(1);
  static constexpr DurationNs kArchivedPeriod = seconds(1);

  bool fresh_ = false;
  std::uint64_t sequence_ = 0;
  TimeNs next_{}, next_archived_{};
};

}  // namespace margay::daemon
