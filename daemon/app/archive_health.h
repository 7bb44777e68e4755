// What the results of commits say about the archive. Thread safety: none; owned by margay-ingest.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "margay/base/time.h"
#include "margay/observe/counters.h"
#include "margay/store/commit_queue.h"

namespace margay::app {

class ArchiveHealth {
 public:
  // An archive whose commit takes longer than this is as good as unwritable.
  static constexpr DurationNs kStalledAfter = seconds(10);

  // `now` is monotonic: the archive was good then, having just been opened.
  explicit ArchiveHealth(TimeNs now) : good_(now) {}
  void take(const store::CommitResult& result, TimeNs now, TimeNs wall);
  // `waiting`: cuts that were submitted and are not committed.
  void set(TimeNs now, std::uint64_t waiting, observe::Values& values) const;
  bool failing() const { return !error_.empty(); }

 private:
  static constexpr DurationNs kHalf = seconds(30);

  std::uint64_t commits_ = 0, errors_ = 0;
  std::string error_;     // of the newest attempt, "" if it went well
  TimeNs failed_wall_{};  // since when it fails
  TimeNs good_{};
  DurationNs last_{};
  // The longest of this half minute and of the one before.
  std::array<DurationNs, 2> longest_{};
  TimeNs half_began_{};
};

}  // namespace margay::app
