#include "margay/live/analysis_stage.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "margay/analysis/history.h"
#include "margay/analysis/phase_memory.h"
#include "margay/analysis/report_builder.h"
#include "margay/log/log.h"
#include "margay/serve/control.h"
#include "margay/transport/dial.h"
#include "margay/wire/columns.h"

namespace margay::app {
namespace {

// Where nothing comes: for what is a matter of time only.
constexpr std::chrono::milliseconds kPoll(50);
// For questions, each round. Those who only ask to keep it busy are read as quickly as they can send.
constexpr DurationNs kQuestionsARound = milliseconds(10);
constexpr DurationNs kReportPeriod = milliseconds(100);
constexpr DurationNs kReportEarly = milliseconds(50);
// Also when nothing is new: how the daemon stands may be.
constexpr DurationNs kReportAnyway = seconds(1);
constexpr DurationNs kArchivedPeriod = seconds(1);
constexpr DurationNs kOwnerGonePatience = seconds(5);

ViewService::Options view_options(const Options& o, Exchange& exchange) {
  ViewService::Options out;
  out.answered = [&exchange] { exchange.for_analysis.ring(); };
  out.maker.memory_bytes = o.view_memory_bytes;
  out.maker.live = true;
  if (!o.levels.empty()) out.maker.unsettled = o.levels[0] * o.amendable_slices;
  return out;
}

std::uint64_t milliseconds_since(TimeNs then, TimeNs now) {
  return then < now ? static_cast<std::uint64_t>((now - then).value / 1'000'000) : 0;
}

}  // namespace

Result<std::unique_ptr<AnalysisStage>> AnalysisStage::make(const Options& options, zmq::context_t& context,
                                                           const store::Archive& archive,
                                                           const store::Resume& resume, const LookBack& back,
                                                           Exchange& exchange, const Clock& clock,
                                                           RemoteViewers remote) {
  auto reports = transport::LimitedSocket::bind(context, zmq::socket_type::pub,
                                                options.directory.reports_endpoint(), kMostViewers, kReports);
  if (!reports) return tl::unexpected(reports.error());
  auto control =
      transport::LimitedSocket::bind(context, zmq::socket_type::router, options.directory.control_endpoint(),
                                     kMostViewers, transport::kQuestions);
  if (!control) return tl::unexpected(control.error());
  std::unique_ptr<AnalysisStage> stage(new AnalysisStage(options, std::move(*reports), std::move(*control),
                                                         archive, exchange, clock, resume.run));
  stage->reports_port_ = remote.reports_port;
  if (remote.reports) stage->remote_reports_.emplace(std::move(*remote.reports));
  if (remote.control) stage->remote_control_.emplace(std::move(*remote.control));
  if (!options.alerts_file.empty()) {
    auto sink = alert::JsonlSink::open(options.alerts_file);
    if (!sink) return tl::unexpected(sink.error());
    stage->sink_.emplace(std::move(*sink));
  }
  if (options.sinks.any()) {
    auto sinks = sinks::make_sinks(options.sinks, clock);
    if (!sinks) return tl::unexpected(sinks.error());
    sinks::Dispatcher::Options ways;
    ways.log_path = options.archive + "/" + kSentFile;
    ways.time_limit = options.sinks.time_limit;
    ways.retry_for = options.sinks.retry_for;
    ways.wall_offset = resume.run.wall_offset;
    // On lines of their own: each has its share of the log.
    using Weight = sinks::Dispatcher::Weight;
    ways.say = [](Weight weight, const std::string& sentence) {
      if (weight == Weight::kError) log::error(sentence);
      if (weight == Weight::kWarning) log::warning(sentence);
      if (weight == Weight::kInfo) log::info(sentence);
    };
    stage->dispatcher_ = std::make_unique<sinks::Dispatcher>(std::move(*sinks), std::move(ways), clock);
  }
  stage->take_over(archive, resume, back);
  return stage;
}

AnalysisStage::AnalysisStage(const Options& options, transport::LimitedSocket reports,
                             transport::LimitedSocket control, const store::Archive& archive,
                             Exchange& exchange, const Clock& clock, const store::RunMeta& run)
    : options_(options),
      exchange_(exchange),
      clock_(clock),
      run_(run),
      reports_(std::move(reports)),
      control_(std::move(control)),
      archive_(archive),
      analyst_(std::make_unique<Analyst>(options, run.begin)),
      views_(archive, clock, view_options(options, exchange)),
      standing_at_(clock.monotonic()),
      started_(clock.monotonic()),
      started_wall_(clock.realtime()) {
  for (std::size_t i = 0; i < analyst_->levels().count(); ++i) {
    const auto at = std::find(options_.levels.begin(), options_.levels.end(), analyst_->levels().slice(i));
    phases_.emplace_back(LevelIndex(static_cast<std::uint8_t>(at - options_.levels.begin())));
  }
}

AnalysisStage::~AnalysisStage() {
  join();
}

void AnalysisStage::start() {
  views_.start();
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "margay-analyse");
    run();
  });
}
void AnalysisStage::join() {
  if (thread_.joinable()) thread_.join();
}

