#include "archive_prune.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "margay/text/text.h"

namespace margay::daemon {
namespace {

using store::Shelf;

// Of the configuration's defaults: what a daemon that takes up a run again starts from.
constexpr std::int64_t kWindow = 256, kAmendable = 64;
constexpr unsigned kParts = 256;
constexpr int kMostRounds = 6;

class Pruner {
 public:
  Pruner(std::unique_ptr<store::Archive> archive, const PruneRules& rules, const store::Resume& all,
         std::uint64_t bytes)
      : archive_(std::move(archive)),
        path_(archive_->path()),
        rules_(rules),
        all_(all),
        levels_(all.run.levels) {
    found_.bytes_before = bytes;
  }

  Result<Pruned> run() {
    if (Status s = read_rules(); !s) return tl::unexpected(s.error());
    found_.bytes_after = found_.bytes_before;
    // Of what only the log has, nobody knows how much room each part takes.
    if (rules_.dry_run)
      if (Status s = measure(); !s) return tl::unexpected(s.error());
    if (Status s = find_ends(); !s) return tl::unexpected(s.error());
    if (!levels_.empty() && newest_)
      if (Status s = by_age(); !s) return tl::unexpected(s.error());
    if (rules_.to_size)
      if (Status s = to_size(); !s) return tl::unexpected(s.error());
    if (!rules_.dry_run)
      if (Status s = measure(); !s) return tl::unexpected(s.error());
    return std::move(found_);
  }

 private:
  static std::string where(DurationNs slice) { return "slices of " + text::slice_text(slice.value); }

  Status read_rules() {
    ages_ = {rules_.keep_raw, rules_.keep_reports, {}};
    ages_.levels.resize(levels_.size());
    for (const auto& [slice, age] : rules_.keep_levels) {
      const auto at = std::find(levels_.begin(), levels_.end(), slice);
      if (at == levels_.end()) {
        std::string has;
        for (const DurationNs d : levels_) has += (has.empty() ? "" : ", ") + text::slice_text(d.value);
        return fail(ErrorCode::kInvalidArgument,
                    path_ + ": has no " + where(slice) + "; its levels are " + has);
      }
      ages_.levels[static_cast<std::size_t>(at - levels_.begin())] = age;
    }
    if (const auto i = ages_.level_out_of_order())
      return fail(ErrorCode::kInvalidArgument,
                  path_ + ": " + where(levels_[*i]) + " would be kept for longer than the coarser " +
                      where(levels_[*i + 1]) + "; give them an age that is not longer");
    return {};
  }

  // Where each level ends, and the archive.
  Status find_ends() {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const auto kept = archive_->column_range(LevelIndex(static_cast<std::uint8_t>(i)));
      if (!kept) return tl::unexpected(kept.error());
      ends_.push_back(*kept ? std::optional((*kept)->second) : std::nullopt);
    }
    if (!ends_.empty() && ends_[0])
      newest_ = TimeNs(text::times(text::plus(ends_[0]->value, 1), levels_[0].value));
    floor_ = store::restart_floor(levels_, kWindow, kAmendable);
    return {};
  }

  TimeNs keep_from(Shelf shelf, std::size_t level) const {
    if (!newest_) return TimeNs(std::numeric_limits<std::int64_t>::min());
    if (shelf != Shelf::kSlices) return *newest_;
    if (!ends_[level]) return TimeNs(std::numeric_limits<std::int64_t>::min());
    // Of a run that has ended nobody takes anything up: one slice says how far it went.
    const std::int64_t slices = all_.run.end ? 1 : floor_[level];
    const std::int64_t first = text::minus(text::plus(ends_[level]->value, 1), slices);
    return TimeNs(text::times(first, levels_[level].value));
  }

  // Each shelf, in the order in which they go.
  template <class Do>
  Status each(Do&& act) {
    if (Status s = act(Shelf::kRaw, 0, ages_.raw); !s) return s;
    if (Status s = act(Shelf::kReports, 0, ages_.reports); !s) return s;
    for (std::size_t i = 0; i < levels_.size(); ++i)
      if (Status s = act(Shelf::kSlices, i, ages_.levels[i]); !s) return s;
    return {};
  }

  Status by_age() {
    return each([&](Shelf shelf, std::size_t i, std::optional<DurationNs> age) -> Status {
      if (!age) return {};
      const LevelIndex level(static_cast<std::uint8_t>(i));
      const auto oldest = archive_->oldest(shelf, level);
      if (!oldest) return tl::unexpected(oldest.error());
      TimeNs before(std::min(text::minus(newest_->value, age->value), keep_from(shelf, i).value));
      if (shelf == Shelf::kSlices) before = slice_begin(slice_of(before, levels_[i]), levels_[i]);
      if (!*oldest || before <= **oldest) return {};
      const auto extents = archive_->extents(shelf, level, before, 1);
      if (!extents) return tl::unexpected(extents.error());
      return drop({shelf, level, before, extents->empty() ? 0 : extents->front().bytes});
    });
  }

