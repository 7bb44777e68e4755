#include "archive_health.h"

#include <algorithm>
#include <ctime>

#include "margay/log/log.h"

namespace margay::app {
namespace {

std::string time_of_day(TimeNs wall) {
  const auto t = static_cast<std::time_t>(wall.value / 1'000'000'000);
  std::tm local{};
  localtime_r(&t, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

}  // namespace

void ArchiveHealth::take(const store::CommitResult& r, TimeNs now, TimeNs wall) {
  if (r.error) {
    ++errors_;
    if (error_.empty()) {
      failed_wall_ = wall;
      log::error("the archive cannot be written: " + r.error->message +
                 "; what comes meanwhile is kept in memory, within its bounds");
    }
    error_ = r.error->message;
    return;
  }
  ++commits_;
  if (!error_.empty()) log::info("the archive is written again");
  error_.clear();
  good_ = now;
  last_ = r.latency;
  if (now - half_began_ >= kHalf) {
    longest_ = {DurationNs(0), now - half_began_ < kHalf * 2 ? longest_[0] : DurationNs(0)};
    half_began_ = now;
  }
  longest_[0] = std::max(longest_[0], r.latency);
}

void ArchiveHealth::set(TimeNs now, std::uint64_t waiting, observe::Values& v) const {
  using observe::Id;
  const DurationNs age = now - good_;
  const bool stalled = waiting > 0 && age >= kStalledAfter;
  v.set(Id::commits, commits_);
  v.set(Id::commits_waiting, waiting);
  v.set(Id::commit_errors, errors_);
  v.set(Id::commit_last_us, static_cast<std::uint64_t>(last_.value / 1000));
  v.set(Id::commit_longest_us, static_cast<std::uint64_t>(std::max(longest_[0], longest_[1]).value / 1000));
  v.set(Id::commit_age_ms, static_cast<std::uint64_t>(std::max<std::int64_t>(0, age.value) / 1'000'000));
  v.set(Id::archive_unwritable, failing() || stalled);
  if (failing())
    v.explain(Id::archive_unwritable,
              "the archive cannot be written since " + time_of_day(failed_wall_) + " (" + error_ + ")");
  else if (stalled)
    v.explain(Id::archive_unwritable, "the archive's disk does not answer for " +
                                          std::to_string(age.value / 1'000'000'000) + " s now");
}

}  // namespace margay::app
