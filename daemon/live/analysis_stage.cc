#include "margay/live/analysis_stage.h"

#include <algorithm>
#include <utility>

#include "margay/analysis/report_builder.h"
#include "margay/serve/control.h"
#include "margay/wire/columns.h"

namespace margay::daemon {
namespace {

// Where nothing comes: for what is a matter of time only.
constexpr std::chrono::milliseconds kNewsWait(50);

ViewService::Options view_options(const Options& o, Exchange& exchange) {
  ViewService::Options out;
  out.answered = [&exchange] { exchange.for_analysis.notify(); };
  out.maker.memory_bytes = o.view_memory_bytes;
  out.maker.live = true;
  if (!o.levels.empty()) out.maker.unsettled = o.levels[0] * o.amendable_slices;
  return out;
}

// Who comes by ipc is the user itself; from the network, one whose key says so may change things.
std::optional<std::string> refusal(const ControlAction& asked, const Client& client) {
  if (client.operates) return std::nullopt;
  if (asked.finish)
    return "refused: only an operator may end a run (margay keys add DIR NAME --role operator)";
  if (asked.handling && asked.handling->kind != HandlingRequest::Kind::kList)
    return "refused: only an operator may acknowledge or silence alerts (margay keys add DIR NAME --role "
           "operator)";
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<AnalysisStage>> AnalysisStage::make(const Options& options,
                                                           const store::Archive& archive,
                                                           const store::Resume& resume, const LookBack& back,
                                                           Exchange& exchange, const Clock& clock,
                                                           Ports ports) {
  auto notifier = AlertNotifier::make(options, resume, clock);
  if (!notifier) return tl::unexpected(notifier.error());
  return std::unique_ptr<AnalysisStage>(new AnalysisStage(options, archive, resume, back, exchange, clock,
                                                          std::move(ports), std::move(*notifier)));
}

AnalysisStage::AnalysisStage(const Options& options, const store::Archive& archive,
                             const store::Resume& resume, const LookBack& back, Exchange& exchange,
                             const Clock& clock, Ports ports, std::unique_ptr<AlertNotifier> notifier)
    : options_(options),
      exchange_(exchange),
      clock_(clock),
      ports_(std::move(ports)),
      run_(resume.run),
      notifier_(std::move(notifier)),
      analysis_(options, archive, resume, back, clock,
                {*notifier_, failures_, findings_,
                 [&exchange] {
                   ++exchange.beats.analysis;
                   return !exchange.stop;
                 }}),
      handling_(*notifier_, clock),
      views_(archive, clock, view_options(options, exchange)),
      health_(options, exchange, clock),
      owner_(options.owner_pid) {}

void AnalysisStage::begin() {
  analysis_.look_back();
  pace_.news();
}

void AnalysisStage::stop_threads() {
  views_.stop();
  notifier_->stop();
}

// How long to wait for something to do: what is new is shown in time.
std::chrono::milliseconds AnalysisStage::patience() const {
  if (exchange_.slices.size() > 0) return std::chrono::milliseconds(0);
  if (!pace_.has_news() || over()) return kNewsWait;
  const std::int64_t left = pace_.left(clock_.monotonic()).value / 1'000'000 + 1;
  return std::clamp(std::chrono::milliseconds(left), std::chrono::milliseconds(0), kNewsWait);
}

void AnalysisStage::take_slices() {
  auto message = exchange_.slices.try_pop();
  if (!message) return;
  // Questions wait no longer than this, however much there is to catch up with.
  const TimeNs until = clock_.monotonic() + ReportPace::kPeriod;
  do take(*message);
  while (clock_.monotonic() < until && (message = exchange_.slices.try_pop()));
}

void AnalysisStage::take(const ClosedSlice& message) {
  if (message.status) {
    --exchange_.statuses;
    health_.take(message.status);
  }
  pace_.news();
  const bool raised = analysis_.take(message);
  // An alert waits for nothing.
  if (raised) failures_.survive("a report", clock_.monotonic(), [this] { publish(over()); });
  if (message.column) send_findings(false);
  if (message.final) {
    publish(true);
    send_findings(true);
  }
}

void AnalysisStage::step() {
  const TimeNs now = clock_.monotonic();
  round_report_.reset();
  failures_.survive("views", now, [this] {
    while (auto view = views_.try_take()) send_view(std::move(*view));
  });
  failures_.survive("what people said of alerts", now, [this] {
    notifier_->settle(findings_);
    if (findings_.handling && !over()) push_findings();
    handling_.settle(exchange_.handling_archived, ports_.reply);
  });
  watch_owner();
  if (!over() && pace_.due(clock_.monotonic()))
    failures_.survive("a report", now, [this] { publish(false); });
  if (over()) answer_end();
}

void AnalysisStage::push_findings() {
  if (exchange_.findings.try_push(std::move(findings_))) {
    findings_ = {};
    exchange_.for_ingest.notify();
  }
}

void AnalysisStage::send_findings(bool final) {
  analysis_.put_phases_into(findings_);
  findings_.final = final;
  if (findings_.is_nothing()) return;
  push_findings();
  if (findings_.phases.size() > kMostReportedPhases) {
    findings_.phases.clear();  // absolute values: the next ones say the same
    analysis_.phases_dropped();
  }
}

// The table of counters of this half of the daemon.
void AnalysisStage::set(observe::Values& v) const {
  using observe::Id;
  const Analyst& analyst = analysis_.analyst();
  v.set(Id::watermark_lag_ms, milliseconds_since(analyst.watermark(), clock_.monotonic() + run_.wall_offset));
  v.set(Id::window_slices, analyst.detector().window().size());
  const std::string& unpartitioned =
      analyst.levels().error().empty() ? analyst.measured_error() : analyst.levels().error();
  v.set(Id::leaves_short_of_cpus, analyst.detector().short_of_cpus());
  v.set(Id::not_partitioned, !unpartitioned.empty());
  if (!unpartitioned.empty())
    v.explain(Id::not_partitioned, "the window is not partitioned: " + unpartitioned);
  v.set(Id::alerts_suppressed, analyst.levels().suppressed());
  failures_.set(v);
  notifier_->set(v);
  v.set(Id::reports_published, pace_.sequence());
  const ViewServiceStatus s = views_.status();
  v.set(Id::views_answered, s.answered);
  v.set(Id::views_refused, s.refused);
  v.set(Id::views_superseded, s.superseded);
  v.set(Id::views_computed, s.models);
  v.set(Id::views_waiting, s.waiting);
  v.set(Id::views_busy_ms, s.busy_ms);
  v.set(Id::views_held_bytes, s.held_bytes);
  v.set(Id::requests_refused, requests_refused_);
  ports_.set(v);
}

wire::Report AnalysisStage::report(bool final) {
  health_.look(over(), [this](observe::Values& v) { set(v); });
  ReportInput in = analysis_.analyst().input();
  in.status = health_.status();
  in.now_wall = clock_.realtime();
  in.now_trace = clock_.monotonic() + run_.wall_offset;
  in.sequence = pace_.sequence();
  in.final = final;
  in.values = &health_.values();
  in.verdict = &health_.verdict();
  wire::Report report = build_report(in);
  for (wire::Alert& a : *report.mutable_alerts()) {
    const alert::HandledAlert handled = notifier_->policy().handled(a.id(), in.now_wall);
    if (handled.any()) *a.mutable_handled() = alert::to_wire(handled);
  }
  return report;
}

void AnalysisStage::publish(bool final) {
  static_cast<void>(pace_.begin());
  const TimeNs begin = clock_.monotonic();
  const auto shown = std::make_shared<const wire::Report>(report(final));
  ports_.publish(*shown);
  exchange_.show(shown);
  if (final || pace_.archive_due(begin)) {
    findings_.report = {analysis_.analyst().watermark(), shown->SerializeAsString()};
    pace_.archived(begin, findings_.report->bytes.size());
  }
  pace_.made(begin, clock_.monotonic());
}

void AnalysisStage::ask(std::string_view question, const Client& client) {
  const TimeNs now = clock_.monotonic();
  if (failures_.survive("a question", now, [&] { answer(question, client); })) return;
  failures_.survive("a question", now, [&] {
    wire::ControlReply reply;
    reply.set_version(wire::kWireVersion);
    reply.set_error("internal error of the daemon in this query; its log has the details");
    ports_.reply(client, reply);
  });
}

void AnalysisStage::answer(std::string_view question, const Client& client) {
  wire::ControlReply reply;
  reply.set_version(wire::kWireVersion);
  if (ports_.reports_port) reply.set_reports_port(*ports_.reports_port);
  const ControlAction asked = decode_control_untrusted(question);
  if (const auto refused = refusal(asked, client)) {
    exchange_.door->count_unauthorised();
    reply.set_error(*refused);
  } else if (asked.handling) {
    if (!handling_.ask(*asked.handling, client, over(), reply)) return;
  } else if (asked.view) {
    for (ViewReply& at_once : views_.ask({client.from, client.remote}, *asked.view))
      send_view(std::move(at_once));
    return;
  } else if (asked.events) {
    for (ViewReply& at_once : views_.ask({client.from, client.remote}, *asked.events))
      send_view(std::move(at_once));
    return;
  } else if (asked.finish) {
    end_client_ = client;  // answered when it is done
    return ask_for_end(*asked.finish);
  } else if (asked.status) {
    if (!round_report_) {
      round_report_ = std::make_shared<const wire::Report>(report(over()));
      exchange_.show(round_report_);
    }
    *reply.mutable_report() = *round_report_;
  } else {
    ++requests_refused_;
    reply.set_error(asked.error);
  }
  ports_.reply(client, reply);
}

void AnalysisStage::send_view(ViewReply&& view) {
  const Client to{view.to.from, view.to.remote};
  ports_.reply(to, control_reply(std::move(view)));
}

void AnalysisStage::ask_for_end(const FinishRequest& request) {
  if (end_) return;
  end_ = request;
  const std::lock_guard lock(exchange_.mutex);
  exchange_.finish = end_;
  exchange_.for_ingest.notify();
}

// The last cut is on its way; the answer waits for it.
void AnalysisStage::answer_end() {
  if (!findings_.is_nothing()) push_findings();
  if (!exchange_.finished) return;
  if (!end_client_.from.empty()) {
    wire::ControlReply reply;
    reply.set_version(wire::kWireVersion);
    std::string trouble;
    if (exchange_.archive_failed) {
      const std::lock_guard lock(exchange_.mutex);
      trouble = "the archive could not be written to its end";
      if (!exchange_.archive_error.empty()) trouble += ": " + exchange_.archive_error;
      reply.set_error(trouble);
    }
    const Analyst& analyst = analysis_.analyst();
    reply.set_summary_json(build_summary({end_->exit_code, run_.begin, analyst.end(), analyst.topology(),
                                          health_.status(), analyst.levels(), notifier_->raised(), trouble}));
    *reply.mutable_report() = report(true);
    ports_.reply(end_client_, reply);
    end_client_.from.clear();
  }
  if (owner_.gone()) exchange_.request_stop();  // nobody is left to end this process
}

void AnalysisStage::watch_owner() {
  const RunStatus* status = health_.status();
  if (!owner_.left_alone(status == nullptr || status->live == 0, clock_.monotonic())) return;
  ask_for_end({});
}

}  // namespace margay::daemon
