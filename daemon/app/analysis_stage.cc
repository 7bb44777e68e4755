#include "analysis_stage.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "control.h"
#include "margay/wire/columns.h"
#include "report_builder.h"

namespace margay::app {
namespace {

constexpr std::chrono::milliseconds kPoll(10);
constexpr DurationNs kReportPeriod = milliseconds(100);
constexpr DurationNs kArchivedPeriod = seconds(1);
// Slices that a restarted daemon looks back through to know the run's phases again.
constexpr std::int64_t kReplayedSlices = 36'000;
constexpr DurationNs kOwnerGonePatience = seconds(5);

detect::DetectorOptions detector_options(const Options& o) {
  detect::DetectorOptions d;
  d.run = o.run;
  d.window.slice = o.levels[0];
  d.window.slices = o.window_slices;
  d.window.p = o.p;
  d.window.lost_after = d.lost_after = o.lost_after;
  d.window.memory_budget_bytes = o.window_memory_bytes;
  d.min_effect = o.min_effect;
  d.stop_slices = o.min_duration_slices;
  d.stall_slices = o.min_duration_slices + 2;
  d.idle_states = {o.idle_states.begin(), o.idle_states.end()};
  return d;
}

}  // namespace

Result<std::unique_ptr<AnalysisStage>> AnalysisStage::make(const Options& options, zmq::context_t& context,
                                                           const store::Archive& archive,
                                                           const store::Resume& resume, Exchange& exchange,
                                                           const Clock& clock) {
  auto reports =
      transport::Socket::bind(context, zmq::socket_type::pub, options.directory.reports_endpoint());
  if (!reports) return tl::unexpected(reports.error());
  auto control =
      transport::Socket::bind(context, zmq::socket_type::router, options.directory.control_endpoint());
  if (!control) return tl::unexpected(control.error());
  std::unique_ptr<AnalysisStage> stage(
      new AnalysisStage(options, std::move(*reports), std::move(*control), exchange, clock, resume.run));
  if (!options.alerts_file.empty()) {
    auto sink = alert::JsonlSink::open(options.alerts_file);
    if (!sink) return tl::unexpected(sink.error());
    stage->sink_.emplace(std::move(*sink));
  }
  stage->take_over(archive, resume);
  return stage;
}

AnalysisStage::AnalysisStage(const Options& options, transport::Socket reports, transport::Socket control,
                             Exchange& exchange, const Clock& clock, const store::RunMeta& run)
    : options_(options),
      exchange_(exchange),
      clock_(clock),
      run_(run),
      reports_(std::move(reports)),
      control_(std::move(control)),
      detector_(detector_options(options)),
      topology_(std::make_shared<detect::Topology>()),
      watermark_(run.begin) {}

AnalysisStage::~AnalysisStage() {
  join();
}

void AnalysisStage::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "margay-analyse");
    run();
  });
}
void AnalysisStage::join() {
  if (thread_.joinable()) thread_.join();
}

// What the archive knows already, and where the analysis has to begin.
void AnalysisStage::take_over(const store::Archive& archive, const store::Resume& resume) {
  for (const auto& a : resume.alerts) {
    known_alerts_.insert(a.id + '/' + a.status);
    if (a.status == "resolved")
      known_alerts_.insert(a.id + "/firing");  // one record per alert: its last status
    alert_ids_.insert(a.id);
    recent_alerts_.push_back(a.json);
    if (recent_alerts_.size() > kMostReportedAlerts) recent_alerts_.pop_front();
  }
  if (resume.leaves.empty()) return;
  auto topology = std::make_shared<detect::Topology>();
  std::vector<model::Attributes> leaves;
  for (const auto& l : resume.leaves) leaves.push_back(l.attributes);
  topology->hierarchy = model::Hierarchy(leaves, model::Hierarchy::default_view());
  topology->states = resume.states.states();
  topology_ = topology;
  detector_.set_topology(topology_);
  SliceIndex through = slice_of(run_.begin, options_.levels[0]) - 1;
  for (const auto& c : resume.closed)
    if (c.level == LevelIndex(0)) through = c.through;
  replay_archive_ = &archive;
  replay_first_ = std::max(slice_of(run_.begin, options_.levels[0]), through - kReplayedSlices);
  if (const auto kept = archive.column_range(LevelIndex(0)); kept && *kept)
    replay_first_ = std::max(replay_first_, (*kept)->first);  // older ones went by retention
  replay_last_ = through;
  // Phases from before the slices looked at stay as they are in the archive; numbering goes on behind them.
  const TimeNs begin = slice_begin(replay_first_, options_.levels[0]);
  if (replay_first_ > slice_of(run_.begin, options_.levels[0]))
    for (const auto& p : resume.phases)
      if (p.begin < begin) phases_before_ = std::max(phases_before_, p.index + 1);
}

// Detection is a function of the slices: run over what the archive holds, it comes to where it was. What it
// raised then stands in the archive and is not raised again. Events are taken meanwhile (margay-ingest); the
// slices they close wait in the queue.
void AnalysisStage::replay() {
  if (replay_archive_ == nullptr) return;
  replaying_ = true;
  const auto scanned = replay_archive_->scan_columns(
      LevelIndex(0), replay_first_, replay_last_, [&](model::SliceColumn&& column) {
        watermark_ = slice_end(column.index, options_.levels[0]);
        emit(detector_.on_slice(column, watermark_));
        return !exchange_.stop;
      });
  replaying_ = false;
  if (!scanned)
    std::fprintf(stderr, "margayd: the past could not be read: %s\n", scanned.error().message.c_str());
}

