// The journal's side of the ingest: what the analysis was shown goes into the cut that holds its cells, or
// into an earlier one, so that no report or alert in the archive rests on what is not there.
#include <algorithm>
#include <limits>

#include "detector_settings.h"
#include "ingest_stage.h"

namespace margay::app {
namespace {

using Kind = store::JournalEntry::Kind;

// Held while the disk is away. Beyond them the oldest go, and are counted.
constexpr std::size_t kMostPendingEntries = 65'536;
constexpr std::size_t kMostPendingKept = 128;

}  // namespace

Status IngestStage::restore_journal(const store::Resume& resume, const LookBack& back) {
  journal_sequence_ = back.sequence - 1;
  newest_shown_ = back.newest;
  // Slices that can still change: what was shown of them last.
  std::map<SliceIndex, std::uint64_t> last;
  const SliceIndex oldest = slicer_.next_open() - static_cast<std::int64_t>(options_.amendable_slices);
  Status s = archive_.read_journal(oldest, 0, [&](store::JournalEntry&& e) {
    if ((e.kind == Kind::kClosed || e.kind == Kind::kAmended) && slicer_.column(e.slice) != nullptr)
      last[e.slice] = e.sequence;
    return true;
  });
  if (!s) return s;
  for (const auto& [slice, sequence] : last) {
    const auto changed = archive_.is_superseded(slice, sequence);
    if (!changed) return tl::unexpected(changed.error());
    // Had changed, but was not shown again before the daemon ended.
    if (*changed)
      amended_.insert(slice);
    else
      shown_[slice] = {sequence, nullptr};
  }
  store::JournalEntry start;
  start.kind = Kind::kStart;
  start.sequence = ++journal_sequence_;
  start.at = newest_shown_;
  start.slice = back.first;
  start.whole = back.whole;
  start.settings = to_settings(options_);
  start.states = static_cast<std::uint32_t>(states_.size());
  for (const auto& l : resume.leaves) {
    start.changed.emplace_back(l.leaf, l.attributes);
    journal_leaves_.push_back(l.attributes);
  }
  start.leaves = static_cast<std::uint32_t>(journal_leaves_.size());
  add_to_journal(std::move(start));
  return {};
}

void IngestStage::add_to_journal(store::JournalEntry entry) {
  pending_journal_.push_back(std::move(entry));
  if (pending_journal_.size() <= kMostPendingEntries) return;
  pending_journal_.pop_front();
  ++journal_lost_;
}

// The analysis will take this message: what it rests on.
void IngestStage::journal_shown(const ClosedSlice& message) {
  if (message.topology) {
    topology_published_ = ingest_.topology_version();
    states_published_ = states_.size();
    store::JournalEntry e;
    e.kind = Kind::kTopology;
    e.sequence = ++journal_sequence_;
    e.at = newest_shown_;
    e.states = static_cast<std::uint32_t>(states_published_);
    const auto& leaves = ingest_.leaves();
    e.leaves = static_cast<std::uint32_t>(leaves.size());
    const std::size_t known = journal_leaves_.size();
    journal_leaves_.resize(leaves.size());
    for (std::uint32_t i = 0; i < e.leaves; ++i) {
      if (i < known && journal_leaves_[i] == leaves[i]) continue;
      journal_leaves_[i] = leaves[i];
      e.changed.emplace_back(LeafIndex(i), leaves[i]);
    }
    add_to_journal(std::move(e));
  }
  if (message.column) {
    store::JournalEntry e;
    e.kind = message.amended ? Kind::kAmended : Kind::kClosed;
    e.sequence = ++journal_sequence_;
    e.slice = message.column->index;
    e.at = newest_shown_ = message.amended ? newest_shown_ : std::max(newest_shown_, e.slice);
    e.watermark = message.watermark;
    e.region = message.column->region;
    shown_[e.slice] = {e.sequence, message.column};
    add_to_journal(std::move(e));
  }
  if (message.final) {
    store::JournalEntry e;
    e.kind = Kind::kEnd;
    e.sequence = ++journal_sequence_;
    e.at = newest_shown_;
    e.watermark = message.watermark;
    e.time = message.end;
    add_to_journal(std::move(e));
  }
}

// Closed slices that have changed: the next cut replaces them, and keeps what was shown.
void IngestStage::note_amended() {
  for (const SliceIndex s : slicer_.take_amended()) {
    const auto* column = slicer_.column(s);
    if (column == nullptr) continue;
    keep(*closed_copy(*column));
    amended_.insert(s);
    const auto shown = shown_.find(s);
    if (shown == shown_.end()) continue;
    if (shown->second.column)
      pending_kept_.push_back({shown->second.sequence, std::move(shown->second.column)});
    else
      pending_superseded_.push_back({s, shown->second.sequence});
    shown_.erase(shown);
    if (pending_kept_.size() > kMostPendingKept) {
      pending_kept_.pop_front();
      ++journal_lost_;
    }
    if (pending_superseded_.size() > kMostPendingEntries) {
      pending_superseded_.pop_front();
      ++journal_lost_;
    }
  }
}

// A cut with all that is pending is on its way: the archive will hold what was shown.
void IngestStage::journal_submitted() {
  pending_journal_.clear();
  pending_superseded_.clear();
  pending_kept_.clear();
  while (!shown_.empty() && slicer_.column(shown_.begin()->first) == nullptr) shown_.erase(shown_.begin());
  for (auto& [slice, shown] : shown_) shown.column.reset();
}

}  // namespace margay::app