// What the archive knows already, and where the analysis has to begin.
void AnalysisStage::take_over(const store::Archive& archive, const store::Resume& resume,
                              const LookBack& back) {
  take_handling(resume);
  alerts_before_ = resume.alerts_left;
  recall(archive, resume, back);
}

void AnalysisStage::recall(const store::Archive& archive, const store::Resume& resume, const LookBack& back) {
  analyst_->set_position(back.sequence);
  const TimeNs begin = slice_begin(back.first, options_.levels[0]);
  std::vector<alert::Alert> before;  // from before what is looked back on
  std::map<std::string, alert::Alert> said;
  for (const auto& a : resume.alerts) {
    // One record per alert: its last word.
    const auto last = alert::parse_untrusted(a.json);
    known_alerts_.insert(a.id + '/' + (last ? alert::step(*last) : a.status));
    known_alerts_.insert(a.id + "/firing");
    alert_ids_.insert(a.id);
    if (!last) continue;
    if (last->updates > 0) known_updates_[a.id] = last->updates;
    said[a.id + '/' + alert::step(*last)] = *last;
    if (!back.whole && last->detected < begin) before.push_back(*last);
  }
  std::sort(before.begin(), before.end(), alert::earlier);
  for (alert::Alert& a : before) analyst_->remember(std::move(a));
  for (const store::Blob& b : resume.signatures)
    if (const auto k = from_blob_untrusted(b)) signatures_kept_.insert(k->name);
  if (resume.leaves.empty()) return;
  if (!back.whole) analyst_->restore(phase_memory(resume, back.first));
  past_ = std::make_unique<Past>(Past{archive, resume, back, std::move(said)});
  // Phases from before the slices looked at stay as they are in the archive; numbering goes on behind them.
  std::optional<TimeNs> before_all;
  if (back.first > slice_of(run_.begin, options_.levels[0])) before_all = begin;
  for (PhaseRecords& p : phases_)
    for (const auto* archived : {&resume.phases, &resume.coarser_phases}) p.take_over(*archived, before_all);
}

// Detection is a function of what it was shown: shown again, it comes to where it was. What it raised then
// stands in the archive and is not raised again. Events are taken meanwhile (margay-ingest); the slices they
// close wait in the queue.
void AnalysisStage::look_back() {
  if (!past_) return;
  History history(past_->archive, past_->resume);
  History::Range range{past_->back.first, past_->back.sequence, nullptr};
  if (!past_->back.whole) range.topology = history.whole_topology();
  const Status read = history.read(range, [&](const store::JournalEntry* entry, ClosedSlice&& message) {
    ++exchange_.beats.analysis;
    // Another daemon's beginning, or its end: this one goes on.
    if (entry == nullptr || (entry->kind != store::JournalEntry::Kind::kStart && !message.final))
      take(message, true);
    return !exchange_.stop;
  });
  if (!read)
    log::error("phases of the past are not known: the archive could not be read: " + read.error().message);
  past_.reset();
}

