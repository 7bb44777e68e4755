#include "archive_check.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace margay::daemon {
namespace {

constexpr std::uint64_t kProgressEvery = 256;

std::optional<SliceIndex> after(SliceIndex s) {
  if (s.value == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return s + 1;
}

class Checker {
 public:
  Checker(const store::Archive& archive, const store::Resume& all,
          const std::function<void(const ArchiveCheck&)>& progress)
      : archive_(archive), all_(all), progress_(progress) {}

  ArchiveCheck run() {
    for (std::size_t level = 0; level < all_.run.levels.size(); ++level)
      slices(LevelIndex(static_cast<std::uint8_t>(level)));
    raw();
    reports();
    phases();
    for (const auto* streams : {&all_.streams, &all_.former})
      for (const store::StreamRecord& s : *streams) account(s);
    return std::move(found_);
  }

 private:
  static constexpr TimeNs kFirst{std::numeric_limits<std::int64_t>::min()};
  static constexpr TimeNs kLast{std::numeric_limits<std::int64_t>::max()};

  void damage(std::string sentence) {
    ++found_.damages;
    if (found_.damaged.size() < ArchiveCheck::kMostListed) found_.damaged.push_back(std::move(sentence));
  }
  void step(std::uint64_t count) {
    if (progress_ && count % kProgressEvery == 0) progress_(found_);
  }

  void slices(LevelIndex level) {
    const auto kept = archive_.column_range(level);
    if (!kept) return damage(kept.error().message);
    if (!*kept) return;
    const DurationNs duration = all_.run.levels[level.value];
    std::optional<SliceIndex> closed;
    for (const store::ClosedThrough& c : all_.closed)
      if (c.level == level) closed = c.through;
    const std::string where = "level " + std::to_string(level.value) + ", slice ";
    // The next one that is wanted; nothing after the last slice that can be.
    std::optional<SliceIndex> next = (*kept)->first;
    const auto ok =
        archive_.scan_columns(level, (*kept)->first, (*kept)->second, [&](model::SliceColumn&& column) {
          if (column.index != next && !unwatched(*next, column.index, duration))
            damage(where + std::to_string(next->value) + ": it and those up to " +
                   std::to_string(column.index.value) + " are missing");
          next = after(column.index);
          if (column.leaves() > all_.leaves.size() || column.states() > all_.states.size())
            damage(where + std::to_string(column.index.value) + ": it has " +
                   std::to_string(column.leaves()) + " leaves and " + std::to_string(column.states()) +
                   " states; the archive names " + std::to_string(all_.leaves.size()) + " and " +
                   std::to_string(all_.states.size()));
          if (closed && column.index <= *closed) rows(column, duration, where);
          ++found_.slices;
          step(found_.slices);
          return true;
        });
    if (!ok) return damage(ok.error().message);
    if (next && *next <= (*kept)->second)
      damage(where + std::to_string(next->value) + ": it and those up to " +
             std::to_string((*kept)->second.value) + " are missing");
  }

  // Slices [from, to) lie in times that nobody watched.
  bool unwatched(SliceIndex from, SliceIndex to, DurationNs duration) const {
    // The numbers are those of a file: times of them may be beyond all times.
    const auto time = [](SliceIndex s, DurationNs d) { return static_cast<__int128>(s.value) * d.value; };
    const DurationNs finest = all_.run.levels[0];
    const __int128 end = time(to, duration);
    __int128 at = time(from, duration);
    bool told = false;
    for (const store::GapRecord& g : all_.gaps)
      if (time(g.first, finest) <= at) {
        const __int128 back = time(g.last, finest) + finest.value;
        told = told || back > at;
        at = std::max(at, back);
      }
    return told && at >= end;
  }

  void rows(const model::SliceColumn& column, DurationNs duration, const std::string& where) {
    for (std::uint32_t leaf = 0; leaf < column.leaves(); ++leaf) {
      std::int64_t sum = 0;
      bool negative = false, too_much = false;
      for (const std::int64_t ns : column.duration_ns(LeafIndex(leaf))) {
        found_.cells += ns != 0;
        negative = negative || ns < 0 || ns > duration.value;
        if (!negative) too_much = __builtin_add_overflow(sum, ns, &sum) || too_much;
      }
      if (!negative && !too_much && sum == duration.value) continue;
      const std::string total = too_much ? "more than a number can tell" : std::to_string(sum) + " ns";
      damage(where + std::to_string(column.index.value) + ", leaf " + std::to_string(leaf) +
             (negative ? ": a time is negative or longer than the slice"
                       : ": its times sum to " + total + ", not " + std::to_string(duration.value)));
    }
  }

  void raw() {
    const auto ok = archive_.read_raw(std::nullopt, kFirst, kLast, [&](store::RawBlock&& block) {
      if (block.leaf.value >= all_.leaves.size() || block.end < block.begin || block.count == 0)
        damage("raw block of leaf " + std::to_string(block.leaf.value) + " from event " +
               std::to_string(block.first) + ": no such leaf, or no time");
      ++found_.raw_blocks;
      found_.raw_events += block.count;
      step(found_.raw_blocks);
      return true;
    });
    if (!ok) damage(ok.error().message);
  }

  void reports() {
    const auto ok = archive_.read_reports(kFirst, kLast, [&](store::ReportRecord&&) {
      ++found_.reports;
      step(found_.reports);
      return true;
    });
    if (!ok) damage(ok.error().message);
  }

  void phases() {
    for (const auto* of : {&all_.phases, &all_.coarser_phases}) {
      const store::PhaseRecord* before = nullptr;
      for (const store::PhaseRecord& p : *of) {
        const bool follows = before != nullptr && before->level == p.level;
        if (p.end < p.begin || (follows && p.begin < before->begin))
          damage("phase " + std::to_string(p.index) + " of level " + std::to_string(p.level.value) +
                 ": it ends before it begins, or begins before the one before");
        before = &p;
      }
    }
  }

  void account(const store::StreamRecord& s) {
    // One after the other: the sum of counters that are wrong may be too large for a number.
    std::uint64_t left = s.produced;
    bool too_many = false;
    for (const std::uint64_t term : {s.modelled, s.late_dropped, s.probe_dropped, s.wire_lost, s.rejected}) {
      too_many = too_many || term > left;
      left -= std::min(term, left);
    }
    if (too_many)
      damage("source " + std::to_string(s.source.value) + ", stream " + std::to_string(s.stream) +
             ": more events were modelled, dropped, lost and rejected than produced");
  }

  const store::Archive& archive_;
  const store::Resume& all_;
  const std::function<void(const ArchiveCheck&)>& progress_;
  ArchiveCheck found_;
};

}  // namespace

Result<ArchiveCheck> check_archive(const store::Archive& archive,
                                   const std::function<void(const ArchiveCheck&)>& progress) {
  const auto all = archive.load();
  if (!all) return tl::unexpected(all.error());
  return Checker(archive, *all, progress).run();
}

}  // namespace margay::daemon
