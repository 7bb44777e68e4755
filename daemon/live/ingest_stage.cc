#include "margay/live/ingest_stage.h"

#include <algorithm>
#include <utility>

#include "margay/live/retention_words.h"
#include "margay/log/log.h"
#include "margay/settings/memory_budget.h"
#include "margay/slicer/rounding.h"
#include "run_status.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kLittle = 256 << 10;  // bytes of messages
constexpr int kLittleWaits = 3;             // commit periods
// After an absence (a restart, a stop) sources get this long to send what they kept meanwhile.
constexpr DurationNs kCatchUp = seconds(10);
constexpr DurationNs kAbsence = milliseconds(250);

}  // namespace

Result<std::unique_ptr<IngestStage>> IngestStage::make(const Options& options, store::Archive& archive,
                                                       const store::Resume& resume, const LookBack& back,
                                                       Exchange& exchange, const Clock& clock, Ports ports) {
  auto levels = slicer::Levels::make(options.levels, options.amendable_slices);
  if (!levels) return tl::unexpected(levels.error());
  if (options.compact)
    if (auto ok = slicer::check_compact(options.levels[0]); !ok) return fail(ok.error(), "store.cells");
  auto model = std::make_unique<IngestModel>(options, resume.run, clock, std::move(*levels));
  if (auto ok = model->restore(archive, resume, clock.monotonic()); !ok)
    return fail(ok.error(), archive.path());
  std::unique_ptr<IngestStage> stage(
      new IngestStage(options, archive, resume, exchange, clock, std::move(ports), std::move(model)));
  const auto unchanged = stage->closer_.restore(archive);
  if (!unchanged) return fail(unchanged.error(), archive.path());
  stage->feed_.restore(resume, back, *unchanged);
  return stage;
}

IngestStage::IngestStage(const Options& options, store::Archive& archive, const store::Resume& resume,
                         Exchange& exchange, const Clock& clock, Ports ports,
                         std::unique_ptr<IngestModel> model)
    : options_(options),
      exchange_(exchange),
      clock_(clock),
      ports_(std::move(ports)),
      run_(resume.run),
      model_(std::move(model)),
      durability_(options.sync, this_boot(), resume),
      health_(archive.path(), clock.monotonic()),
      writer_(options, archive, clock),
      cuts_(options, *model_, resume),
      feed_(*model_, exchange, [this](TimeNs now) { return status(now); }),
      closer_(*model_, cuts_, feed_),
      source_log_(options, model_->ingest),
      retention_log_(options) {
  store::CommitQueueOptions queue;
  queue.sync = options.sync;
  queue.stepped = ports_.stepped;
  queue.wake = [&exchange] { exchange.for_ingest.notify(); };
  commits_ = std::make_unique<store::CommitQueue>(
      [this](const store::Cut& cut, bool sync) { return writer_.write(cut, sync); }, queue);
  if (options.raw_events) model_->ingest.keep_raw(fresh_raw_bytes(options));
  if (const auto said = durability_.said()) log::error(archive.path() + ": " + *said);
}

void IngestStage::begin() {
  before_ = clock_.monotonic();
  if (!model_->ingest.sources().empty()) model_->ingest.catch_up(before_ + kCatchUp);
  closer_.away_until(before_ + kCatchUp);
  if (model_->slicer.started()) closer_.former_boot(model_->ingest.end_former_boot());
  // Before any message: what is lost from here on is news to the verdict on this daemon's health.
  feed_.tick(before_);
}

void IngestStage::receive(std::string_view message, const std::string& agent, const std::string& owner,
                          const std::string& address) {
  const TimeNs now = clock_.monotonic();
  received_ += message.size();
  model_->ingest.receive(message, agent, now, owner);
  for (const ingest::Impostor& i : model_->ingest.take_impostors()) source_log_.impostor(i, address, now);
  if (!model_->ingest.trouble().empty()) source_log_.quarantine(message, owner, writer_.quarantine(), now);
}

