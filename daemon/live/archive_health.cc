#include "margay/live/archive_health.h"

#include <algorithm>
#include <ctime>

#include "margay/log/log.h"

namespace margay::daemon {
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
  waiting_since_ = TimeNs();
  if (r.error) {
    ++errors_;
    if (trouble_.empty()) {
      trouble_since_ = wall;
      log::error("the archive cannot be written: " + r.error->message +
                 "; what comes meanwhile is kept in memory, within its bounds");
    }
    trouble_ = r.error->message;
    return;
  }
  ++commits_;
  if (!trouble_.empty()) log::info("the archive is written again");
  trouble_.clear();
  trouble_since_ = TimeNs();
  good_ = now;
  last_ = r.latency;
  if (now - half_began_ >= kHalf) {
    longest_ = {DurationNs(0), now - half_began_ < kHalf * 2 ? longest_[0] : DurationNs(0)};
    half_began_ = now;
  }
  longest_[0] = std::max(longest_[0], r.latency);
}

void ArchiveHealth::look(std::uint64_t waiting, TimeNs now, TimeNs wall) {
  waiting_ = waiting;
  if (waiting == 0)
    waiting_since_ = TimeNs();
  else if (waiting_since_ == TimeNs())
    waiting_since_ = now;
  if (waiting == 0 || now - waiting_since_ < kStalledAfter || !trouble_.empty()) return;
  trouble_ = path_ + ": the disk does not answer";
  trouble_since_ = wall - (now - waiting_since_);
  log::error("the archive cannot be written: " + trouble_ +
             "; what comes meanwhile is kept in memory, within its bounds");
}

void ArchiveHealth::set(TimeNs now, observe::Values& v) const {
  using observe::Id;
  v.set(Id::commits, commits_);
  v.set(Id::commits_waiting, waiting_);
  v.set(Id::commit_errors, errors_);
  v.set(Id::commit_last_us, static_cast<std::uint64_t>(last_.value / 1000));
  v.set(Id::commit_longest_us, static_cast<std::uint64_t>(std::max(longest_[0], longest_[1]).value / 1000));
  v.set(Id::commit_age_ms,
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, (now - good_).value) / 1'000'000));
  if (errors_ > 0)
    v.explain(Id::commit_errors, trouble_.empty() ? "it is written again" : "the newest: " + trouble_);
  v.set(Id::archive_unwritable, !trouble_.empty());
  if (!trouble_.empty())
    v.explain(Id::archive_unwritable,
              "the archive cannot be written since " + time_of_day(trouble_since_) + " (" + trouble_ + ")");
}

}  // namespace margay::daemon
