// Keeps an archive within its ages and its bounds on the disk: looks once a second (every ten while it is
// full) and after each 32nd part of the budget that was committed, on the thread that commits, and drops what
// retention.h says.
//
// When nothing more may go, `full()` is true: raw events should then not be committed until it is false
// again. Thread safety: after_commit is for the thread that commits; full and report for any. Cost: a look is
// one stat for each of the archive's files (about 130); a drop is some 30 key ranges.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "margay/store/archive.h"

namespace margay::store {

struct RetentionOptions {
  DiskRules rules;
  AgeRules ages;
  std::vector<DurationNs> levels;          // slice durations, the finest first
  std::vector<std::int64_t> floor_slices;  // of each level: that many of the newest never go
  DurationNs period = seconds(1);
};

struct RetentionReport {
  DiskUse use;
  std::uint64_t raw_bytes_dropped = 0;  // by this manager; bytes on the disk
  std::uint64_t reports_bytes_dropped = 0;
  std::uint64_t slices_dropped = 0;     // of all levels
  std::uint64_t times = 0;              // that something was dropped
  std::optional<DurationNs> raw_kept;   // how far back the raw events reach
  std::optional<DurationNs> fine_kept;  // how far back the finest slices reach
  // Whether what went last of each was too old; else it went for want of room.
  bool raw_for_age = false, reports_for_age = false, slices_for_age = false;
  bool for_free_space = false;  // the last time for want of room was for the file system's
  bool full = false;
  std::string error;  // why dropping failed, the last time it was tried; "": it did not
};

class RetentionManager {
 public:
  RetentionManager(Archive& archive, RetentionOptions options, const Clock& clock)
      : archive_(archive), options_(std::move(options)), clock_(clock) {}

  // After each cut that was committed.
  void after_commit(const Cut& cut);
  bool full() const { return full_.load(std::memory_order_relaxed); }
  RetentionReport report() const;

 private:
  void look();
  Status drop_old(RetentionReport& report);
  Status drop_for_room(std::uint64_t need, RetentionReport& report);
  Status drop(const Drop& what, bool for_age, RetentionReport& report);
  std::vector<Stock> stocks(Status& status) const;
  TimeNs floor(std::size_t level) const;
  void measure(RetentionReport& report) const;

  Archive& archive_;
  const RetentionOptions options_;
  const Clock& clock_;
  std::optional<SliceIndex> closed_;  // the newest closed slice of the finest level
  TimeNs next_{};
  std::uint64_t written_ = 0;  // bytes of raw events since the last look, before compression
  std::atomic<bool> full_{false};
  mutable std::mutex mutex_;
  RetentionReport report_;  // guarded by mutex_
};

}  // namespace margay::store
