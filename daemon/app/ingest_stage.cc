#include "ingest_stage.h"

#include <pthread.h>

#include <algorithm>

namespace margay::app {
namespace {

constexpr std::chrono::milliseconds kPoll(5);
constexpr int kMessagesARound = 256;
constexpr DurationNs kLongestRound = milliseconds(50);  // of receiving; then slices are closed and cuts made
constexpr std::size_t kMostPendingColumns = 4096;
constexpr std::size_t kMostPendingAlerts = 4096;
constexpr DurationNs kStandingPeriod = milliseconds(100);
constexpr DurationNs kLastCutPatience = seconds(10);
// After an absence (a restart, a stop) sources get this long to send what they kept meanwhile.
constexpr DurationNs kCatchUp = seconds(10);
constexpr DurationNs kAbsence = milliseconds(250);
// Slices closed in one go: what the queue to the analysis surely takes.
constexpr std::int64_t kMostClosed = 128;
// Columns held while the analysis is behind; beyond them it misses slices.
constexpr std::size_t kMostHeld = 2048;

ingest::Options ingest_options(const Options& o, const store::RunMeta& run, const Clock& clock) {
  ingest::Options i;
  i.run = o.run;
  i.boot_id = run.boot_id;
  i.clock_offset = run.wall_offset;
  i.lateness = o.lateness;
  i.silence_hold = o.levels[0] * o.silence_hold_slices;
  i.silent_after = o.silent_after;
  i.lost_after = o.lost_after;
  // Another one after each restart: the wall clock serves, and 0 is nobody.
  i.instance = static_cast<std::uint64_t>(clock.realtime().value) | 1u;
  i.limits = o.limits;
  return i;
}

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

Result<std::unique_ptr<IngestStage>> IngestStage::make(const Options& options, zmq::context_t& context,
                                                       store::Archive& archive, const store::Resume& resume,
                                                       Exchange& exchange, const Clock& clock) {
  auto socket =
      transport::Socket::bind(context, zmq::socket_type::router, options.directory.ingest_endpoint());
  if (!socket) return tl::unexpected(socket.error());
  auto levels = slicer::Levels::make(options.levels, options.amendable_slices);
  if (!levels) return tl::unexpected(levels.error());
  std::unique_ptr<IngestStage> stage(
      new IngestStage(options, std::move(*socket), archive, exchange, clock, std::move(*levels), resume.run));
  if (auto ok = stage->restore(resume); !ok) return fail(ok.error(), archive.path());
  return stage;
}

IngestStage::IngestStage(const Options& options, transport::Socket socket, store::Archive& archive,
                         Exchange& exchange, const Clock& clock, slicer::Levels levels,
                         const store::RunMeta& run)
    : options_(options),
      exchange_(exchange),
      clock_(clock),
      archive_(archive),
      run_(run),
      socket_(std::move(socket)),
      slicer_({options.levels[0], options.amendable_slices, 64}),
      levels_(std::move(levels)),
      ingest_(ingest_options(options, run, clock), slicer_, states_) {
  store::CommitQueueOptions queue;
  queue.sync = options.sync;
  commits_ = std::make_unique<store::CommitQueue>(
      [this](const store::Cut& cut, bool sync) { return archive_.commit(cut, sync); }, queue);
  if (options.raw_events) ingest_.keep_raw(options.raw_backlog_bytes);
  if (!options.capture.empty()) capture_.open(options.capture, std::ios::binary | std::ios::app);
}

IngestStage::~IngestStage() {
  join();
}

Status IngestStage::restore(const store::Resume& resume) {
  states_ = resume.states;
  states_committed_ = states_.size();
  cut_ = acked_cut_ = resume.sequence;
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
  for (const auto& r : resume.leaf_states)
    if (r.leaf.value < leaf_states.size()) leaf_states[r.leaf.value] = from_record(r);
  if (auto ok = slicer_.restore(std::move(*columns), next_open, std::move(leaf_states)); !ok) return ok;
  slicer_.start(run_.begin);  // if the archive holds leaves, but no slice yet

  // Coarser levels are merged anew from the closed slices of as long as the coarsest lasts.
  const std::int64_t back =
      options_.levels.back().value / options_.levels[0].value + options_.amendable_slices;
  std::vector<model::SliceColumn> ignored;
  auto scanned =
      archive_.scan_columns(LevelIndex(0), next_open - back, next_open - 1, [&](model::SliceColumn&& c) {
        levels_.update(c, ignored);
        ignored.clear();
        return true;
      });
  if (!scanned) return scanned;

  std::vector<ingest::Source> sources;
  for (const auto& r : resume.sources) {
    ingest::Source s;
    s.id = r.source;
    s.epoch = r.epoch;
    s.attributes = r.attributes;
    s.states = r.names;
    s.names.resize(r.names.size());
    s.ends_leaf.resize(r.names.size());
    for (std::size_t i = 0; i < r.names.size(); ++i)
      if (r.names[i].value < states_.size()) {
        s.names[i] = states_[r.names[i]].name;
        s.ends_leaf[i] = s.names[i] == "MPI_Finalize";
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
  for (const auto& l : resume.leaves) {
    leaves.push_back(l.attributes);
    owner.emplace_back(l.source, l.stream);
  }
  for (const auto& r : resume.streams) {
    const auto s =
        std::find_if(sources.begin(), sources.end(), [&](const auto& x) { return x.id == r.source; });
    if (s == sources.end()) continue;
    ingest::Stream& stream = s->streams[r.stream];
    stream.epoch = r.epoch;
    stream.began = true;
    stream.account = to_account(r);
    for (std::uint32_t i = 0; i < owner.size(); ++i)
      if (owner[i] == std::pair(r.source, r.stream)) stream.leaf = LeafIndex(i);
    stream.covered = slicer_.leaf_state(stream.leaf).position;
  }
  std::vector<ingest::Account> former(leaves.size());
  for (const auto& r : resume.former) former[r.stream] = to_account(r);
  ingest_.restore(std::move(sources), std::move(leaves), std::move(owner), std::move(former));
  topology_committed_ = ingest_.topology_version();
  return {};
}

void IngestStage::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "margay-ingest");
    run();
  });
}
void IngestStage::join() {
  if (thread_.joinable()) thread_.join();
}