void IngestStage::step() {
  const TimeNs now = clock_.monotonic();
  look_for_absence(now);
  model_->ingest.tick(now);
  take_findings(now);
  const bool end_is_said = shutdown_.state() >= Shutdown::State::kAnalysis;
  // A run that is over goes no further: a daemon that takes it up says again how it ended.
  if (!end_is_said && !run_.end) {
    const bool hold_back = cuts_.much_waits() && health_.trouble().empty();
    closer_.close(model_->ingest.watermark(now), now,
                  {hold_back, shutdown_.state() != Shutdown::State::kNone});
  }
  if (shutdown_.state() != Shutdown::State::kArchive &&
      ((cuts_.much_waits() && commits_->has_room()) || now - last_commit_ >= between_commits())) {
    last_commit_ = now;
    commit(Last::kNo);
  }
  poll_commits();
  send_replies();
  if (!end_is_said) feed_.tick(now);
  tick_shutdown(now);
}

void IngestStage::end() {
  commit(Last::kOfProcess);
  static_cast<void>(commits_->stop(seconds(5)));
  poll_commits();
  send_replies();
}

void IngestStage::look_for_absence(TimeNs now) {
  const DurationNs away = now - std::exchange(before_, now);
  if (away <= kAbsence) return;
  const TimeNs until = now + std::min(kCatchUp, away);
  model_->ingest.catch_up(until);
  health_.away(away);
  closer_.away_until(until);
}

void IngestStage::take_findings(TimeNs now) {
  while (auto f = exchange_.findings.try_pop()) {
    const bool final = f->final;
    cuts_.put(std::move(*f));
    if (!final) continue;
    shutdown_.analysed(now);
    commit(Last::kOfRun);
  }
}

// A cut has its price however little is in it; but who has said goodbye waits for it to be confirmed.
DurationNs IngestStage::between_commits() const {
  if (model_->ingest.goodbyes_came() && commits_->has_room())
    return DurationNs(options_.commit_period.value / 5);
  const bool little = received_ < kLittle && !cuts_.urgent();
  return options_.commit_period * (little ? kLittleWaits : 1);
}

// One consistent cut: cells, open states, counters and how far each stream is, all of the same moment.
void IngestStage::commit(Last last) {
  closer_.note_amended();
  cuts_.collect_changes(writer_.retention().full());
  if (!commits_->has_room()) return;  // the disk is busy: a later cut holds all this as well
  store::Cut cut = cuts_.make(clock_.realtime());
  feed_.journal().put_into(cut);
  put_run(cut, last);
  if (!commits_->try_submit(std::move(cut))) return cuts_.not_sent(std::move(cut));  // stopped
  cuts_.sent();
  received_ = 0;
  start_counted_ = true;
  if (last == Last::kOfRun) shutdown_.last_cut_sent();
  const slicer::Slicer& slicer = model_->slicer;
  feed_.journal().submitted(slicer.next_open() - static_cast<std::int64_t>(slicer.held()));
}

void IngestStage::put_run(store::Cut& cut, Last last) {
  if (!start_counted_) {
    cut.state.push_back({kStartsBlob, std::to_string(options_.restarts + 1)});  // this one among them
    if (auto note = durability_.first()) cut.state.push_back(std::move(*note));
  }
  if (last != Last::kNo)
    if (auto note = durability_.last()) {
      std::erase_if(cut.state, [](const store::Blob& b) { return b.name == Durability::kBlob; });
      cut.state.push_back(std::move(*note));
    }
  if (last == Last::kOfRun) {
    if (!run_.end) run_.end = TimeNs(clock_.monotonic().value) + run_.wall_offset;
    run_.exit_code = shutdown_.exit_code();
  }
  // The first of each daemon tells of the boot and the settings that it runs with.
  if (last == Last::kOfRun || !start_counted_) cut.run = run_;
}

void IngestStage::poll_commits() {
  std::vector<store::CommitResult> results;
  commits_->poll_results(results);
  const TimeNs now = clock_.monotonic(), wall = now + run_.wall_offset;
  for (const auto& r : results) health_.take(r, now, wall);
  retention_log_.look(writer_.retention().report());
  const std::uint64_t committed = commits_->last_committed();
  health_.look(cuts_.last_sent() - std::min(cuts_.last_sent(), committed), now, wall);
  const auto confirmed = cuts_.committed(committed);
  if (!confirmed) return;
  if (confirmed->handling) {
    exchange_.handling_archived = *confirmed->handling;
    exchange_.for_analysis.notify();
  }
  if (confirmed->unwatched) model_->ingest.unwatched_committed(*confirmed->unwatched);
  if (confirmed->acks) model_->ingest.committed(*confirmed->acks);
}

