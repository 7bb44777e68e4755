// What the results of commits say about the archive. Thread safety: none; owned by margay-ingest.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "margay/base/time.h"
#include "margay/observe/counters.h"
#include "margay/store/commit_queue.h"

namespace margay::daemon {

class ArchiveHealth {
 public:
  // An archive whose commit takes longer than this is as good as unwritable.
  static constexpr DurationNs kStalledAfter = seconds(3);

  // The archive was good at `now`, having just been opened. Times are host time; `wall` is what a person's
  // clock shows then.
  ArchiveHealth(std::string path, TimeNs now) : path_(std::move(path)), good_(now) {}
  void take(const store::CommitResult& result, TimeNs now, TimeNs wall);
  // Each pass. `waiting`: cuts that were submitted and are not committed.
  void look(std::uint64_t waiting, TimeNs now, TimeNs wall);
  // This process itself did not run for so long: that is not the disk's time.
  void away(DurationNs d) {
    if (waiting_since_ != TimeNs()) waiting_since_ = waiting_since_ + d;
  }
  void set(TimeNs now, observe::Values& values) const;
  // Why nothing gets into the archive now, or "".
  const std::string& trouble() const { return trouble_; }
  TimeNs trouble_since() const { return trouble_since_; }  // wall

 private:
  static constexpr DurationNs kHalf = seconds(30);

  const std::string path_;
  std::uint64_t commits_ = 0, errors_ = 0, waiting_ = 0;
  std::string trouble_;
  TimeNs trouble_since_{};
  TimeNs good_{};           // the newest commit that went well
  TimeNs waiting_since_{};  // cuts wait, and none has been committed, since then; 0 if none waits
  DurationNs last_{};
  // The longest of this half minute and of the one before.
  std::array<DurationNs, 2> longest_{};
  TimeNs half_began_{};
};

}  // namespace margay::daemon