void IngestStage::run() {
  transport::Socket* const sockets[] = {&socket_};
  TimeNs before = clock_.monotonic();
  if (!ingest_.sources().empty()) ingest_.catch_up(before + kCatchUp);
  while (!exchange_.stop) {
    if (transport::wait_readable(sockets, kPoll)) receive();
    const TimeNs now = clock_.monotonic();
    if (now - before > kAbsence) ingest_.catch_up(now + std::min(kCatchUp, now - before));
    before = now;
    ingest_.tick(now);
    while (auto f = exchange_.findings.try_pop()) {
      for (auto& a : f->alerts)
        if (pending_alerts_.size() < kMostPendingAlerts)
          pending_alerts_.push_back(std::move(a));
        else
          ++alerts_lost_;
      for (const auto& p : f->phases) pending_phases_[p.index] = p;
      if (f->report) pending_report_ = std::move(f->report);
      if (f->final) last_cut_submitted_ = false, last_deadline_ = now + kLastCutPatience, commit(true);
    }
    if (!said_final_) close_slices(ingest_.watermark(now));
    if (now >= next_commit_ && last_deadline_ == TimeNs()) {
      next_commit_ = now + options_.commit_period;
      commit(false);
    }
    poll_commits();
    send_replies();
    if (finishing()) return;
  }
  commit(false);
  static_cast<void>(commits_->stop(seconds(5)));
  poll_commits();
  send_replies();
}

void IngestStage::receive() {
  const TimeNs begin = clock_.monotonic();
  for (int i = 0; i < kMessagesARound && clock_.monotonic() - begin < kLongestRound; ++i) {
    auto frame = socket_.try_receive();
    if (!frame) return;
    if (capture_) {
      // [u64 time of arrival][u32 routing id][u32 message] and the two, little-endian, one after the other.
      const std::int64_t at = clock_.monotonic().value;
      const auto from = static_cast<std::uint32_t>(frame->from.size()),
                 body = static_cast<std::uint32_t>(frame->body.size());
      capture_.write(reinterpret_cast<const char*>(&at), sizeof at);
      capture_.write(reinterpret_cast<const char*>(&from), sizeof from);
      capture_.write(reinterpret_cast<const char*>(&body), sizeof body);
      capture_ << frame->from << frame->body;
    }
    ingest_.receive(frame->body, frame->from, clock_.monotonic());
  }
}

