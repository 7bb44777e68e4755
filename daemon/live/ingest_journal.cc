// The journal's side of the ingest: where a restarted daemon goes on, and slices that change after they were
// shown.
#include <algorithm>

#include "margay/analysis/detector_settings.h"
#include "margay/live/ingest_stage.h"

namespace margay::app {

using Kind = store::JournalEntry::Kind;

Status IngestStage::restore_journal(const store::Resume& resume, const LookBack& back) {
  // Slices that can still change: what was shown of them last.
  std::map<SliceIndex, std::uint64_t> last;
  const SliceIndex oldest = slicer_.next_open() - static_cast<std::int64_t>(options_.amendable_slices);
  Status s = archive_.read_journal(oldest, 0, [&](store::JournalEntry&& e) {
    if ((e.kind == Kind::kClosed || e.kind == Kind::kAmended) && slicer_.column(e.slice) != nullptr)
      last[e.slice] = e.sequence;
    return true;
  });
  if (!s) return s;
  for (auto it = last.begin(); it != last.end();) {
    const auto changed = archive_.is_superseded(it->first, it->second);
    if (!changed) return tl::unexpected(changed.error());
    // Had changed, but was not shown again before the daemon ended.
    if (*changed) amended_.insert(it->first);
    it = *changed ? last.erase(it) : std::next(it);
  }
  journal_.resume(back.sequence - 1, back.newest, last);
  store::JournalEntry start;
  start.slice = back.first;
  start.whole = back.whole;
  start.settings = to_settings(options_);
  start.states = static_cast<std::uint32_t>(states_.size());
  std::vector<model::Attributes> leaves;
  for (const auto& l : resume.leaves) leaves.push_back(l.attributes);
  journal_.start(std::move(start), leaves);
  return {};
}

// The analysis will take this message.
void IngestStage::journal_shown(const ClosedSlice& message) {
  if (message.topology) {
    topology_published_ = ingest_.topology_version();
    states_published_ = states_.size();
  }
  journal_.shown(message, static_cast<std::uint32_t>(states_.size()), ingest_.leaves());
}

// Closed slices that have changed: the next cut replaces them, and keeps what was shown.
void IngestStage::note_amended() {
  for (const SliceIndex s : slicer_.take_amended()) {
    const auto* column = slicer_.column(s);
    if (column == nullptr) continue;
    keep(*closed_copy(*column));
    amended_.insert(s);
    journal_.changed(s);
  }
}

}  // namespace margay::app
