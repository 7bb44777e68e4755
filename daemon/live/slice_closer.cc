#include "margay/live/slice_closer.h"

#include <algorithm>
#include <utility>

#include "margay/live/absence_words.h"
#include "margay/log/log.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kNearlyIdle = 512 - 4;  // room in the queue to the analysis, which takes 512
constexpr DurationNs kAmendedPeriod = milliseconds(100);
// Slices closed in one go: what the queue to the analysis surely takes.
constexpr std::int64_t kMostClosed = 128;
// Columns held while the analysis is behind; beyond them it misses slices.
constexpr std::size_t kMostHeld = 2048;
// Time of which nothing came from anybody is a gap if it is longer than this and than what can be amended.
constexpr DurationNs kLeastGap = seconds(10);
// If somebody promises that nothing happened it is drawn from the promise, up to so many slices.
constexpr std::int64_t kLongestDrawn = 4096;

}  // namespace

Result<std::map<SliceIndex, std::uint64_t>> SliceCloser::restore(const store::Archive& archive) {
  using Kind = store::JournalEntry::Kind;
  // Slices that can still change: what was shown of them last.
  std::map<SliceIndex, std::uint64_t> last;
  const slicer::Slicer& slicer = model_.slicer;
  const SliceIndex oldest = slicer.next_open() - static_cast<std::int64_t>(options_.amendable_slices);
  Status s = archive.read_journal(oldest, 0, [&](store::JournalEntry&& e) {
    if ((e.kind == Kind::kClosed || e.kind == Kind::kAmended) && slicer.column(e.slice) != nullptr)
      last[e.slice] = e.sequence;
    return true;
  });
  if (!s) return tl::unexpected(s.error());
  for (auto it = last.begin(); it != last.end();) {
    const auto changed = archive.is_superseded(it->first, it->second);
    if (!changed) return tl::unexpected(changed.error());
    // Had changed, but was not shown again before the daemon ended.
    if (*changed) amended_.insert(it->first);
    it = *changed ? last.erase(it) : std::next(it);
  }
  return last;
}

// What limits.cells has for the slicer.
std::size_t SliceCloser::most_held() const {
  const ingest::Limits& l = options_.limits;
  const std::uint64_t column =
      std::max<std::uint64_t>(1, l.column_bytes(model_.ingest.leaves().size(), model_.states.size()));
  return std::clamp<std::size_t>(l.cell_bytes / l.held_slices * ingest::Limits::kHeldSlices / column,
                                 ingest::Limits::kHeldSlices, kMostHeld);
}

// A slow analysis holds the closing of slices up, not the taking of events: what is amendable is the reserve.
// Nor do they close faster than the disk takes them, where there is much to catch up with.
bool SliceCloser::held_up(TimeNs watermark, bool behind, Pace pace) const {
  const std::int64_t waiting = slice_of(watermark, model_.slice()).value - model_.slicer.next_open().value;
  return (behind && waiting < static_cast<std::int64_t>(most_held())) ||
         (waiting > kMostClosed && pace.hold_back);
}

void SliceCloser::close(TimeNs watermark, TimeNs now, Pace pace) {
  slicer::Slicer& slicer = model_.slicer;
  slicer.set_region(model_.ingest.region());
  const bool behind = feed_.room() < 2 * kMostClosed;
  // Amended ones also then: or a cut would hold a slice, and not the coarser ones above it.
  if (held_up(watermark, behind, pace)) return show_amended(watermark, now, false);
  if (const auto from = gap_from(watermark)) {
    if (*from == slicer.next_open()) {
      if (pace.at_once || now >= no_gap_before_) take_gap(slice_of(watermark, model_.slice()));
      return show_amended(watermark, now, false);
    }
    watermark = slice_begin(*from, model_.slice());  // first what there is before it
  } else if (!former_boot_.empty() && now >= no_gap_before_) {
    former_boot_.clear();  // it was started anew so quickly that there is none
  }
  watermark = std::min(watermark, slice_begin(slicer.next_open() + kMostClosed, model_.slice()));
  model_.ingest.fill_promises(watermark);
  note_amended();  // before any leaves: the coarser slices are merged of what is held
  const auto closed = slicer.close_through(watermark);
  keep_what_left();
  // As they leave the slicer they are rounded, if at all: levels, analysis and archive hold the same.
  std::vector<std::shared_ptr<const model::SliceColumn>> leaving;
  for (const model::SliceColumn* c : closed) leaving.push_back(model_.closed_copy(*c));
  for (const auto& c : leaving) keep(*c);
  if (behind)
    feed_.unseen(closed.size());  // archived, but the analysis is too slow for this job: it sees a hole
  else
    for (auto& c : leaving) feed_.show(std::move(c), false, watermark, now);
  show_amended(watermark, now, false);
}