void IngestStage::close_slices(TimeNs watermark) {
  slicer_.set_region(ingest_.region());
  // A slow analysis holds the closing of slices up, not the taking of events: what is amendable is the
  // reserve.
  const bool behind = exchange_.slices.room() < 2 * kMostClosed;
  if (behind && slicer_.held() < kMostHeld) return;
  watermark = std::min(watermark, slice_begin(slicer_.next_open() + kMostClosed, options_.levels[0]));
  const auto closed = slicer_.close_through(watermark);
  for (const model::SliceColumn* c : closed) keep(*c);
  if (behind) {
    slices_unseen_ += closed.size();  // archived, but the analysis is too slow for this job: it sees a hole
  } else {
    for (const model::SliceColumn* c : closed)
      publish(std::make_shared<model::SliceColumn>(*c), false, watermark);
  }
  for (const SliceIndex s : slicer_.take_amended())
    if (const auto* c = slicer_.column(s)) {
      keep(*c);
      if (exchange_.slices.room() > 64)
        publish(std::make_shared<model::SliceColumn>(*c), true, watermark);
      else
        ++amendments_unseen_;
    }
}

// Coarser levels that closed or changed by this slice go into the next cut.
void IngestStage::keep(const model::SliceColumn& column) {
  std::vector<model::SliceColumn> coarse;
  levels_.update(column, coarse);
  for (auto& c : coarse)
    pending_columns_[{c.level.value, c.index.value}] = std::make_shared<model::SliceColumn>(std::move(c));
}

void IngestStage::publish(std::shared_ptr<const model::SliceColumn> column, bool amended, TimeNs watermark) {
  ClosedSlice message;
  message.column = std::move(column);
  message.amended = amended;
  message.watermark = watermark;
  if (topology_published_ != ingest_.topology_version() || states_published_ != states_.size()) {
    topology_published_ = ingest_.topology_version();
    states_published_ = states_.size();
    auto topology = std::make_shared<detect::Topology>();
    topology->version = topology_published_;
    topology->hierarchy = model::Hierarchy(ingest_.leaves(), model::Hierarchy::default_view());
    topology->states = states_.states();
    message.topology = std::move(topology);
  }
  const TimeNs now = clock_.monotonic();
  if (now >= next_standing_) {
    next_standing_ = now + kStandingPeriod;
    message.standing = standing();
  }
  static_cast<void>(exchange_.slices.try_push(std::move(message)));
}

