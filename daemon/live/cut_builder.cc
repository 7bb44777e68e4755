#include "margay/live/cut_builder.h"

#include <algorithm>

#include "cut_records.h"
#include "margay/settings/memory_budget.h"

namespace margay::daemon {

CutBuilder::CutBuilder(const Options& options, IngestModel& model, const store::Resume& resume)
    : options_(options),
      model_(model),
      columns_(waiting_slices_bytes(options)),
      raw_(options),
      absences_(model.slice()),
      sent_(resume.sequence),
      committed_(resume.sequence) {
  for (const store::GapRecord& g : resume.gaps) absences_.add(g.first, g.last);
  held_ = {model.states.size(), model.ingest.topology_version(), model.ingest.unwatched().version()};
}

void CutBuilder::put(store::GapRecord gap) {
  absences_.add(gap.first, gap.last);
  if (const auto oldest = absences_.take_oldest_beyond()) gaps_forgotten_.push_back(*oldest);
  gaps_.push_back(std::move(gap));
}

void CutBuilder::collect_changes(bool full) {
  slicer::Slicer& slicer = model_.slicer;
  for (const SliceIndex s : slicer.take_changed())
    if (const auto* c = slicer.column(s))
      // An open one is exact: a restart goes on with it.
      put(s < slicer.next_open() ? model_.closed_copy(*c) : std::make_shared<model::SliceColumn>(*c));
  auto forgotten = model_.ingest.take_forgotten();
  forgotten_.sources.merge(forgotten.sources);
  for (const auto& [leaf, account] : forgotten.former) forgotten_.former[leaf] = account;
  // One that has come back is to be kept.
  std::erase_if(forgotten_.sources, [&](const auto& s) { return model_.ingest.sources().contains(s.first); });
  std::size_t in_cuts = 0;
  for (const auto& [sequence, sent] : on_the_way_) in_cuts += sent.raw_bytes;
  for (ingest::AcceptedBatch& b : model_.ingest.take_accepted()) raw_.put(std::move(b), in_cuts, full);
}

store::Cut CutBuilder::make(TimeNs wall) {
  store::Cut cut;
  cut.sequence = sent_ + 1;
  cut.wall = wall;
  columns_.put_into(cut);
  for (std::size_t i = held_.states; i < model_.states.size(); ++i) {
    const StateId id(static_cast<std::uint16_t>(i));
    cut.states.push_back({id, model_.states[id]});
  }
  put_leaves(cut);
  put_sources(cut);
  cut.gaps = gaps_;
  cut.gaps_forgotten = gaps_forgotten_;
  if (model_.slicer.started()) cut.closed.push_back({LevelIndex(0), model_.slicer.next_open() - 1});
  findings_.put_into(cut);
  const ingest::Unwatched& unwatched = model_.ingest.unwatched();
  if (unwatched.version() != held_.unwatched)
    cut.state.push_back({ingest::kUnwatchedBlob, unwatched.encode()});
  cut.raw = raw_.take();
  return cut;
}

void CutBuilder::put_leaves(store::Cut& cut) const {
  const ingest::Ingest& ingest = model_.ingest;
  const bool all = held_.topology != ingest.topology_version();
  const bool measured =
      options_.op != slicer::Operator{} && options_.op.measure != slicer::Operator::Measure::kOccurrences;
  for (std::uint32_t i = 0; i < ingest.leaves().size(); ++i) {
    const LeafIndex leaf(i);
    const auto& [source, stream] = ingest.leaf_owner()[i];
    if (all) cut.leaves.push_back({leaf, source, stream, ingest.leaves()[i], ingest.leaf_keepers()[i]});
    cut.leaf_states.push_back(to_record(leaf, model_.slicer.leaf_state(leaf)));
    if (measured) cut.measure_states.push_back(to_measure_record(leaf, model_.slicer.leaf_state(leaf)));
  }
}

void CutBuilder::put_sources(store::Cut& cut) const {
  for (const auto& [id, s] : model_.ingest.sources()) {
    if (!s.dirty) continue;
    cut.sources.push_back(to_record(id, s));
    for (const auto& [index, stream] : s.streams)
      cut.streams.push_back(to_record(id, index, stream.epoch, stream.account));
  }
  for (const auto& [id, streams] : forgotten_.sources) cut.forgotten.push_back({id, streams});
  for (const auto& [leaf, account] : forgotten_.former)
    cut.former.push_back(to_record({}, leaf.value, 0, account));
}

// The queue keeps a cut until it is written, so what is in it needs no second place.
void CutBuilder::sent() {
  ingest::Ingest& ingest = model_.ingest;
  Sent& sent = on_the_way_[++sent_];
  sent.raw_bytes = raw_.sent();
  sent.confirms.acks = ingest.ack_point();
  sent.confirms.handling = findings_.handling_version();
  if (ingest.unwatched().version() != held_.unwatched) sent.confirms.unwatched = ingest.unwatched().version();
  held_ = {model_.states.size(), ingest.topology_version(), ingest.unwatched().version()};
  for (auto& [id, s] : ingest.sources()) s.dirty = false;
  static_cast<void>(ingest.take_goodbyes());
  columns_.clear();
  findings_.clear();
  forgotten_ = {};
  gaps_.clear();
  gaps_forgotten_.clear();
}

std::optional<CutBuilder::Confirmed> CutBuilder::committed(std::uint64_t sequence) {
  if (sequence <= committed_) return std::nullopt;
  committed_ = sequence;
  Confirmed all;
  const auto end = on_the_way_.upper_bound(sequence);
  for (auto it = on_the_way_.begin(); it != end; ++it) {
    Confirmed& c = it->second.confirms;
    if (c.acks) all.acks = std::move(c.acks);
    if (c.handling) all.handling = c.handling;
    if (c.unwatched) all.unwatched = c.unwatched;
  }
  on_the_way_.erase(on_the_way_.begin(), end);
  return all;
}

void CutBuilder::set(observe::Values& v) const {
  using observe::Id;
  v.set(Id::raw_not_archived, raw_.lost() + model_.ingest.raw_dropped());
  v.set(Id::alerts_not_archived, findings_.alerts_lost());
  v.set(Id::columns_not_archived, columns_.lost());
  absences_.set(v);
}

}  // namespace margay::daemon
