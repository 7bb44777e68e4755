#include "margay/live/ingest_stage.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "margay/live/absence_words.h"
#include "margay/live/retention_words.h"
#include "margay/log/log.h"
#include "margay/slicer/rounding.h"

namespace margay::app {
namespace {

// Where nothing comes: for what is a matter of time only.
constexpr std::chrono::milliseconds kPoll(20);
// An agent's batches come one behind the other, one for each of its processes: they are taken together.
constexpr std::chrono::milliseconds kGather(2);
constexpr int kMessagesARound = 256;
constexpr DurationNs kLongestRound =
    milliseconds(25);  // of receiving from a socket; then slices are closed and cuts made
constexpr char kHere = 'h', kRemote = 'r';
constexpr std::size_t kNearlyIdle = 512 - 4;  // room in the queue to the analysis, which takes 512
constexpr DurationNs kAmendedPeriod = milliseconds(100);
constexpr std::size_t kLittle = 256 << 10;  // bytes of messages
constexpr int kLittleWaits = 3;             // commit periods
constexpr std::size_t kMostPendingAlerts = 4096;
constexpr std::size_t kMostPendingSignatures = 64;  // of up to 1 MiB
constexpr DurationNs kStandingPeriod = milliseconds(100);
// How things stand is told at least so often, also when no slice closes.
constexpr DurationNs kStandingAlone = milliseconds(900);
constexpr DurationNs kLastCutPatience = seconds(10);
// After an absence (a restart, a stop) sources get this long to send what they kept meanwhile.
constexpr DurationNs kCatchUp = seconds(10);
constexpr DurationNs kAbsence = milliseconds(250);
// Slices closed in one go: what the queue to the analysis surely takes.
constexpr std::int64_t kMostClosed = 128;
// Columns held while the analysis is behind; beyond them it misses slices.
constexpr std::size_t kMostHeld = 2048;
constexpr int kMostStandings = 4;
// Of what a cut may hold: the rest is for closed slices (kMostPendingColumnBytes).
constexpr std::uint64_t kMostAheadBytes = std::uint64_t{96} << 20;
// Time of which nothing came from anybody is a gap if it is longer than this and than what can be amended.
constexpr DurationNs kLeastGap = seconds(10);
// If somebody promises that nothing happened it is drawn from the promise, up to so many slices.
constexpr std::int64_t kLongestDrawn = 4096;

// Open slices have what those that can be amended leave of the cells' memory.
std::uint64_t ahead_bytes(const Options& o) {
  constexpr std::uint64_t kShare = 4;
  return std::clamp<std::uint64_t>(o.limits.cell_bytes / kShare, 1, kMostAheadBytes);
}

ingest::Options ingest_options(const Options& o, const store::RunMeta& run, const Clock& clock) {
  ingest::Options i;
  i.run = o.run;
  i.boot_id = run.boot_id;
  i.former_boot_id = o.former_boot_id;
  i.clock_offset = run.wall_offset;
  i.lateness = o.lateness;
  i.silence_hold = o.levels[0] * o.silence_hold_slices;
  i.silent_after = o.silent_after;
  i.lost_after = o.lost_after;
  // Another one after each restart: the wall clock serves, and 0 is nobody.
  i.instance = static_cast<std::uint64_t>(clock.realtime().value) | 1u;
  i.limits = o.limits;
  i.slice = o.record_budget > 0 ? o.levels[0] : DurationNs(0);
  i.record_budget = o.record_budget;
  i.op = o.op;
  i.fault = o.fault_in_batch;
  return i;
}

}  // namespace

Result<std::unique_ptr<IngestStage>> IngestStage::make(const Options& options, zmq::context_t& context,
                                                       store::Archive& archive, const store::Resume& resume,
                                                       const LookBack& back, Exchange& exchange,
                                                       const Clock& clock,
                                                       std::optional<transport::GuardedSocket> remote) {
  auto socket = transport::LimitedSocket::bind(context, zmq::socket_type::router,
                                               options.directory.ingest_endpoint(), kMostAgents, kRecords);
  if (!socket) return tl::unexpected(socket.error());
  auto levels = slicer::Levels::make(options.levels, options.amendable_slices);
  if (!levels) return tl::unexpected(levels.error());
  if (options.compact)
    if (auto ok = slicer::check_compact(options.levels[0]); !ok) return fail(ok.error(), "store.cells");
  std::unique_ptr<IngestStage> stage(
      new IngestStage(options, std::move(*socket), archive, exchange, clock, std::move(*levels), resume));
  if (remote) stage->remote_.emplace(std::move(*remote));
  if (auto ok = stage->restore(resume); !ok) return fail(ok.error(), archive.path());
  if (auto ok = stage->restore_journal(resume, back); !ok) return fail(ok.error(), archive.path());
  return stage;
}

IngestStage::IngestStage(const Options& options, transport::LimitedSocket socket, store::Archive& archive,
                         Exchange& exchange, const Clock& clock, slicer::Levels levels,
                         const store::Resume& resume)
    : options_(options),
      exchange_(exchange),
      clock_(clock),
      archive_(archive),
      run_(resume.run),
      socket_(std::move(socket)),
      slicer_({options.levels[0], options.amendable_slices, 64, options.op, ahead_bytes(options)}),
      levels_(std::move(levels)),
      ingest_(ingest_options(options, resume.run, clock), slicer_, states_),
      quarantine_(archive.path()),
      disk_(archive.path()),
      archive_health_(archive.path(), clock.monotonic()),
      durability_(options.sync, this_boot(), resume),
      keeper_(archive, keeper_options(options), clock),
      joiner_(archive, store::Joiner::amendable(options.levels, options.amendable_slices)) {
  store::CommitQueueOptions queue;
  queue.sync = options.sync;
  queue.wake = [&exchange] { exchange.for_ingest.ring(); };
  commits_ = std::make_unique<store::CommitQueue>(
      [this](const store::Cut& cut, bool sync) {
        // What says how much is on the disk is itself there first.
        const auto notes = [](const store::Blob& b) { return b.name == Durability::kBlob; };
        const Status status =
            archive_.commit(cut, sync || std::any_of(cut.state.begin(), cut.state.end(), notes));
        if (status) keeper_.after_commit(cut);
        // What cannot be joined stays as it is: an error here is met by the next commit, and told there.
        if (status) static_cast<void>(joiner_.after_commit(cut));
        quarantine_.write();
        disk_.refresh(clock_.monotonic(), [this] {
          const auto use = archive_.disk_use();
          return use ? use->archive : std::uint64_t{0};
        });
        return status;
      },
      queue);
  if (options.raw_events) ingest_.keep_raw(fresh_raw_bytes(options));
  if (const auto said = durability_.said()) log::error(archive.path() + ": " + *said);
  if (!options.capture.empty()) capture_.open(options.capture, std::ios::binary | std::ios::app);
}

IngestStage::~IngestStage() {
  join();
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
  std::vector<transport::Socket*> sockets = {&socket_.socket()};
  if (remote_) sockets.push_back(&remote_->socket());
  TimeNs before = clock_.monotonic();
  bool more_waits = false;
  if (!ingest_.sources().empty()) ingest_.catch_up(before + kCatchUp);
  no_gap_before_ = before + kCatchUp;
  if (slicer_.started()) former_boot_ = ingest_.end_former_boot();
  while (!exchange_.stop) {
    ++exchange_.beats.ingest;
    if (transport::wait_readable(sockets, kPoll, &exchange_.for_ingest)) {
      if (!more_waits) std::this_thread::sleep_for(kGather);
      more_waits = receive();
    }
    socket_.keep_up();
    if (remote_) remote_->keep_up();
    const TimeNs now = clock_.monotonic();
    if (now - before > kAbsence) {
      ingest_.catch_up(now + std::min(kCatchUp, now - before));
      archive_health_.away(now - before);
      no_gap_before_ = std::max(no_gap_before_, now + std::min(kCatchUp, now - before));
    }
    before = now;
    ingest_.tick(now);
    while (auto f = exchange_.findings.try_pop()) {
      for (auto& a : f->alerts)
        if (const std::size_t bytes = a.id.size() + a.json.size();
            pending_alerts_.size() < kMostPendingAlerts &&
            pending_alert_bytes_ + bytes <= kPendingAlertBytes) {
          pending_alert_bytes_ += bytes;
          pending_alerts_.push_back(std::move(a));
        } else {
          ++alerts_lost_;
        }
      for (const auto& [level, end] : f->phases_end) {
        std::erase_if(pending_phases_,
                      [&](const auto& p) { return p.first.first == level && p.first.second >= end; });
        const auto known = pending_phases_end_.emplace(level, end).first;
        known->second = std::min(known->second, end);
      }
      for (const auto& p : f->phases) pending_phases_[{p.level, p.index}] = p;
      for (auto& s : f->signatures)
        if (pending_signatures_.size() < kMostPendingSignatures &&
            pending_signature_bytes_ + s.bytes.size() <= kPendingSignatureBytes) {
          pending_signature_bytes_ += s.bytes.size();
          pending_signatures_.push_back(std::move(s));
        }
      if (f->report) pending_report_ = std::move(f->report);
      if (f->handling) pending_handling_ = std::move(f->handling);
      if (f->final) last_cut_submitted_ = false, last_deadline_ = now + kLastCutPatience, commit(true);
    }
    if (!said_final_) close_slices(ingest_.watermark(now));
    if (last_deadline_ == TimeNs() &&
        ((much_waits() && commits_->has_room()) || now - last_commit_ >= between_commits())) {
      last_commit_ = now;
      commit(false);
    }
    poll_commits();
    send_replies();
    if (!said_final_ && now >= next_standing_ + kStandingAlone && exchange_.standings < kMostStandings)
      publish({}, false, TimeNs());
    if (finishing()) return;
  }
  commit(false, true);
  static_cast<void>(commits_->stop(seconds(5)));
  poll_commits();
  send_replies();
}

// True if not everything was taken.
bool IngestStage::receive() {
  // Each socket has its own share of a round: a flood on one leaves the other its turn.
  const auto take_some = [&](auto& socket, char where) {
    const TimeNs begin = clock_.monotonic();
    for (int i = 0; i < kMessagesARound && clock_.monotonic() - begin < kLongestRound; ++i) {
      const auto frame = socket.try_receive();
      if (!frame) return false;
      take(*frame, where);
    }
    return true;
  };
  const bool more_here = take_some(socket_, kHere);
  return (remote_ && take_some(*remote_, kRemote)) || more_here;
}

// Each socket has its own routing ids: the way a message came is the first letter of its sender's.
void IngestStage::take(const transport::Socket::Frame& frame, char way) {
  const TimeNs now = clock_.monotonic();
  if (capture_) {
    // [u64 time of arrival][u32 routing id][u32 message] and the two, little-endian, one after the other.
    const std::int64_t at = now.value;
    const auto from = static_cast<std::uint32_t>(frame.from.size()),
               body = static_cast<std::uint32_t>(frame.body.size());
    capture_.write(reinterpret_cast<const char*>(&at), sizeof at);
    capture_.write(reinterpret_cast<const char*>(&from), sizeof from);
    capture_.write(reinterpret_cast<const char*>(&body), sizeof body);
    capture_ << frame.from << frame.body;
  }
  received_ += frame.body.size();
  // Who enters the run's directory is its user; from the network it is whose key it is.
  std::string owner = ingest::kLocalOwner;
  if (way == kRemote) {
    const std::string name = remote_->authenticator().name_of(frame.user);
    if (name.empty()) return remote_->authenticator().count_unauthorised();  // revoked this moment
    owner = ingest::owner_of_key(name);
  }
  ingest_.receive(frame.body, way + frame.from, now, owner);
  for (const ingest::Impostor& i : ingest_.take_impostors()) say_impostor(i, frame.address);
  if (!ingest_.trouble().empty()) put_in_quarantine(frame, owner, now);
}

// A cut has its price however little is in it; but who has said goodbye waits for it to be confirmed.
DurationNs IngestStage::between_commits() const {
  if (ingest_.goodbyes_came() && commits_->has_room()) return DurationNs(options_.commit_period.value / 5);
  const bool little = received_ < kLittle && pending_alerts_.empty() && !pending_handling_;
  return options_.commit_period * (little ? kLittleWaits : 1);
}

// What limits.cells has for the slicer.
std::size_t IngestStage::most_held() const {
  const ingest::Limits& l = options_.limits;
  const std::uint64_t column =
      std::max<std::uint64_t>(1, l.column_bytes(ingest_.leaves().size(), states_.size()));
  return std::clamp<std::size_t>(l.cell_bytes / l.held_slices * ingest::Limits::kHeldSlices / column,
                                 ingest::Limits::kHeldSlices, kMostHeld);
}

void IngestStage::close_slices(TimeNs watermark) {
  slicer_.set_region(ingest_.region());
  // A slow analysis holds the closing of slices up, not the taking of events: what is amendable is the
  // reserve.
  const bool behind = exchange_.slices.room() < 2 * kMostClosed;
  const std::int64_t waiting = slice_of(watermark, options_.levels[0]).value - slicer_.next_open().value;
  if (behind && waiting < static_cast<std::int64_t>(most_held())) {
    take_amended(watermark, false);  // or a cut would hold a slice, and not the coarser ones above it
    return;
  }
  // Nor do they close faster than the disk takes them, where there is much to catch up with.
  if (waiting > kMostClosed && much_waits() && archive_health_.trouble().empty()) {
    take_amended(watermark, false);
    return;
  }
  if (const auto from = gap_from(watermark)) {
    if (*from == slicer_.next_open()) {
      if (finish_started_ || clock_.monotonic() >= no_gap_before_)
        take_gap(slice_of(watermark, options_.levels[0]));
      take_amended(watermark, false);
      return;
    }
    watermark = slice_begin(*from, options_.levels[0]);  // first what there is before it
  } else if (!former_boot_.empty() && clock_.monotonic() >= no_gap_before_) {
    former_boot_.clear();  // it was started anew so quickly that there is none
  }
  watermark = std::min(watermark, slice_begin(slicer_.next_open() + kMostClosed, options_.levels[0]));
  ingest_.fill_promises(watermark);
  note_amended();  // before any leaves: the coarser slices are merged of what is held
  const auto closed = slicer_.close_through(watermark);
  // More may close, and leave, between two cuts than the slicer holds.
  for (const model::SliceColumn& c : slicer_.left()) put_pending(closed_copy(c));
  // As they leave the slicer they are rounded, if at all: levels, analysis and archive hold the same.
  std::vector<std::shared_ptr<const model::SliceColumn>> leaving;
  for (const model::SliceColumn* c : closed) leaving.push_back(closed_copy(*c));
  for (const auto& c : leaving) keep(*c);
  if (behind) {
    slices_unseen_ += closed.size();  // archived, but the analysis is too slow for this job: it sees a hole
  } else {
    for (auto& c : leaving) publish(std::move(c), false, watermark);
  }
  take_amended(watermark, false);
}

// Of slices from here on nothing has come, and up to the watermark nothing will. Where there are many of them
// this process was not there to watch: they are one record, and none is made. Not if somebody has watched:
// what agents kept comes in its order, and what they promise of a while without events is drawn.
std::optional<SliceIndex> IngestStage::gap_from(TimeNs watermark) const {
  const DurationNs slice = options_.levels[0];
  if (!slicer_.started()) return std::nullopt;
  const SliceIndex next = slice_of(watermark, slice);
  const std::int64_t least = std::max<std::int64_t>(options_.amendable_slices, kLeastGap.value / slice.value);
  if (next.value - slicer_.newest().value <= least) return std::nullopt;
  const SliceIndex from = slicer_.is_blank() ? slicer_.next_open() : slicer_.newest() + 1;
  const std::int64_t length = next.value - from.value;
  if (length <= least) return std::nullopt;
  const bool promised = ingest_.promised() > slice_begin(from + options_.amendable_slices, slice);
  if (promised && length <= std::max(least, kLongestDrawn)) return std::nullopt;
  return from;
}

void IngestStage::take_gap(SliceIndex next) {
  const DurationNs slice = options_.levels[0];
  const TimeNs to = slice_begin(next, slice);
  note_amended();
  slicer::Gap gap = slicer_.skip_to(next, [&](LeafIndex leaf) { return ingest_.is_promised(leaf, to); });
  // When they ended nobody knows.
  for (const LeafIndex leaf : std::exchange(former_boot_, {}))
    if (leaf.value < gap.existed.size()) gap.existed[leaf.value] = true;
  for (const model::SliceColumn& c : slicer_.left()) put_pending(closed_copy(c));
  std::vector<model::SliceColumn> coarse;
  levels_.skip(gap.first, gap.last, gap.existed, coarse);
  for (auto& c : coarse) put_pending(std::make_shared<model::SliceColumn>(std::move(c)));
  const TimeNs from = slice_begin(gap.first, slice);
  ++absences_;
  not_watched_ += to - from;
  last_absence_.emplace(from, to);
  log::warning(absence_sentence(from, to));
  gaps_.push_back(gap.first);
  if (gaps_.size() > store::kMostGaps) {
    pending_gaps_forgotten_.push_back(gaps_.front());
    gaps_.pop_front();
  }
  pending_gaps_.push_back({gap.first, gap.last, std::move(gap.existed)});
}

// Every change goes into the next cut. The analysis is shown each changed slice once a period, as it is by
// then, and only while it has nothing else to do: slices that close are never kept waiting by a flood of late
// events.
void IngestStage::take_amended(TimeNs watermark, bool all) {
  note_amended();
  const TimeNs now = clock_.monotonic();
  if (now < next_amended_ && !all) return;
  const std::size_t room = all ? 64 : kNearlyIdle;
  while (!amended_.empty() && exchange_.slices.room() > room) {
    const auto* c = slicer_.column(*amended_.rbegin());
    amended_.erase(std::prev(amended_.end()));
    if (c != nullptr)
      publish(closed_copy(*c), true, watermark);
    else
      ++amendments_unseen_;
    if (amended_.empty()) next_amended_ = now + kAmendedPeriod;
  }
  // What has left the slicer can be shown no more; the newest are shown first.
  while (!amended_.empty() && slicer_.column(*amended_.begin()) == nullptr) {
    amended_.erase(amended_.begin());
    ++amendments_unseen_;
  }
}

// Coarser levels that closed or changed by this slice go into the next cut.
void IngestStage::keep(const model::SliceColumn& column) {
  std::vector<model::SliceColumn> coarse;
  levels_.update(column, coarse);
  for (auto& c : coarse) put_pending(std::make_shared<model::SliceColumn>(std::move(c)));
}

// A closed slice as everybody but the slicer sees it.
std::shared_ptr<const model::SliceColumn> IngestStage::closed_copy(const model::SliceColumn& column) const {
  auto copy = std::make_shared<model::SliceColumn>(column);
  if (options_.compact) slicer::make_compact(*copy, options_.levels[0]);
  return copy;
}

void IngestStage::publish(std::shared_ptr<const model::SliceColumn> column, bool amended, TimeNs watermark) {
  ClosedSlice message;
  if (column) {
    const std::uint64_t bytes = column->bytes();
    if (*published_bytes_ + bytes > waiting_slices_bytes(options_)) {
      ++(amended ? amendments_unseen_ : slices_unseen_);  // archived, but nobody has room to look at it
      return;
    }
    *published_bytes_ += bytes;
    message.column = {column.get(),
                      [column, bytes, in = published_bytes_](const model::SliceColumn*) { *in -= bytes; }};
  }
  message.amended = amended;
  message.watermark = watermark;
  message.position = journal_.sequence();
  const bool known = topology_published_ == ingest_.topology_version() && states_published_ == states_.size();
  if (!known) {
    ++message.position;
    auto topology = std::make_shared<detect::Topology>();
    topology->version = ingest_.topology_version();
    topology->hierarchy = model::Hierarchy(ingest_.leaves(), model::Hierarchy::default_view());
    topology->states = states_.states();
    message.topology = std::move(topology);
  }
  const TimeNs now = clock_.monotonic();
  // A slow analysis is not sent one after the other, with thousands of sources in each.
  const bool tell = now >= next_standing_ && exchange_.standings < kMostStandings;
  if (tell) {
    next_standing_ = now + kStandingPeriod;
    message.standing = standing();
    ++exchange_.standings;
    say_lost_sources(now);
  }
  if (message.column) ++message.position;
  ClosedSlice sent = message;  // pointers
  if (!exchange_.slices.try_push(std::move(sent))) {
    if (tell) --exchange_.standings;
    return;
  }
  exchange_.for_analysis.ring();
  journal_shown(message);
}

void IngestStage::send_replies() {
  // An acknowledgement that does not get through is made good by the next one.
  for (const auto& [agent, message] : ingest_.take_replies(clock_.monotonic())) {
    if (agent.empty()) continue;  // of a source known from the archive, whose agent has not spoken yet
    transport::Socket& way = agent[0] == kRemote && remote_ ? remote_->socket() : socket_.socket();
    static_cast<void>(transport::send_counted(way, message, agent.substr(1), exchange_.outgoing));
  }
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
        end = std::max(end, source.ended ? leaf.last_event : std::max(leaf.position, stream.covered));
      }
    }
    const TimeNs target = slice_end(slice_of(end, options_.levels[0]), options_.levels[0]);
    close_slices(target);
    take_amended(target, true);
    if (slice_begin(slicer_.next_open(), options_.levels[0]) < target) return false;  // in several goes
    ClosedSlice message;
    message.standing = standing();
    message.watermark = end;
    message.final = true;
    message.end = end;
    message.position = journal_.sequence() + 1;
    ++exchange_.standings;
    ClosedSlice sent = message;
    said_final_ = exchange_.slices.try_push(std::move(sent));
    exchange_.for_analysis.ring();
    if (said_final_)
      journal_shown(message);
    else
      --exchange_.standings;
    return false;
  }
  if (last_deadline_ == TimeNs()) return false;  // the analysis has not answered yet
  if (!last_cut_submitted_) commit(true);
  if (last_cut_submitted_ && acked_cut_ >= cut_) {
    send_replies();
    tell_finished();
    // A goodbye that is repeated now is still answered, until the owner ends this process.
    return false;
  }
  if (now >= last_deadline_) {
    if (!exchange_.archive_failed) {
      const std::lock_guard lock(exchange_.mutex);
      exchange_.archive_error = archive_health_.trouble();
    }
    exchange_.archive_failed = true;
    tell_finished();
  }
  return false;
}

void IngestStage::tell_finished() {
  if (!exchange_.finished.exchange(true)) exchange_.for_analysis.ring();
}

}  // namespace margay::app