std::shared_ptr<const Standing> IngestStage::standing() const {
  auto s = std::make_shared<Standing>();
  const TimeNs now = clock_.monotonic();
  s->accounts = ingest_.accounts();
  s->conditions.assign(ingest_.leaves().size(), ingest::to_string(ingest::Condition::kEnded));
  for (const auto& [id, source] : ingest_.sources()) {
    const auto condition = source.condition(now, options_.silent_after, options_.lost_after);
    ++(condition == ingest::Condition::kEnded ? s->ended : s->live);
    for (const auto& [index, stream] : source.streams) {
      const auto& owner = ingest_.leaf_owner()[stream.leaf.value];
      if (owner.first == id) s->conditions[stream.leaf.value] = ingest::to_string(condition);
    }
  }
  const auto& c = ingest_.counters();
  s->counters = {
      {"messages", c.messages, 0, "messages received from node agents"},
      {"messages_undecodable", c.undecodable + socket_.malformed(), 2,
       "messages that are not of this protocol"},
      {"messages_wrong_version", c.wrong_version, 2,
       "messages of another wire version; their agents were told"},
      {"messages_wrong_run", c.wrong_run, 1, "messages of another run; their agents were told"},
      {"batches_undecodable", c.bad_batches, 2,
       "batches whose columns do not decode; their records are rejected"},
      {"records_repeated", c.repeats, 0, "records sent again that were known already"},
      {"gaps_pending", c.gaps_pending, 0, "batches put off until what is missing before them is sent again"},
      {"gaps_given_up", c.gaps_given_up, 2, "holes that will not be filled; their records are wire_lost"},
      {"sources_unknown", c.unknown_source, 0,
       "batches of sources that had not said hello; they were asked to"},
      {"refused_by_limit", c.refused_by_limit, 2,
       "messages, sources, threads or states over a limit of the configuration"},
      {"sources_forgotten", c.sources_forgotten, 0,
       "sources that have ended and made room; their counters stay with their resources"},
      {"ghosts_forgotten", c.ghosts_forgotten, 1,
       "sources that said hello, never sent anything and made room"},
      {"agents_forgotten", c.agents_forgotten, 0, "agents not heard of for a minute, or crowded out"},
      {"sources_silenced", c.sources_silenced, 1, "times that nothing was heard of a source for a second"},
      {"sources_returned", c.sources_returned, 0, "times that a silent source was heard again"},
      {"clock_waits", c.clock_waits, 0, "batches put off until the clock of their machine is known"},
      {"clock_steps", c.clock_steps, 1, "jumps of another machine's clock; what lies before keeps its time"},
      {"clock_refused", c.clock_refused, 1,
       "answers of a clock that nobody had asked for, or that cannot be"},
      {"events_amending", c.amended_events, 0, "late events that changed a slice already closed"},
      {"clock_backwards", c.clock_backwards, 1, "events whose time ran backwards; taken at the time before"},
      {"states_unbalanced", c.unbalanced, 1, "leaves of a state that was not open"},
      {"raw_not_archived", raw_lost_ + ingest_.raw_dropped(), 1,
       "events modelled, but not archived one by one"},
      {"alerts_not_archived", alerts_lost_, 2, "alerts that the disk was away for too long to keep"},
      {"columns_not_archived", columns_lost_, 2, "slices that the disk was away for too long to keep"},
      {"slices_unseen", slices_unseen_, 2,
       "slices that are archived, but that the analysis was too slow to look at"},
      {"amendments_unseen", amendments_unseen_, 1,
       "late changes of closed slices that are archived, but came too fast "
       "for the analysis"},
      {"commit_errors", commit_errors_, 2,
       commit_error_.empty() ? "failed writes of the archive" : commit_error_},
      {"commits", acked_cut_, 0, "cuts committed to the archive"},
      {"steal_ms", ingest_.steal_ns() / 1'000'000, 0,
       "time the hypervisor took from the host, ms since its boot"},
  };
  return s;
}

// Copies of what has changed, so that they can be written however late the disk is.
void IngestStage::collect_changes() {
  for (const SliceIndex s : slicer_.take_changed())
    if (const auto* c = slicer_.column(s))
      pending_columns_[{std::uint8_t{0}, s.value}] = std::make_shared<model::SliceColumn>(*c);
  while (pending_columns_.size() > kMostPendingColumns) {
    pending_columns_.erase(pending_columns_.begin());
    ++columns_lost_;
  }
  auto forgotten = ingest_.take_forgotten();
  pending_forgotten_.sources.merge(forgotten.sources);
  for (const auto& [leaf, account] : forgotten.former) pending_forgotten_.former[leaf] = account;
  // One that has come back is to be kept.
  std::erase_if(pending_forgotten_.sources,
                [&](const auto& s) { return ingest_.sources().contains(s.first); });
  for (ingest::AcceptedBatch& b : ingest_.take_accepted()) {
    if (pending_raw_bytes_ + b.columns.size() > options_.raw_backlog_bytes) {
      raw_lost_ += b.count;
      continue;
    }
    pending_raw_bytes_ += b.columns.size();
    pending_raw_.push_back({b.leaf, b.first, b.begin, b.end, b.count, std::move(b.columns)});
  }
}

