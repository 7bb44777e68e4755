#include "margay/store/retention_manager.h"

#include <algorithm>

namespace margay::store {
namespace {

// Raw events and reports of the last second may not even be in a file yet.
constexpr DurationNs kNewest = seconds(1);
constexpr unsigned kParts = 64;
constexpr std::int64_t kPatience = 10;  // periods

}  // namespace

void RetentionManager::after_commit(const Cut& cut) {
  for (const ClosedThrough& c : cut.closed)
    if (c.level == LevelIndex(0)) closed_ = c.through;
  for (const RawBlock& b : cut.raw) written_ += b.columns.size();
  const TimeNs now = clock_.monotonic();
  // After an absence the sources send in a second what took them many.
  const bool much = options_.rules.budget != 0 && written_ > options_.rules.budget / 32 && !full();
  if (now < next_ && !much) return;
  written_ = 0;
  look();
  // At the floor every slice makes the next one free to go: not a compaction for each.
  next_ = now + options_.period * (full() ? kPatience : 1);
}

RetentionReport RetentionManager::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

TimeNs RetentionManager::floor(std::size_t level) const {
  const DurationNs slice = options_.levels[level];
  const TimeNs end = slice_end(*closed_, options_.levels[0]);
  return slice_begin(slice_of(end, slice) - options_.floor_slices[level], slice);
}

std::vector<Stock> RetentionManager::stocks(Status& status) const {
  std::vector<Stock> all;
  const TimeNs newest = slice_end(*closed_, options_.levels[0]) - kNewest;
  all.push_back({Shelf::kRaw, {}, newest, {}});
  all.push_back({Shelf::kReports, {}, newest, {}});
  for (std::size_t i = 0; i < options_.levels.size() && i < options_.floor_slices.size(); ++i)
    all.push_back({Shelf::kSlices, LevelIndex(static_cast<std::uint8_t>(i)), floor(i), {}});
  for (Stock& s : all) {
    auto extents = archive_.extents(s.shelf, s.level, s.keep_from, kParts);
    if (!extents) {
      status = fail(extents.error().code, extents.error().message);
      return {};
    }
    s.extents = std::move(*extents);
  }
  return all;
}

Status RetentionManager::drop(const Drop& d, bool for_age, RetentionReport& report) {
  Status status;
  switch (d.shelf) {
    case Shelf::kRaw:
      if (status = archive_.drop_raw_before(d.before); !status) return status;
      report.raw_bytes_dropped += d.bytes;
      report.raw_for_age = for_age;
      break;
    case Shelf::kReports:
      if (status = archive_.drop_reports_before(d.before); !status) return status;
      report.reports_bytes_dropped += d.bytes;
      report.reports_for_age = for_age;
      break;
    case Shelf::kSlices: {
      const SliceIndex before = slice_of(d.before, options_.levels[d.level.value]);
      const auto range = archive_.column_range(d.level);
      if (!range) return fail(range.error().code, range.error().message);
      if (status = archive_.drop_columns_before(d.level, before); !status) return status;
      if (*range && (*range)->first < before)
        report.slices_dropped += static_cast<std::uint64_t>(before.value - (*range)->first.value);
      if (d.level == LevelIndex(0)) report.slices_for_age = for_age;
      break;
    }
  }
  return {};
}

Status RetentionManager::drop_old(RetentionReport& report) {
  const TimeNs newest = slice_end(*closed_, options_.levels[0]);
  bool any = false;
  const auto look_at = [&](Shelf shelf, LevelIndex level, std::optional<DurationNs> age,
                           TimeNs keep_from) -> Status {
    if (!age) return {};
    const auto oldest = archive_.oldest(shelf, level);
    if (!oldest) return fail(oldest.error().code, oldest.error().message);
    const auto before = *oldest ? too_old(age, newest, keep_from, **oldest) : std::nullopt;
    if (!before) return {};
    const auto extents = archive_.extents(shelf, level, *before, 1);
    if (!extents) return fail(extents.error().code, extents.error().message);
    any = true;
    return drop({shelf, level, *before, extents->empty() ? 0 : extents->front().bytes}, true, report);
  };
  Status status = look_at(Shelf::kRaw, {}, options_.ages.raw, newest - kNewest);
  if (status) status = look_at(Shelf::kReports, {}, options_.ages.reports, newest - kNewest);
  for (std::size_t i = 0; status && i < std::min(options_.ages.levels.size(), options_.floor_slices.size());
       ++i)
    status =
        look_at(Shelf::kSlices, LevelIndex(static_cast<std::uint8_t>(i)), options_.ages.levels[i], floor(i));
  report.times += any;
  return status;
}

Status RetentionManager::drop_for_room(std::uint64_t need, RetentionReport& report) {
  Status status;
  const std::vector<Stock> all = stocks(status);
  if (!status) return status;
  const DropPlan plan = plan_drops(need, all);
  report.full = !plan.enough;
  for (const Drop& d : plan.drops)
    if (status = drop(d, false, report); !status) return status;
  if (!plan.drops.empty()) ++report.times;
  return {};
}

void RetentionManager::measure(RetentionReport& report) const {
  if (const auto use = archive_.disk_use()) report.use = *use;
  if (!closed_) return;
  const TimeNs end = slice_end(*closed_, options_.levels[0]);
  const auto reaches = [end](const std::optional<TimeNs>& oldest) {
    return oldest ? std::optional(DurationNs(std::max<std::int64_t>(0, (end - *oldest).value)))
                  : std::nullopt;
  };
  if (const auto raw = archive_.oldest(Shelf::kRaw, {})) report.raw_kept = reaches(*raw);
  if (const auto fine = archive_.oldest(Shelf::kSlices, LevelIndex(0))) report.fine_kept = reaches(*fine);
}

void RetentionManager::look() {
  RetentionReport r = report();
  r.error.clear();
  if (closed_)
    if (const Status s = drop_old(r); !s) r.error = s.error().message;
  measure(r);
  const std::uint64_t need = bytes_to_drop(options_.rules, r.use);
  if (need == 0) {
    r.full = false;
  } else if (closed_) {
    r.for_free_space = bytes_to_drop({options_.rules.budget, 0}, r.use) == 0;
    if (const Status s = drop_for_room(need, r); !s) r.error = s.error().message;
    measure(r);
  }
  full_.store(r.full, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  report_ = std::move(r);
}

}  // namespace margay::store