  Status drop(const store::Drop& d) {
    Pruned::Gone gone{d.shelf, {}, d.before, d.bytes, 0};
    if (d.shelf == Shelf::kSlices) {
      gone.slice = levels_[d.level.value];
      const auto kept = archive_->column_range(d.level);
      if (!kept) return tl::unexpected(kept.error());
      const SliceIndex before = slice_of(d.before, gone.slice);
      if (*kept && (*kept)->first < before)
        gone.slices = static_cast<std::uint64_t>(text::minus(before.value, (*kept)->first.value));
    }
    found_.bytes_after -= std::min(found_.bytes_after, d.bytes);
    // Of a shelf that goes twice, by age and for room, it is said once.
    const auto same = std::find_if(found_.gone.begin(), found_.gone.end(), [&](const Pruned::Gone& g) {
      return g.shelf == gone.shelf && g.slice == gone.slice;
    });
    if (same != found_.gone.end()) {
      same->before = gone.before;
      same->bytes += gone.bytes;
      same->slices = rules_.dry_run ? std::max(same->slices, gone.slices) : same->slices + gone.slices;
    } else {
      found_.gone.push_back(gone);
    }
    if (rules_.dry_run) return {};
    if (d.shelf == Shelf::kRaw) return archive_->drop_raw_before(d.before);
    if (d.shelf == Shelf::kReports) return archive_->drop_reports_before(d.before);
    return archive_->drop_columns_before(d.level, slice_of(d.before, gone.slice));
  }

  // What is left after what went by age, or would go.
  Result<std::vector<store::Stock>> stocks() {
    std::vector<store::Stock> all;
    const Status s = each([&](Shelf shelf, std::size_t i, std::optional<DurationNs>) -> Status {
      store::Stock stock{shelf, LevelIndex(static_cast<std::uint8_t>(i)), keep_from(shelf, i), {}};
      auto extents = archive_->extents(shelf, stock.level, stock.keep_from, kParts);
      if (!extents) return tl::unexpected(extents.error());
      for (const Pruned::Gone& g : found_.gone)
        if (g.shelf == shelf && (shelf != Shelf::kSlices || g.slice == levels_[i]))
          std::erase_if(*extents, [&](const store::Extent& e) { return e.end <= g.before; });
      stock.extents = std::move(*extents);
      all.push_back(std::move(stock));
      return {};
    });
    if (!s) return tl::unexpected(s.error());
    return all;
  }

  // What the archive takes by now, closed: then logs and files that are no longer needed are gone.
  Status measure() {
    if (Status s = archive_->flush(); !s) return s;
    archive_.reset();
    const auto use = store::Archive::disk_use_of(path_);
    if (!use) return tl::unexpected(use.error());
    found_.bytes_after = use->archive;
    auto again = store::Archive::open(path_, store::Mode::kWrite);
    if (!again) return tl::unexpected(again.error());
    archive_ = std::move(*again);
    return {};
  }

  // What a drop gives back is known when it is done: sizes of parts are estimates.
  Status to_size() {
    const std::uint64_t want = *rules_.to_size;
    for (int round = 0; round < kMostRounds; ++round) {
      if (!rules_.dry_run)
        if (Status s = measure(); !s) return s;
      found_.enough = found_.bytes_after <= want;
      if (found_.enough) return {};
      const auto left = stocks();
      if (!left) return tl::unexpected(left.error());
      const store::DropPlan plan = store::plan_drops(found_.bytes_after - want, *left);
      if (!plan.enough && !rules_.dry_run && !compacted_) {
        // Before everything goes that may: some of the room is what was replaced and still lies about.
        compacted_ = true;
        if (Status s = archive_->compact(); !s) return s;
        continue;
      }
      for (const store::Drop& d : plan.drops)
        if (Status s = drop(d); !s) return s;
      if (rules_.dry_run) found_.enough = plan.enough;
      if (rules_.dry_run || plan.drops.empty()) return {};
    }
    if (Status s = measure(); !s) return s;
    found_.enough = found_.bytes_after <= want;
    return {};
  }

  std::unique_ptr<store::Archive> archive_;
  const std::string path_;
  const PruneRules& rules_;
  const store::Resume& all_;
  const std::vector<DurationNs>& levels_;
  store::AgeRules ages_;
  std::vector<std::int64_t> floor_;
  std::vector<std::optional<SliceIndex>> ends_;  // of each level, the newest slice
  std::optional<TimeNs> newest_;                 // its end
  bool compacted_ = false;
  Pruned found_;
};

}  // namespace

Result<Pruned> prune_archive(const std::string& path, const PruneRules& rules) {
  const auto use = store::Archive::disk_use_of(path);  // before it is opened: that takes room for a log
  auto archive = store::Archive::open(path, store::Mode::kWrite);
  if (!archive) return tl::unexpected(archive.error());
  const auto all = (*archive)->load();
  if (!all) return tl::unexpected(all.error());
  return Pruner(std::move(*archive), rules, *all, use ? use->archive : 0).run();
}

}  // namespace margay::daemon
