// The daemon's second half: closed slices in; phases, alerts and reports out; answers to viewers and to
// `margay`. What to do with a slice or a question, and what is due by now; no thread, no socket, no clock but
// the one it is given (analysis_loop.h has those). Questions about stretches of the run are computed on a
// thread of their own (serve/view_service.h), alerts sent on those of their sinks.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "margay/live/alert_notifier.h"
#include "margay/live/analysis_failures.h"
#include "margay/live/client.h"
#include "margay/live/daemon_health.h"
#include "margay/live/handling_answers.h"
#include "margay/live/live_analysis.h"
#include "margay/live/owner_watch.h"
#include "margay/live/report_pace.h"
#include "margay/serve/view_service.h"

namespace margay::daemon {

class AnalysisStage {
 public:
  // Of whoever carries the messages.
  struct Ports {
    std::function<void(const wire::Report& report)> publish;
    Reply reply;
    // Its rows of the table of counters, behind those of the analysis.
    std::function<void(observe::Values& values)> set = [](observe::Values&) {};
    std::optional<std::uint32_t> reports_port;  // that the network sees, if it may listen
  };
  // `resume` is what the archive held when it was opened. All but it and the ports must outlive it. Errors:
  // kIo, and those of the sinks.
  static Result<std::unique_ptr<AnalysisStage>> make(const Options& options, const store::Archive& archive,
                                                     const store::Resume& resume, const LookBack& back,
                                                     Exchange& exchange, const Clock& clock, Ports ports);

  // Once, before the first step: looks back on the run. Cost: that of the slices looked at.
  void begin();
  // The threads beside it, which answer questions about stretches and send alerts.
  void start_views() { views_.start(); }
  void start_sinks() { notifier_->start(); }
  void stop_threads();

  // Slices that wait, for a report's period at most.
  void take_slices();
  // A question, untrusted.
  void ask(std::string_view question, const Client& client);
  // What is due by now.
  void step();
  // How long there is nothing to do, if nothing comes.
  std::chrono::milliseconds patience() const;

 private:
  AnalysisStage(const Options& options, const store::Archive& archive, const store::Resume& resume,
                const LookBack& back, Exchange& exchange, const Clock& clock, Ports ports,
                std::unique_ptr<AlertNotifier> notifier);
  bool over() const { return analysis_.analyst().final(); }
  void take(const ClosedSlice& message);
  void send_findings(bool final);
  void push_findings();
  void publish(bool final);
  wire::Report report(bool final);
  void set(observe::Values& values) const;
  void answer(std::string_view question, const Client& client);
  void send_view(ViewReply&& view);
  void ask_for_end(const FinishRequest& request);
  void answer_end();
  void watch_owner();

  const Options& options_;
  Exchange& exchange_;
  const Clock& clock_;
  const Ports ports_;
  const store::RunMeta run_;
  Findings findings_;  // on their way to the ingest
  AnalysisFailures failures_;
  const std::unique_ptr<AlertNotifier> notifier_;
  LiveAnalysis analysis_;
  HandlingAnswers handling_;
  ViewService views_;
  DaemonHealth health_;
  ReportPace pace_;
  OwnerWatch owner_;
  std::uint64_t requests_refused_ = 0;
  // Whoever asks in one round is told the same, made once; over HTTP, too.
  std::shared_ptr<const wire::Report> round_report_;
  Client end_client_;  // who asked for the end, to be answered when it is reached
  std::optional<FinishRequest> end_;
};

}  // namespace margay::daemon