void AnalysisStage::run() {
  look_back();
  if (dispatcher_) dispatcher_->start();
  std::vector<transport::Socket*> sockets = {&control_.socket()};
  if (remote_control_) sockets.push_back(&remote_control_->socket());
  while (!exchange_.stop) {
    ++exchange_.beats.analysis;
    static_cast<void>(transport::wait_readable(sockets, patience(), &exchange_.for_analysis));
    if (auto message = exchange_.slices.try_pop()) {
      // Questions wait no longer than this, however much there is to catch up with.
      const TimeNs until = clock_.monotonic() + kReportPeriod;
      take(*message);
      while (clock_.monotonic() < until && (message = exchange_.slices.try_pop())) take(*message);
    }
    serve_control();
    survive("views", [this] { send_views(); });
    survive("what people said of alerts", [this] { settle_handling(); });
    watch_owner();
    const TimeNs now = clock_.monotonic();
    if (!analyst_->final() && now >= (fresh_ ? next_report_ : next_report_ + kReportAnyway))
      survive("a report", [this] { publish(false); });
    if (analyst_->final()) answer_finish();
  }
  views_.stop();
  if (dispatcher_) dispatcher_->stop();
}

// How long to wait for something to do: what is new is shown in time.
std::chrono::milliseconds AnalysisStage::patience() const {
  if (exchange_.slices.size() > 0) return std::chrono::milliseconds(0);
  if (!fresh_ || analyst_->final()) return kPoll;
  const std::int64_t left = (next_report_ - clock_.monotonic()).value / 1'000'000 + 1;
  return std::clamp(std::chrono::milliseconds(left), std::chrono::milliseconds(0), kPoll);
}

void AnalysisStage::take(const ClosedSlice& message, bool past) {
  if (message.standing) {
    --exchange_.standings;
    standing_ = message.standing;
    standing_at_ = clock_.monotonic();
  }
  fresh_ = true;
  take_slice(message, past);
  if (past) return;
  if (message.column) send_findings(false);
  if (message.final) {
    publish(true);
    send_findings(true);
  }
}

void AnalysisStage::emit(std::vector<alert::Alert> alerts, bool past) {
  bool raised = false;
  for (alert::Alert& a : alerts) {
    const std::string key = a.id + '/' + alert::step(a), update_of = alert::update_of(a);
    bool known = !known_alerts_.insert(key);
    if (!update_of.empty())
      if (const auto n = known_updates_.find(a.id); n != known_updates_.end())
        known = known || a.updates <= n->second;
    if (!known) {
      alert_ids_.insert(a.id);
      updates_said_ += update_of.empty() ? 0 : 1;
      a.emitted_wall = clock_.realtime();
      findings_.alerts.push_back({a.id, alert::to_json(a), alert::to_string(a.status)});
      raised = true;
    } else if (past) {
      // Said by a daemon before: viewers see it again, in its place, as it was said. Whether every sink has
      // had it is not known here.
      if (const auto said = past_->said.find(key); said != past_->said.end()) a = said->second;
    }
    // What was said before an error of ours has had its way to people.
    if (!(making_anew_ && known) && desk_.take(a, known, clock_.realtime())) deliver(a, known, past);
    analyst_->remember(std::move(a));
  }
  note_handling();
  if (raised && !past) publish(analyst_->final());  // an alert waits for nothing
}