// Of slices from here on nothing has come, and up to the watermark nothing will. Where there are many of them
// this process was not there to watch: they are one record, and none is made. Not if somebody has watched:
// what agents kept comes in its order, and what they promise of a while without events is drawn.
std::optional<SliceIndex> SliceCloser::gap_from(TimeNs watermark) const {
  const slicer::Slicer& slicer = model_.slicer;
  const DurationNs slice = model_.slice();
  if (!slicer.started()) return std::nullopt;
  const SliceIndex next = slice_of(watermark, slice);
  const std::int64_t least = std::max<std::int64_t>(options_.amendable_slices, kLeastGap.value / slice.value);
  if (next.value - slicer.newest().value <= least) return std::nullopt;
  const SliceIndex from = slicer.is_blank() ? slicer.next_open() : slicer.newest() + 1;
  const std::int64_t length = next.value - from.value;
  if (length <= least) return std::nullopt;
  const bool promised = model_.ingest.promised() > slice_begin(from + options_.amendable_slices, slice);
  if (promised && length <= std::max(least, kLongestDrawn)) return std::nullopt;
  return from;
}

void SliceCloser::take_gap(SliceIndex next) {
  const TimeNs to = slice_begin(next, model_.slice());
  note_amended();
  slicer::Gap gap =
      model_.slicer.skip_to(next, [&](LeafIndex leaf) { return model_.ingest.is_promised(leaf, to); });
  // When they ended nobody knows.
  for (const LeafIndex leaf : std::exchange(former_boot_, {}))
    if (leaf.value < gap.existed.size()) gap.existed[leaf.value] = true;
  keep_what_left();
  std::vector<model::SliceColumn> coarse;
  model_.levels.skip(gap.first, gap.last, gap.existed, coarse);
  for (auto& c : coarse) cuts_.put(std::make_shared<model::SliceColumn>(std::move(c)));
  log::warning(absence_sentence(slice_begin(gap.first, model_.slice()), to));
  cuts_.put(store::GapRecord{gap.first, gap.last, std::move(gap.existed)});
}

// More may close, and leave, between two cuts than the slicer holds.
void SliceCloser::keep_what_left() {
  for (const model::SliceColumn& c : model_.slicer.left()) cuts_.put(model_.closed_copy(c));
}

void SliceCloser::note_amended() {
  for (const SliceIndex s : model_.slicer.take_amended()) {
    const auto* column = model_.slicer.column(s);
    if (column == nullptr) continue;
    keep(*model_.closed_copy(*column));
    amended_.insert(s);
    feed_.journal().changed(s);
  }
}

// Only while the analysis has nothing else to do: slices that close are never kept waiting by a flood of late
// events.
void SliceCloser::show_amended(TimeNs watermark, TimeNs now, bool all) {
  note_amended();
  if (now < next_amended_ && !all) return;
  const std::size_t room = all ? 64 : kNearlyIdle;
  while (!amended_.empty() && feed_.room() > room) {
    const auto* c = model_.slicer.column(*amended_.rbegin());
    amended_.erase(std::prev(amended_.end()));
    if (c != nullptr)
      feed_.show(model_.closed_copy(*c), true, watermark, now);
    else
      feed_.amendment_unseen();
    if (amended_.empty()) next_amended_ = now + kAmendedPeriod;
  }
  // What has left the slicer can be shown no more; the newest are shown first.
  while (!amended_.empty() && model_.slicer.column(*amended_.begin()) == nullptr) {
    amended_.erase(amended_.begin());
    feed_.amendment_unseen();
  }
}

// Coarser levels that closed or changed by this slice go into the next cut.
void SliceCloser::keep(const model::SliceColumn& column) {
  std::vector<model::SliceColumn> coarse;
  model_.levels.update(column, coarse);
  for (auto& c : coarse) cuts_.put(std::make_shared<model::SliceColumn>(std::move(c)));
}

}  // namespace margay::daemon