void AnalysisStage::run() {
  replay();
  while (!exchange_.stop) {
    if (auto message = exchange_.slices.pop(kPoll)) {
      take(*message);
      while ((message = exchange_.slices.try_pop())) take(*message);
    }
    serve_control();
    watch_owner();
    const TimeNs now = clock_.monotonic();
    if (fresh_ && !final_ && now >= next_report_) publish(false);
    if (final_) answer_finish();
  }
}

void AnalysisStage::take(const ClosedSlice& message) {
  if (message.topology) {
    topology_ = message.topology;
    detector_.set_topology(topology_);
  }
  if (message.standing) standing_ = message.standing;
  watermark_ = std::max(watermark_, message.watermark);
  fresh_ = true;
  if (message.column) {
    if (message.amended)
      emit(detector_.on_amended(*message.column, message.watermark));
    else
      emit(detector_.on_slice(*message.column, message.watermark));
    send_findings(false);
  }
  if (message.final) {
    end_ = message.end;
    emit(detector_.finish(message.end, message.watermark));
    final_ = true;
    publish(true);
    send_findings(true);
  }
}

void AnalysisStage::emit(std::vector<alert::Alert> alerts) {
  for (alert::Alert& a : alerts) {
    const std::string status = alert::to_string(a.status);
    if (!known_alerts_.insert(a.id + '/' + status).second) continue;
    alert_ids_.insert(a.id);
    a.emitted_wall = clock_.realtime();
    std::string json = alert::to_json(a);
    if (sink_) sink_->write(a.id, status, json);
    recent_alerts_.push_back(json);
    if (recent_alerts_.size() > kMostReportedAlerts) recent_alerts_.pop_front();
    findings_.alerts.push_back({a.id, std::move(json), status});
    if (!replaying_) publish(false);  // an alert waits for nothing
  }
}

void AnalysisStage::send_findings(bool final) {
  for (const auto& p : detector_.phases().spans()) {
    if (p.index < phases_sent_) continue;
    findings_.phases.push_back(
        {phases_before_ + p.index, p.name, p.label, p.begin, p.end, p.occurrence, p.current});
  }
  // The last two may still change (an edge moves, a transition is taken back).
  const auto& spans = detector_.phases().spans();
  if (spans.size() > 2) phases_sent_ = spans[spans.size() - 2].index;
  findings_.final = final;
  if (findings_.alerts.empty() && findings_.phases.empty() && !findings_.report && !final) return;
  if (exchange_.findings.try_push(std::move(findings_))) {
    findings_ = {};
  } else if (findings_.phases.size() > kMostReportedPhases) {
    findings_.phases.clear();  // absolute values: the next ones say the same
    phases_sent_ = 0;
  }
}

wire::Report AnalysisStage::report(bool final) const {
  ReportInput in{options_,
                 detector_,
                 *topology_,
                 standing_.get(),
                 recent_alerts_,
                 run_.begin,
                 watermark_,
                 clock_.realtime(),
                 clock_.monotonic() + run_.wall_offset,
                 sequence_,
                 final,
                 true};
  return build_report(in);
}

void AnalysisStage::publish(bool final) {
  ++sequence_;
  fresh_ = false;
  const TimeNs begin = clock_.monotonic();
  const wire::Report shown = report(final);
  static_cast<void>(reports_.try_send(shown));
  if (final || begin >= next_archived_) {
    // Once a second; large ones less often, so that they take 64 KiB/s of the archive at most.
    findings_.report = {watermark_, shown.SerializeAsString()};
    const auto kib = static_cast<std::int64_t>(findings_.report->bytes.size() >> 10);
    next_archived_ = begin + std::max(kArchivedPeriod, seconds(1) * (kib / 64));
  }
  // Large models: at most a fifth of the time goes into pictures.
  const TimeNs end = clock_.monotonic();
  next_report_ = end + std::max(kReportPeriod, (end - begin) * 4);
}

void AnalysisStage::serve_control() {
  for (int i = 0; i < 16; ++i) {
    auto frame = control_.try_receive();
    if (!frame) return;
    const ControlAction asked = decode_control_untrusted(frame->body);
    if (asked.finish) {
      finish_from_ = frame->from;
      if (!finish_) {
        finish_ = asked.finish;
        const std::lock_guard lock(exchange_.mutex);
        exchange_.finish = finish_;
      }
      continue;  // answered when it is done
    }
    wire::ControlReply reply;
    reply.set_version(wire::kWireVersion);
    if (asked.status)
      *reply.mutable_report() = report(final_);
    else
      reply.set_error(asked.error);
    static_cast<void>(control_.try_send(reply, frame->from));
  }
}

// The last cut is on its way; the answer waits for it.
void AnalysisStage::answer_finish() {
  if (!findings_.alerts.empty() || !findings_.phases.empty() || findings_.report || findings_.final) {
    if (exchange_.findings.try_push(std::move(findings_))) findings_ = {};
  }
  if (!exchange_.finished) return;
  if (!finish_from_.empty()) {
    wire::ControlReply reply;
    reply.set_version(wire::kWireVersion);
    if (exchange_.archive_failed) reply.set_error("the archive could not be written to its end");
    SummaryInput in{finish_->exit_code,         run_.begin,       end_, *topology_, standing_.get(),
                    detector_.phases().spans(), alert_ids_.size()};
    reply.set_summary_json(build_summary(in));
    *reply.mutable_report() = report(true);
    static_cast<void>(control_.try_send(reply, finish_from_));
    finish_from_.clear();
  }
  if (owner_gone_ != TimeNs()) exchange_.stop = true;  // nobody is left to end this process
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
  }
}

}  // namespace margay::app