void AnalysisStage::send_findings(bool final) {
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const detect::PhaseTracker& phases = analyst_->levels().detector(i).phases();
    phases_[i].put_signatures_into(
        findings_, phases.spans(), phases.init_name(),
        [&](const std::string& name) { return analyst_->levels().known_phase(i, name); }, signatures_kept_);
    phases_[i].put_into(findings_, phases.spans());
  }
  findings_.final = final;
  if (findings_.alerts.empty() && findings_.phases.empty() && findings_.signatures.empty() &&
      !findings_.report && !findings_.handling && !final)
    return;
  if (exchange_.findings.try_push(std::move(findings_))) {
    findings_ = {};
    exchange_.for_ingest.ring();
  } else if (findings_.phases.size() > kMostReportedPhases) {
    findings_.phases.clear();  // absolute values: the next ones say the same
    for (PhaseRecords& p : phases_) p.again();
  }
}

// The table of counters, whole: what the ingest said, what this thread knows, what the process uses.
void AnalysisStage::observe() {
  using observe::Id;
  const TimeNs now = clock_.monotonic();
  if (standing_) values_.merge(standing_->values);
  values_.set(Id::standing_age_ms, milliseconds_since(standing_at_, now));
  values_.set(Id::slices_queued, exchange_.slices.size());
  values_.set(Id::findings_queued, exchange_.findings.size());
  values_.set(Id::watermark_lag_ms, milliseconds_since(analyst_->watermark(), now + run_.wall_offset));
  values_.set(Id::window_slices, analyst_->detector().window().size());
  const std::string& unpartitioned =
      analyst_->levels().error().empty() ? analyst_->measured_error() : analyst_->levels().error();
  values_.set(Id::not_partitioned, !unpartitioned.empty());
  if (!unpartitioned.empty())
    values_.explain(Id::not_partitioned, "the window is not partitioned: " + unpartitioned);
  values_.set(Id::slices_not_analysed, not_analysed_);
  values_.explain(Id::slices_not_analysed, not_analysed_ == 0 ? std::string() : failure_);
  values_.set(Id::analysis_failures, failures_);
  values_.explain(Id::analysis_failures, failures_ == 0 ? std::string() : failure_);
  values_.set(Id::alerts_raised, alert_ids_.inserted() + alerts_before_);
  values_.set(Id::alerts_suppressed, analyst_->levels().suppressed());
  values_.set(Id::alerts_updated, updates_said_);
  values_.set(Id::alerts_held_by_silence, desk_.held_by_silence());
  values_.set(Id::alerts_held_by_ack, desk_.held_by_ack());
  values_.set(Id::silences_active, desk_.active_silences(clock_.realtime()));
  values_.set(Id::alerts_not_written, sink_ ? sink_->failed() : 0);
  const sinks::Dispatcher::Standing sent =
      dispatcher_ ? dispatcher_->standing() : sinks::Dispatcher::Standing();
  values_.set(Id::alerts_sent, sent.sent);
  values_.set(Id::alerts_waiting, sent.waiting);
  values_.set(Id::alerts_send_errors, sent.failed);
  values_.explain(Id::alerts_send_errors, sent.trouble);
  values_.set(Id::alerts_not_sent, sent.given_up);
  values_.explain(Id::alerts_not_sent, sent.lost);
  values_.set(Id::reports_published, sequence_);
  observe_views();
  values_.set(Id::requests_refused, requests_refused_ + control_.malformed() +
                                        (remote_control_ ? remote_control_->malformed() : 0));
  const bool stalled = !ingest_pulse_.alive(exchange_.beats.ingest, now);
  values_.set(Id::ingest_stalled, stalled && !analyst_->final());
  if (stalled)
    values_.explain(Id::ingest_stalled, "the thread margay-ingest does not go on for " +
                                            std::to_string(ingest_pulse_.quiet(now).value / 1'000'000'000) +
                                            " s now");
  values_.set(Id::restarts, options_.restarts);
  values_.set(Id::start_time_s, static_cast<std::uint64_t>(started_wall_.value / 1'000'000'000));
  values_.set(Id::uptime_s, milliseconds_since(started_, now) / 1000);
  if (now >= next_process_) {
    next_process_ = now + seconds(1);
    observe::set_process(observe::process_use(), values_);
  }
  values_.set(Id::memory_promised_bytes, exchange_.memory_promised);
  values_.set(Id::messages_not_sent, exchange_.outgoing->refused);
  const log::Counts log = log::counts();
  values_.set(Id::log_lines, log.lines);
  values_.set(Id::log_lines_suppressed, log.suppressed);
  values_.set(Id::http_requests, exchange_.http_requests());
  values_.set(Id::http_unavailable, !options_.http_listen.empty() && !exchange_.http);
  const bool was_healthy = verdict_.healthy;
  verdict_ = health_.judge(values_, now);
  if (!verdict_.healthy && was_healthy) log::warning(verdict_.sentence);
  if (verdict_.healthy && !was_healthy) log::info("healthy again");
}

wire::Report AnalysisStage::report(bool final) {
  observe();
  ReportInput in = analyst_->input();
  in.standing = standing_.get();
  in.now_wall = clock_.realtime();
  in.now_trace = clock_.monotonic() + run_.wall_offset;
  in.sequence = sequence_;
  in.final = final;
  in.values = &values_;
  in.verdict = &verdict_;
  wire::Report report = build_report(in);
  mark_handled(report);
  return report;
}

void AnalysisStage::publish(bool final) {
  ++sequence_;
  fresh_ = false;
  const TimeNs begin = clock_.monotonic();
  const auto kept = std::make_shared<const wire::Report>(report(final));
  const wire::Report& shown = *kept;
  static_cast<void>(transport::send_counted(reports_.socket(), shown, "", exchange_.outgoing));
  if (remote_reports_)
    static_cast<void>(transport::send_counted(remote_reports_->socket(), shown, "", exchange_.outgoing));
  exchange_.show(kept);
  if (final || begin >= next_archived_) {
    // Once a second; large ones less often, so that they take 64 KiB/s of the archive at most.
    findings_.report = {analyst_->watermark(), shown.SerializeAsString()};
    const auto kib = static_cast<std::int64_t>(findings_.report->bytes.size() >> 10);
    next_archived_ = begin + std::max(kArchivedPeriod, seconds(1) * (kib / 64));
  }
  // Large models: at most a fifth of the time goes into pictures. Others: one a period, though slices come
  // unevenly: what comes half a period early waits for nothing, and what comes late makes no later one late.
  const TimeNs end = clock_.monotonic();
  next_report_ = std::max({std::min(next_report_, begin) + kReportPeriod,
                           begin + kReportPeriod - kReportEarly, end + (end - begin) * 4});
}

void AnalysisStage::serve_control() {
  reports_.keep_up();
  control_.keep_up();
  for (auto* guarded : {&remote_reports_, &remote_control_})
    if (*guarded) (*guarded)->keep_up();
  // Whoever asks in one round is told the same, made once; over HTTP, too.
  std::shared_ptr<const wire::Report> report;
  const auto serve = [&](auto& socket, bool remote) {
    const TimeNs begin = clock_.monotonic();
    while (const auto frame = socket.try_receive()) {
      if (!survive("a question", [&] { answer(*frame, remote, report); }))
        survive("a question", [&] {
          wire::ControlReply reply;
          reply.set_version(wire::kWireVersion);
          reply.set_error("the daemon met an error of its own amid this question; its log says which");
          static_cast<void>(
              (remote ? remote_control_->socket() : control_.socket()).try_send(reply, frame->from));
        });
      if (clock_.monotonic() - begin >= kQuestionsARound) return;
    }
  };
  serve(control_, false);
  if (remote_control_) serve(*remote_control_, true);
}

void AnalysisStage::answer(const transport::Socket::Frame& frame, bool remote,
                           std::shared_ptr<const wire::Report>& report) {
  transport::Socket& socket = remote ? remote_control_->socket() : control_.socket();
  wire::ControlReply reply;
  reply.set_version(wire::kWireVersion);
  if (remote_reports_) reply.set_reports_port(reports_port_);
  const ControlAction asked = decode_control_untrusted(frame.body);
  const bool changes = asked.handling && asked.handling->kind != HandlingRequest::Kind::kList;
  // Who comes by ipc is the user itself.
  if (asked.finish && remote && !exchange_.door->is_operator(frame.user)) {
    exchange_.door->count_unauthorised();
    reply.set_error("refused: only an operator may end a run (margay keys add DIR NAME --role operator)");
  } else if (changes && remote && !exchange_.door->is_operator(frame.user)) {
    exchange_.door->count_unauthorised();
    reply.set_error(
        "refused: only an operator may acknowledge or silence alerts (margay keys add DIR NAME --role "
        "operator)");
  } else if (asked.handling) {
    if (!handle(*asked.handling, frame.from, remote, reply)) return;
  } else if (asked.view) {
    return ask_view(*asked.view, frame.from, remote);
  } else if (asked.finish) {
    finish_from_ = frame.from;
    finish_remote_ = remote;
    if (!finish_) {
      finish_ = asked.finish;
      const std::lock_guard lock(exchange_.mutex);
      exchange_.finish = finish_;
      exchange_.for_ingest.ring();
    }
    return;  // answered when it is done
  } else if (asked.status) {
    if (!report) {
      report = std::make_shared<const wire::Report>(this->report(analyst_->final()));
      exchange_.show(report);
    }
    *reply.mutable_report() = *report;
  } else {
    ++requests_refused_;
    reply.set_error(asked.error);
  }
  static_cast<void>(transport::send_counted(socket, reply, frame.from, exchange_.outgoing));
}

// The last cut is on its way; the answer waits for it.
void AnalysisStage::answer_finish() {
  if (!findings_.alerts.empty() || !findings_.phases.empty() || findings_.report || findings_.handling ||
      findings_.final) {
    if (exchange_.findings.try_push(std::move(findings_))) findings_ = {};
    exchange_.for_ingest.ring();
  }
  if (!exchange_.finished) return;
  if (!finish_from_.empty()) {
    wire::ControlReply reply;
    reply.set_version(wire::kWireVersion);
    std::string trouble;
    if (exchange_.archive_failed) {
      const std::lock_guard lock(exchange_.mutex);
      trouble = "the archive could not be written to its end";
      if (!exchange_.archive_error.empty()) trouble += ": " + exchange_.archive_error;
      reply.set_error(trouble);
    }
    SummaryInput in{finish_->exit_code,
                    run_.begin,
                    analyst_->end(),
                    analyst_->topology(),
                    standing_.get(),
                    analyst_->levels(),
                    alert_ids_.inserted() + alerts_before_,
                    trouble};
    reply.set_summary_json(build_summary(in));
    *reply.mutable_report() = report(true);
    static_cast<void>(transport::send_counted(
        finish_remote_ && remote_control_ ? remote_control_->socket() : control_.socket(), reply,
        finish_from_, exchange_.outgoing));
    finish_from_.clear();
  }
  if (owner_gone_ != TimeNs()) exchange_.request_stop();  // nobody is left to end this process
}

// Without its owner the daemon ends by itself, once nothing is left to watch.
void AnalysisStage::watch_owner() {
  const TimeNs now = clock_.monotonic();
  if (options_.owner_pid <= 0 || now < next_owner_check_) return;
  next_owner_check_ = now + seconds(1);
  if (kill(options_.owner_pid, 0) == 0 || errno != ESRCH) return;
  if (owner_gone_ == TimeNs()) owner_gone_ = now;
  const bool idle = standing_ == nullptr || standing_->live == 0;
  if (!idle || now - owner_gone_ < kOwnerGonePatience) return;
  const std::lock_guard lock(exchange_.mutex);
  if (!exchange_.finish) {
    finish_ = FinishRequest{};
    exchange_.finish = finish_;
    exchange_.for_ingest.ring();
  }
}

}  // namespace margay::app
