#include "margay/live/shown_journal.h"

#include <algorithm>

namespace margay::daemon {
namespace {

using Kind = store::JournalEntry::Kind;

template <class Queue>
void drop_oldest(Queue& queue, std::size_t most, std::uint64_t& lost) {
  if (queue.size() <= most) return;
  queue.pop_front();
  ++lost;
}

}  // namespace

void ShownJournal::resume(std::uint64_t last_sequence, SliceIndex newest,
                          const std::map<SliceIndex, std::uint64_t>& unchanged) {
  sequence_ = last_sequence;
  newest_ = newest;
  for (const auto& [slice, sequence] : unchanged) shown_[slice] = {sequence, nullptr};
}

void ShownJournal::add(store::JournalEntry entry) {
  entry.sequence = ++sequence_;
  entry.at = newest_;
  entries_.push_back(std::move(entry));
  drop_oldest(entries_, bounds_.entries, lost_);
}

void ShownJournal::start(store::JournalEntry entry, std::span<const model::Attributes> leaves) {
  entry.kind = Kind::kStart;
  leaves_.assign(leaves.begin(), leaves.end());
  entry.leaves = static_cast<std::uint32_t>(leaves_.size());
  for (std::uint32_t i = 0; i < entry.leaves; ++i) entry.changed.emplace_back(LeafIndex(i), leaves_[i]);
  add(std::move(entry));
}

void ShownJournal::shown(const ClosedSlice& message, std::uint32_t states,
                         std::span<const model::Attributes> leaves) {
  if (message.topology) {
    store::JournalEntry e;
    e.kind = Kind::kTopology;
    e.states = states;
    e.leaves = static_cast<std::uint32_t>(leaves.size());
    const std::size_t known = leaves_.size();
    leaves_.resize(leaves.size());
    for (std::uint32_t i = 0; i < e.leaves; ++i) {
      if (i < known && leaves_[i] == leaves[i]) continue;
      leaves_[i] = leaves[i];
      e.changed.emplace_back(LeafIndex(i), leaves[i]);
    }
    add(std::move(e));
  }
  if (message.column) {
    store::JournalEntry e;
    e.kind = message.amended ? Kind::kAmended : Kind::kClosed;
    e.slice = message.column->index;
    e.watermark = message.watermark;
    e.region = message.column->region;
    if (!message.amended) newest_ = std::max(newest_, e.slice);
    shown_[e.slice] = {sequence_ + 1, message.column};
    add(std::move(e));
  }
  if (message.final) {
    store::JournalEntry e;
    e.kind = Kind::kEnd;
    e.watermark = message.watermark;
    e.time = message.end;
    add(std::move(e));
  }
}

void ShownJournal::changed(SliceIndex slice) {
  const auto shown = shown_.find(slice);
  if (shown == shown_.end()) return;
  if (shown->second.column) {
    kept_.push_back({shown->second.sequence, std::move(shown->second.column)});
    drop_oldest(kept_, bounds_.kept, lost_);
  } else {
    superseded_.push_back({slice, shown->second.sequence});
    drop_oldest(superseded_, bounds_.entries, lost_);
  }
  shown_.erase(shown);
}

void ShownJournal::put_into(store::Cut& cut) const {
  cut.journal = {entries_.begin(), entries_.end()};
  cut.superseded = {superseded_.begin(), superseded_.end()};
  cut.kept = {kept_.begin(), kept_.end()};
}

void ShownJournal::submitted(SliceIndex oldest) {
  entries_.clear();
  superseded_.clear();
  kept_.clear();
  shown_.erase(shown_.begin(), shown_.lower_bound(oldest));
  for (auto& [slice, shown] : shown_) shown.column.reset();
}

}  // namespace margay::daemon
