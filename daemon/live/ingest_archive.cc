// The ingest's side of the archive: what a restarted daemon takes over from it, what goes into a cut, and how
// the disk is.
#include <algorithm>

#include "margay/alert/handling.h"
#include "margay/base/last_state.h"
#include "margay/live/ingest_stage.h"
#include "margay/live/retention_words.h"
#include "margay/log/log.h"
#include "margay/trace/raw_block.h"

namespace margay::app {
namespace {

constexpr std::size_t kMostPendingColumns = 4096;

// The stack as the archive keeps it: what the leaf does when nothing is open, then the open states.
store::LeafState to_record(LeafIndex leaf, const slicer::LeafState& s) {
  store::LeafState r;
  r.leaf = leaf;
  r.stack.push_back({s.base, s.base_since});
  for (const auto& e : s.stack) r.stack.push_back({e.state, e.since});
  r.position = s.position;
  r.last_event = s.last_event;
  r.longest_before_ns = s.longest_before_ns;
  return r;
}

// The part of it that the operator goes on from.
store::MeasureState to_measure_record(LeafIndex leaf, const slicer::LeafState& s) {
  store::MeasureState m;
  m.leaf = leaf;
  for (const auto& e : s.stack) m.stack.push_back({e.carried.bytes, e.carried.peer});
  m.known = s.value.known;
  m.settled = s.value.settled;
  m.value = s.value.value;
  m.integral = s.value.integral;
  return m;
}

void add_measure_record(const store::MeasureState& m, slicer::LeafState& s) {
  for (std::size_t i = 0; i < std::min(m.stack.size(), s.stack.size()); ++i)
    s.stack[i].carried = {m.stack[i].bytes, m.stack[i].peer};
  s.value = {m.known, m.value, m.settled, m.integral};
}

slicer::LeafState from_record(const store::LeafState& r) {
  slicer::LeafState s;
  if (!r.stack.empty()) {
    s.base = r.stack[0].state;
    s.base_since = r.stack[0].since;
    for (std::size_t i = 1; i < r.stack.size(); ++i) s.stack.push_back({r.stack[i].state, r.stack[i].since});
  }
  s.position = r.position;
  s.last_event = r.last_event;
  s.longest_before_ns = r.longest_before_ns;
  return s;
}

store::SourceRecord to_record(SourceId id, const ingest::Source& s) {
  store::SourceRecord r{id, s.epoch, s.attributes, s.states, s.clock_offset, s.clock_error, s.goodbye, s.end};
  for (std::size_t i = 0; i < s.kinds.size(); ++i)
    if (s.kinds[i] != ingest::NameKind::kState)
      r.texts.push_back({static_cast<std::uint16_t>(i), s.kinds[i], s.names[i]});
  r.owner = s.owner;
  r.speaker = s.speaker.value_or(0);
  return r;
}

store::StreamRecord to_record(SourceId source, std::uint32_t stream, std::uint32_t epoch,
                              const ingest::Account& a) {
  return {source,     stream,         epoch,           a.next,      a.produced, a.recorded,
          a.modelled, a.late_dropped, a.probe_dropped, a.wire_lost, a.rejected};
}

ingest::Account to_account(const store::StreamRecord& r) {
  return {r.produced,  r.modelled, r.late_dropped, r.probe_dropped,
          r.wire_lost, r.rejected, r.recorded,     r.next};
}

}  // namespace

Status IngestStage::restore(const store::Resume& resume) {
  states_ = resume.states;
  states_committed_ = states_.size();
  cut_ = acked_cut_ = resume.sequence;
  for (const store::Blob& b : resume.state) {
    if (b.name != ingest::kUnwatchedBlob) continue;
    auto unwatched = ingest::Unwatched::decode_untrusted(b.bytes);
    if (!unwatched) return tl::unexpected(unwatched.error());
    unwatched_submitted_ = unwatched->version();
    ingest_.restore_unwatched(std::move(*unwatched));
  }
  for (const store::GapRecord& g : resume.gaps) {
    const TimeNs from = slice_begin(g.first, options_.levels[0]), to = slice_end(g.last, options_.levels[0]);
    gaps_.push_back(g.first);
    ++absences_;
    not_watched_ += to - from;
    last_absence_.emplace(from, to);
  }
  if (resume.leaves.empty()) {
    slicer_.start(run_.begin);
    return {};
  }
  SliceIndex next_open = slice_of(run_.begin, options_.levels[0]);
  for (const auto& c : resume.closed)
    if (c.level == LevelIndex(0)) next_open = c.through + 1;

  // The columns that can still change, and the open ones after them.
  const SliceIndex first = std::max(slice_of(run_.begin, options_.levels[0]),
                                    next_open - static_cast<std::int64_t>(options_.amendable_slices));
  auto columns = archive_.read_columns(LevelIndex(0), first, next_open + 100'000);
  if (!columns) return tl::unexpected(columns.error());
  std::vector<slicer::LeafState> leaf_states(resume.leaves.size());
  std::vector<bool> there(leaf_states.size());
  for (const auto& r : resume.leaf_states) {
    if (r.leaf.value >= leaf_states.size()) continue;
    leaf_states[r.leaf.value] = from_record(r);
    there[r.leaf.value] = true;
  }
  // Every cut has one of each leaf. Without it the leaf would go on from a time before all slices.
  if (const auto hole = std::find(there.begin(), there.end(), false); hole != there.end())
    return fail(ErrorCode::kCorrupt,
                "where leaf " + std::to_string(hole - there.begin()) + " goes on from is missing");
  for (const auto& m : resume.measure_states)
    if (m.leaf.value < leaf_states.size()) add_measure_record(m, leaf_states[m.leaf.value]);
  // All that could change was before a gap.
  if (columns->empty() && next_open > slice_of(run_.begin, options_.levels[0]))
    columns->emplace_back(LevelIndex(0), next_open, 0, 0);
  if (auto ok = slicer_.restore(std::move(*columns), next_open, std::move(leaf_states)); !ok) return ok;
  slicer_.start(run_.begin);  // if the archive holds leaves, but no slice yet

  // Coarser levels are merged anew from the closed slices of as long as the coarsest lasts.
  const std::int64_t back =
      options_.levels.back().value / options_.levels[0].value + options_.amendable_slices;
  std::vector<model::SliceColumn> ignored;
  auto gap = resume.gaps.begin();
  const auto gaps_before = [&](SliceIndex s) {
    for (; gap != resume.gaps.end() && gap->last < s; ++gap)
      if (gap->last >= next_open - back)
        levels_.skip(std::max(gap->first, next_open - back), gap->last, gap->existed, ignored);
  };
  auto scanned =
      archive_.scan_columns(LevelIndex(0), next_open - back, next_open - 1, [&](model::SliceColumn&& c) {
        gaps_before(c.index);
        levels_.update(c, ignored);
        ignored.clear();
        return true;
      });
  if (!scanned) return scanned;
  gaps_before(next_open);

  std::vector<ingest::Source> sources;
  for (const auto& r : resume.sources) {
    ingest::Source s;
    s.id = r.source;
    s.owner = r.owner;
    if (r.speaker != 0) s.speaker = r.speaker;
    s.epoch = r.epoch;
    s.attributes = r.attributes;
    s.states = r.names;
    s.names.resize(r.names.size());
    s.ends_leaf.resize(r.names.size());
    s.kinds.resize(r.names.size(), ingest::NameKind::kState);
    for (std::size_t i = 0; i < r.names.size(); ++i)
      if (r.names[i].value < states_.size()) {
        s.names[i] = states_[r.names[i]].name;
        s.ends_leaf[i] = is_last_state(s.names[i]);
      }
    for (const store::NameText& t : r.texts)
      if (t.index < s.names.size()) {
        s.names[t.index] = t.text;
        s.kinds[t.index] = t.kind;
      }
    s.clock_offset = r.clock_offset;
    s.clock_error = r.clock_error;
    s.goodbye = r.goodbye;
    s.end = r.end;
    s.ended = r.end.has_value();
    s.heard = clock_.monotonic();
    sources.push_back(std::move(s));
  }
  std::vector<model::Attributes> leaves;
  std::vector<std::pair<SourceId, std::uint32_t>> owner;
  std::vector<std::string> keepers;
  for (const auto& l : resume.leaves) {
    leaves.push_back(l.attributes);
    owner.emplace_back(l.source, l.stream);
    keepers.push_back(l.owner);
  }
  for (const auto& r : resume.streams) {
    const auto s =
        std::find_if(sources.begin(), sources.end(), [&](const auto& x) { return x.id == r.source; });
    if (s == sources.end()) continue;
    ingest::Stream& stream = s->streams[r.stream];
    stream.epoch = r.epoch;
    stream.account = to_account(r);
    for (std::uint32_t i = 0; i < owner.size(); ++i)
      if (owner[i] == std::pair(r.source, r.stream)) stream.leaf = LeafIndex(i);
    stream.covered = slicer_.leaf_state(stream.leaf).position;
  }
  std::vector<ingest::Account> former(leaves.size());
  for (const auto& r : resume.former) former[r.stream] = to_account(r);
  ingest_.restore(std::move(sources), std::move(leaves), std::move(owner), std::move(former),
                  std::move(keepers));
  topology_committed_ = ingest_.topology_version();
  return {};
}

void IngestStage::put_pending(std::shared_ptr<const model::SliceColumn> column) {
  auto& place = pending_columns_[{column->level.value, column->index.value}];
  if (place) pending_column_bytes_ -= place->bytes();
  pending_column_bytes_ += column->bytes();
  place = std::move(column);
  while (pending_columns_.size() > kMostPendingColumns ||
         pending_column_bytes_ > waiting_slices_bytes(options_)) {
    pending_column_bytes_ -= pending_columns_.begin()->second->bytes();
    pending_columns_.erase(pending_columns_.begin());
    ++columns_lost_;
  }
}

// With many slices between two cuts the next one is made before its time, for some would have to go.
bool IngestStage::much_waits() const {
  return pending_columns_.size() > kMostPendingColumns / 2 ||
         pending_column_bytes_ > waiting_slices_bytes(options_) / 2;
}

// Copies of what has changed, so that they can be written however late the disk is.
void IngestStage::collect_changes() {
  note_amended();
  for (const SliceIndex s : slicer_.take_changed())
    if (const auto* c = slicer_.column(s))
      // An open one is exact: a restart goes on with it.
      put_pending(s < slicer_.next_open() ? closed_copy(*c) : std::make_shared<model::SliceColumn>(*c));
  auto forgotten = ingest_.take_forgotten();
  pending_forgotten_.sources.merge(forgotten.sources);
  for (const auto& [leaf, account] : forgotten.former) pending_forgotten_.former[leaf] = account;
  // One that has come back is to be kept.
  std::erase_if(pending_forgotten_.sources,
                [&](const auto& s) { return ingest_.sources().contains(s.first); });
  for (ingest::AcceptedBatch& b : ingest_.take_accepted()) {
    std::size_t waiting = fresh_raw_bytes(options_) + pending_raw_bytes_;
    for (const auto& [cut, bytes] : raw_in_cuts_) waiting += bytes;
    if (waiting + b.columns.size() > options_.raw_backlog_bytes || keeper_.full()) {
      raw_lost_ += b.count;
      continue;
    }
    store::RawBlock block{b.leaf, b.first, b.begin, b.end, b.count, std::move(b.columns), b.source};
    // The cells are made of exact times; what cannot be rounded is kept as it came.
    if (options_.raw_resolution > DurationNs(1))
      static_cast<void>(trace::round_times(block, options_.raw_resolution, raw_scratch_));
    pending_raw_bytes_ += block.columns.size();
    pending_raw_.push_back(std::move(block));
  }
}

// One consistent cut: cells, open states, counters and how far each stream is, all of the same moment.
void IngestStage::commit(bool last, bool end) {
  collect_changes();
  if (!commits_->has_room()) return;  // the disk is busy: a later cut holds all this as well
  store::Cut cut;
  cut.sequence = cut_ + 1;
  cut.wall = clock_.realtime();
  for (const auto& [key, column] : pending_columns_) cut.columns.push_back(column);
  for (std::size_t i = states_committed_; i < states_.size(); ++i) {
    const StateId id(static_cast<std::uint16_t>(i));
    cut.states.push_back({id, states_[id]});
  }
  for (std::uint32_t i = 0; i < ingest_.leaves().size(); ++i) {
    const LeafIndex leaf(i);
    const auto& [source, stream] = ingest_.leaf_owner()[i];
    if (topology_committed_ != ingest_.topology_version())
      cut.leaves.push_back({leaf, source, stream, ingest_.leaves()[i], ingest_.leaf_keepers()[i]});
    cut.leaf_states.push_back(to_record(leaf, slicer_.leaf_state(leaf)));
    if (options_.op != slicer::Operator{} && options_.op.measure != slicer::Operator::Measure::kOccurrences)
      cut.measure_states.push_back(to_measure_record(leaf, slicer_.leaf_state(leaf)));
  }
  for (const auto& [id, s] : ingest_.sources()) {
    if (!s.dirty) continue;
    cut.sources.push_back(to_record(id, s));
    for (const auto& [index, stream] : s.streams)
      cut.streams.push_back(to_record(id, index, stream.epoch, stream.account));
  }
  cut.gaps = pending_gaps_;
  cut.gaps_forgotten = pending_gaps_forgotten_;
  if (slicer_.started()) cut.closed.push_back({LevelIndex(0), slicer_.next_open() - 1});
  for (const auto& [id, streams] : pending_forgotten_.sources) cut.forgotten.push_back({id, streams});
  for (const auto& [leaf, account] : pending_forgotten_.former)
    cut.former.push_back(to_record({}, leaf.value, 0, account));
  cut.raw = std::move(pending_raw_);  // not twice: it may be much
  pending_raw_.clear();
  cut.alerts = pending_alerts_;
  cut.report = pending_report_;
  if (pending_handling_) cut.state.push_back({alert::kHandlingBlob, pending_handling_->bytes});
  const std::uint64_t unwatched = ingest_.unwatched().version();
  if (unwatched != unwatched_submitted_)
    cut.state.push_back({ingest::kUnwatchedBlob, ingest_.unwatched().encode()});
  cut.phases_end = pending_phases_end_;
  for (const auto& [index, phase] : pending_phases_) cut.phases.push_back(phase);
  cut.signatures = pending_signatures_;
  journal_.put_into(cut);
  if (!start_counted_) {
    cut.state.push_back({kStartsBlob, std::to_string(options_.restarts + 1)});  // this one among them
    if (auto note = durability_.first()) cut.state.push_back(std::move(*note));
  }
  if (last || end)
    if (auto note = durability_.last()) {
      std::erase_if(cut.state, [](const store::Blob& b) { return b.name == Durability::kBlob; });
      cut.state.push_back(std::move(*note));
    }
  if (last) {
    if (!run_.end) run_.end = TimeNs(clock_.monotonic().value) + run_.wall_offset;
    run_.exit_code = exit_code_;
  }
  // The first of each daemon tells of the boot and the settings that it runs with.
  if (last || !start_counted_) cut.run = run_;
  const std::size_t states = states_.size();
  if (!commits_->try_submit(std::move(cut))) {  // stopped
    pending_raw_ = std::move(cut.raw);
    return;
  }
  ++cut_;
  if (pending_raw_bytes_ > 0) raw_in_cuts_[cut_] = pending_raw_bytes_;
  received_ = 0;
  if (unwatched != unwatched_submitted_) unwatched_cuts_[cut_] = unwatched_submitted_ = unwatched;
  static_cast<void>(ingest_.take_goodbyes());
  start_counted_ = true;
  ack_points_[cut_] = ingest_.ack_point();
  if (last) last_cut_submitted_ = true;
  // The queue keeps a cut until it is written, so what is in it needs no second place.
  states_committed_ = states;
  topology_committed_ = ingest_.topology_version();
  for (auto& [id, s] : ingest_.sources()) s.dirty = false;
  pending_forgotten_ = {};
  pending_columns_.clear();
  pending_column_bytes_ = 0;
  pending_gaps_.clear();
  pending_gaps_forgotten_.clear();
  pending_alerts_.clear();
  pending_alert_bytes_ = pending_signature_bytes_ = 0;
  pending_report_.reset();
  if (pending_handling_) handling_cuts_[cut_] = pending_handling_->version;
  pending_handling_.reset();
  pending_phases_end_.clear();
  pending_phases_.clear();
  pending_signatures_.clear();
  pending_raw_bytes_ = 0;
  journal_.submitted(slicer_.next_open() - static_cast<std::int64_t>(slicer_.held()));
}

void IngestStage::poll_commits() {
  std::vector<store::CommitResult> results;
  commits_->poll_results(results);
  const TimeNs now = clock_.monotonic(), wall = now + run_.wall_offset;
  for (const auto& r : results) archive_health_.take(r, now, wall);
  tell_retention();
  const std::uint64_t committed = commits_->last_committed();
  archive_health_.look(cut_ - std::min(cut_, committed), now, wall);
  if (committed <= acked_cut_) return;
  acked_cut_ = committed;
  raw_in_cuts_.erase(raw_in_cuts_.begin(), raw_in_cuts_.upper_bound(committed));
  const auto handled = handling_cuts_.upper_bound(committed);
  if (handled != handling_cuts_.begin()) {
    exchange_.handling_archived = std::prev(handled)->second;
    exchange_.for_analysis.ring();
  }
  handling_cuts_.erase(handling_cuts_.begin(), handled);
  const auto counted = unwatched_cuts_.upper_bound(committed);
  if (counted != unwatched_cuts_.begin()) ingest_.unwatched_committed(std::prev(counted)->second);
  unwatched_cuts_.erase(unwatched_cuts_.begin(), counted);
  const auto newest = ack_points_.upper_bound(committed);
  if (newest != ack_points_.begin()) ingest_.committed(std::prev(newest)->second);
  ack_points_.erase(ack_points_.begin(), newest);
}

// Into the log: when retention begins, and when even that is not enough.
void IngestStage::tell_retention() {
  const store::KeeperReport report = keeper_.report();
  if (retained_ == 0 && report.times != 0)
    log::info(options_.archive + ": " + retention_cause(report, options_) + "; what is old goes from now on");
  if (report.full != told_full_) {
    if (report.full)
      log::error(options_.archive +
                 ": nothing more may go, and its bound is reached: raw events are not archived");
    else
      log::info(options_.archive + ": raw events are archived again");
  }
  retained_ = report.times;
  told_full_ = report.full;
}

}  // namespace margay::app