// One consistent cut: cells, open states, counters and how far each stream is, all of the same moment.
void IngestStage::commit(bool last) {
  collect_changes();
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
      cut.leaves.push_back({leaf, source, stream, ingest_.leaves()[i]});
    cut.leaf_states.push_back(to_record(leaf, slicer_.leaf_state(leaf)));
  }
  for (const auto& [id, s] : ingest_.sources()) {
    if (!s.dirty) continue;
    cut.sources.push_back(
        {id, s.epoch, s.attributes, s.states, s.clock_offset, s.clock_error, s.goodbye, s.end});
    for (const auto& [index, stream] : s.streams)
      cut.streams.push_back(to_record(id, index, stream.epoch, stream.account));
  }
  if (slicer_.started()) cut.closed.push_back({LevelIndex(0), slicer_.next_open() - 1});
  for (const auto& [id, streams] : pending_forgotten_.sources) cut.forgotten.push_back({id, streams});
  for (const auto& [leaf, account] : pending_forgotten_.former)
    cut.former.push_back(to_record({}, leaf.value, 0, account));
  cut.raw = pending_raw_;
  cut.alerts = pending_alerts_;
  cut.report = pending_report_;
  for (const auto& [index, phase] : pending_phases_) cut.phases.push_back(phase);
  if (last) {
    if (!run_.end) run_.end = TimeNs(clock_.monotonic().value) + run_.wall_offset;
    run_.exit_code = exit_code_;
    cut.run = run_;
  }
  const std::size_t states = states_.size();
  if (!commits_->try_submit(std::move(cut))) return;  // the disk is busy: a later cut holds all this as well
  ++cut_;
  ack_points_[cut_] = ingest_.ack_point();
  if (last) last_cut_submitted_ = true;
  // The queue keeps a cut until it is written, so what is in it needs no second place.
  states_committed_ = states;
  topology_committed_ = ingest_.topology_version();
  for (auto& [id, s] : ingest_.sources()) s.dirty = false;
  pending_forgotten_ = {};
  pending_columns_.clear();
  pending_alerts_.clear();
  pending_report_.reset();
  pending_phases_.clear();
  pending_raw_.clear();
  pending_raw_bytes_ = 0;
}

void IngestStage::poll_commits() {
  std::vector<store::CommitResult> results;
  commits_->poll_results(results);
  for (const auto& r : results)
    if (r.error) {
      ++commit_errors_;
      commit_error_ = "failed writes of the archive; the last: " + r.error->message;
    }
  const std::uint64_t committed = commits_->last_committed();
  if (committed <= acked_cut_) return;
  acked_cut_ = committed;
  const auto newest = ack_points_.upper_bound(committed);
  if (newest != ack_points_.begin()) ingest_.committed(std::prev(newest)->second);
  ack_points_.erase(ack_points_.begin(), newest);
}

void IngestStage::send_replies() {
  // An acknowledgement that does not get through is made good by the next one.
  for (const auto& [agent, message] : ingest_.take_replies(clock_.monotonic()))
    static_cast<void>(socket_.try_send(message, agent));
}

// The end of a run. True when it is done.
bool IngestStage::finishing() {
  const TimeNs now = clock_.monotonic();
  if (!finish_started_) {
    const std::lock_guard lock(exchange_.mutex);
    if (!exchange_.finish) return false;
    finish_started_ = true;
    exit_code_ = exchange_.finish->exit_code;
    finish_patience_ = exchange_.finish->patience;
    finish_deadline_ = now + finish_patience_;
    last_finish_deadline_ = now + finish_patience_ * 4;
    ingest_.finish();
    return false;
  }
  if (!said_final_) {
    // Nobody waits for a source that does not end; but as long as records come they are taken.
    std::uint64_t taken = 0;
    for (const auto& [id, source] : ingest_.sources())
      for (const auto& [index, stream] : source.streams) taken += stream.account.next;
    if (taken != finish_taken_) finish_deadline_ = std::min(now + finish_patience_, last_finish_deadline_);
    finish_taken_ = taken;
    if (!ingest_.all_ended() && now < finish_deadline_) return false;
    // Close everything up to the last thing that happened.
    TimeNs end = run_.begin;
    for (const auto& [id, source] : ingest_.sources()) {
      if (source.end) end = std::max(end, *source.end);
      for (const auto& [index, stream] : source.streams) {
        const auto& leaf = slicer_.leaf_state(stream.leaf);
        end = std::max(end, source.ended ? leaf.last_event : leaf.position);
      }
    }
    const TimeNs target = slice_end(slice_of(end, options_.levels[0]), options_.levels[0]);
    close_slices(target);
    if (slice_begin(slicer_.next_open(), options_.levels[0]) < target) return false;  // in several goes
    ClosedSlice message;
    message.standing = standing();
    message.watermark = end;
    message.final = true;
    message.end = end;
    said_final_ = exchange_.slices.try_push(std::move(message));
    return false;
  }
  if (last_deadline_ == TimeNs()) return false;  // the analysis has not answered yet
  if (!last_cut_submitted_) commit(true);
  if (last_cut_submitted_ && acked_cut_ >= cut_) {
    send_replies();
    exchange_.finished = true;
    // A goodbye that is repeated now is still answered, until the owner ends this process.
    return false;
  }
  if (now >= last_deadline_) {
    exchange_.archive_failed = true;
    exchange_.finished = true;
  }
  return false;
}

}  // namespace margay::app