void IngestStage::send_replies() {
  for (const auto& [agent, message] : model_->ingest.take_replies(clock_.monotonic()))
    if (!agent.empty())  // else of a source known from the archive, whose agent has not spoken yet
      ports_.send(agent, message);
}

void IngestStage::tick_shutdown(TimeNs now) {
  switch (shutdown_.state()) {
    case Shutdown::State::kNone: {
      const std::lock_guard lock(exchange_.mutex);
      if (!exchange_.finish) return;
      shutdown_.begin(*exchange_.finish, now);
      model_->ingest.finish();
      return;
    }
    case Shutdown::State::kSources:
      return close_all(now);
    case Shutdown::State::kAnalysis:
      return;  // it has not answered yet
    case Shutdown::State::kArchive:
      return close_archive(now);
  }
}

// Everything up to the last thing that happened, in several goes.
void IngestStage::close_all(TimeNs now) {
  std::uint64_t taken = 0;
  for (const auto& [id, source] : model_->ingest.sources())
    for (const auto& [index, stream] : source.streams) taken += stream.account.next;
  if (!shutdown_.sources_done(model_->ingest.all_ended(), taken, now)) return;
  TimeNs end = run_.begin;
  for (const auto& [id, source] : model_->ingest.sources()) {
    if (source.end) end = std::max(end, *source.end);
    for (const auto& [index, stream] : source.streams) {
      const auto& leaf = model_->slicer.leaf_state(stream.leaf);
      end = std::max(end, source.ended ? leaf.last_event : std::max(leaf.position, stream.covered));
    }
  }
  const DurationNs slice = model_->slice();
  const TimeNs target = slice_end(slice_of(end, slice), slice);
  closer_.close(target, now, {cuts_.much_waits() && health_.trouble().empty(), true});
  closer_.show_amended(target, now, true);
  if (slice_begin(model_->slicer.next_open(), slice) < target) return;
  if (feed_.show_end(end, now)) shutdown_.said_end();
}

void IngestStage::close_archive(TimeNs now) {
  if (!shutdown_.last_cut_is_sent()) commit(Last::kOfRun);
  if (shutdown_.last_cut_is_sent() && cuts_.last_committed() >= cuts_.last_sent()) {
    send_replies();
    // A goodbye that is repeated now is still answered, until the owner ends this process.
    return tell_finished();
  }
  if (!shutdown_.given_up(now)) return;
  if (!exchange_.archive_failed) {
    const std::lock_guard lock(exchange_.mutex);
    exchange_.archive_error = health_.trouble();
  }
  exchange_.archive_failed = true;
  tell_finished();
}

void IngestStage::tell_finished() {
  if (!exchange_.finished.exchange(true)) exchange_.for_analysis.notify();
}

std::shared_ptr<const RunStatus> IngestStage::status(TimeNs now) {
  using observe::Id;
  auto s = std::make_shared<RunStatus>();
  observe::Values& v = s->values;
  set_sources(*model_, now, *s);
  set_messages(model_->ingest, v);
  cuts_.set(v);
  feed_.set(v);
  v.set(Id::acknowledged_unsynced, options_.sync ? 0 : 1);
  v.set(Id::power_losses, durability_.losses());
  v.set(Id::slices_held, model_->slicer.held());
  const store::RetentionReport kept = writer_.retention().report();
  s->retention = retention_sentence(kept, options_);
  v.set(Id::raw_retired_bytes, kept.raw_bytes_dropped);
  v.set(Id::reports_retired_bytes, kept.reports_bytes_dropped);
  v.set(Id::slices_retired, kept.slices_dropped);
  v.set(Id::retention_full, kept.full ? 1 : 0);
  s->archive_trouble = health_.trouble();
  s->archive_trouble_since = health_.trouble_since();
  health_.set(now, v);
  writer_.disk().set(v);
  ports_.set(v);
  source_log_.tick(now);
  return s;
}

}  // namespace margay::daemon
