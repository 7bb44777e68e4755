// The analysis' side of questions about stretches of the run: it owns the socket that they come by; they are
// computed elsewhere (view/view_service.h). Part of AnalysisStage.
#include "margay/live/analysis_stage.h"
#include "margay/wire/columns.h"

namespace margay::app {

void AnalysisStage::ask_view(const wire::ViewQuestion& question, const std::string& from, bool remote) {
  for (ViewReply& at_once : views_.ask({from, remote}, question)) send_view(std::move(at_once));
}

void AnalysisStage::send_views() {
  while (auto view = views_.try_take()) send_view(std::move(*view));
}

void AnalysisStage::send_view(ViewReply&& view) {
  wire::ControlReply reply;
  reply.set_version(wire::kWireVersion);
  *reply.mutable_view() = std::move(view.answer);
  static_cast<void>(transport::send_counted(
      view.to.remote && remote_control_ ? remote_control_->socket() : control_.socket(), reply, view.to.from,
      exchange_.outgoing));
}

void AnalysisStage::observe_views() {
  using observe::Id;
  const ViewStanding s = views_.standing();
  values_.set(Id::views_answered, s.answered);
  values_.set(Id::views_refused, s.refused);
  values_.set(Id::views_superseded, s.superseded);
  values_.set(Id::views_computed, s.models);
  values_.set(Id::views_waiting, s.waiting);
  values_.set(Id::views_busy_ms, s.busy_ms);
  values_.set(Id::views_held_bytes, s.held_bytes);
}

}  // namespace margay::app
