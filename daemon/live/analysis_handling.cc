// The analysis' side of what people say about alerts: which words sinks are told, what of it goes into the
// archive, and the answers to those who asked. Part of AnalysisStage.
#include <algorithm>

#include "margay/live/analysis_stage.h"
#include "margay/log/log.h"
#include "margay/wire/columns.h"

namespace margay::app {
namespace {

// For an answer to wait for the archive.
constexpr DurationNs kArchivePatience = seconds(3);
constexpr std::size_t kMostQuestions = 64;  // that are remembered, so that one asked again is the same one

}  // namespace

void AnalysisStage::take_handling(const store::Resume& resume) {
  for (const store::Blob& b : resume.state) {
    if (b.name != alert::kHandlingBlob) continue;
    auto handling = alert::Handling::decode_untrusted(b.bytes);
    if (handling) {
      desk_ = alert::Desk(std::move(*handling));
      continue;
    }
    log::warning("alerts: " + handling.error().message);
    if (handling.error().code == ErrorCode::kVersion) handling_trouble_ = handling.error().message;
  }
}

// A word about an alert, to all sinks. `known`: it was said by a daemon before this one.
void AnalysisStage::deliver(const alert::Alert& a, bool known, bool past) {
  if (sink_ && !known) sink_->write(a);
  // An update of the past is for sinks that go on with it.
  if (dispatcher_ && (past || !known || alert::update_of(a).empty())) dispatcher_->push(a);
}

// What people have said goes into the cut that has the alerts which it is about.
void AnalysisStage::note_handling() {
  if (handling_noted_ == desk_.version() || !handling_trouble_.empty()) return;
  handling_noted_ = desk_.version();
  findings_.handling = Findings::Handling{handling_noted_, desk_.handling().encode()};
}

// Alerts that no silence holds any more; what has changed; answers that waited for the archive.
void AnalysisStage::settle_handling() {
  for (const alert::Alert& a : desk_.due(clock_.realtime())) deliver(a, false, false);
  note_handling();
  if (findings_.handling && !analyst_->final() && exchange_.findings.try_push(std::move(findings_)))
    findings_ = {};
  for (Question& q : questions_) {
    if (q.to.empty()) continue;
    const bool archived = exchange_.handling_archived >= q.version;
    if (!archived && clock_.monotonic() - q.since < kArchivePatience) continue;
    wire::ControlReply reply;
    reply.set_version(wire::kWireVersion);
    reply.set_said(q.said + (archived ? "" : "; the archive does not have it yet, see margay status"));
    static_cast<void>(
        transport::send_counted(q.remote && remote_control_ ? remote_control_->socket() : control_.socket(),
                                reply, std::exchange(q.to, ""), exchange_.outgoing));
  }
}

// Of the alerts in it.
void AnalysisStage::mark_handled(wire::Report& report) const {
  const TimeNs wall = clock_.realtime();
  for (wire::Alert& a : *report.mutable_alerts()) {
    const alert::HandledAlert handled = desk_.handled(a.id(), wall);
    if (handled.any()) *a.mutable_handled() = alert::to_wire(handled);
  }
}

// True: `reply` is the answer. False: it is given when the archive has what was asked for.
bool AnalysisStage::handle(const HandlingRequest& request, const std::string& from, bool remote,
                           wire::ControlReply& reply) {
  const auto refuse = [&](const std::string& why) {
    reply.set_error(why);
    return true;
  };
  if (request.kind == HandlingRequest::Kind::kList) {
    reply.set_handling(desk_.handling().encode());
    return handling_trouble_.empty() || refuse(handling_trouble_);
  }
  const auto same = std::find_if(questions_.begin(), questions_.end(), [&](const Question& q) {
    return request.token != 0 && q.token == request.token;
  });
  if (same != questions_.end()) {
    same->to = from;
    same->remote = remote;
    return false;
  }
  if (!handling_trouble_.empty()) return refuse(handling_trouble_);
  if (analyst_->final()) return refuse("this run is over: none of its alerts fires any more");
  const auto said = perform(request, desk_, clock_.realtime());
  if (!said) return refuse(said.error().message);
  log::info("alerts: " + *said + (request.by.empty() ? "" : " (" + request.by + ")"));
  note_handling();
  questions_.push_back({request.token, from, remote, *said, desk_.version(), clock_.monotonic()});
  if (questions_.size() > kMostQuestions) questions_.pop_front();
  return false;
}

}  // namespace margay::app
