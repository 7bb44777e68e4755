// The daemon's second thread ("margay-analyse"): closed slices in; phases, alerts and reports out. It owns
// the sockets that viewers and `margay` talk to.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "margay/alert/desk.h"
#include "margay/alert/jsonl_sink.h"
#include "margay/analysis/analyst.h"
#include "margay/analysis/exchange.h"
#include "margay/analysis/history.h"
#include "margay/analysis/phase_records.h"
#include "margay/base/recent_set.h"
#include "margay/detect/detector.h"
#include "margay/observe/health.h"
#include "margay/serve/handling_request.h"
#include "margay/serve/view_service.h"
#include "margay/settings/options.h"
#include "margay/sinks/dispatcher.h"
#include "margay/store/archive.h"
#include "margay/transport/guarded.h"
#include "margay/transport/limited.h"

namespace margay::app {

// The same two sockets for other machines.
struct RemoteViewers {
  std::optional<transport::GuardedSocket> reports, control;
  std::uint32_t reports_port = 0;  // that the network sees
};

class AnalysisStage {
 public:
  static Result<std::unique_ptr<AnalysisStage>> make(const Options& options, zmq::context_t& context,
                                                     const store::Archive& archive,
                                                     const store::Resume& resume, const LookBack& back,
                                                     Exchange& exchange, const Clock& clock,
                                                     RemoteViewers remote = {});
  ~AnalysisStage();
  void start();
  void join();

 private:
  AnalysisStage(const Options& options, transport::LimitedSocket reports, transport::LimitedSocket control,
                const store::Archive& archive, Exchange& exchange, const Clock& clock,
                const store::RunMeta& run);
  void take_over(const store::Archive& archive, const store::Resume& resume, const LookBack& back);
  void recall(const store::Archive& archive, const store::Resume& resume, const LookBack& back);
  void look_back();
  // In analysis_failures.cc:
  void take_slice(const ClosedSlice& message, bool past);
  void failed_amid(const ClosedSlice& message, const std::string& what, bool past);
  void make_anew(const ClosedSlice& failed);
  bool survive(const char* doing, const std::function<void()>& work);
  void say_failure(const std::string& sentence);
  void run();
  std::chrono::milliseconds patience() const;
  void take(const ClosedSlice& message, bool past = false);
  void emit(std::vector<alert::Alert> alerts, bool past);
  // In analysis_handling.cc:
  void take_handling(const store::Resume& resume);
  void deliver(const alert::Alert& alert, bool known, bool past);
  void note_handling();
  void settle_handling();
  void mark_handled(wire::Report& report) const;
  bool handle(const HandlingRequest& request, const std::string& from, bool remote,
              wire::ControlReply& reply);
  void publish(bool final);
  void serve_control();
  // `report` is made by the first who asks for it.
  void answer(const transport::Socket::Frame& frame, bool remote,
              std::shared_ptr<const wire::Report>& report);
  // In analysis_views.cc:
  void ask_view(const wire::ViewQuestion& question, const std::string& from, bool remote);
  void send_views();
  void send_view(ViewReply&& view);
  void observe_views();
  void answer_finish();
  void send_findings(bool final);
  void watch_owner();
  void observe();
  wire::Report report(bool final);

  const Options& options_;
  Exchange& exchange_;
  const Clock& clock_;
  store::RunMeta run_;
  transport::LimitedSocket reports_;
  transport::LimitedSocket control_;
  std::uint32_t reports_port_ = 0;  // that the network sees
  std::optional<transport::GuardedSocket> remote_reports_, remote_control_;
  std::optional<alert::JsonlSink> sink_;
  std::unique_ptr<sinks::Dispatcher> dispatcher_;  // nullptr: no other sinks
  const store::Archive& archive_;
  std::unique_ptr<Analyst> analyst_;  // never nullptr
  std::shared_ptr<const Standing> standing_;
  static constexpr std::size_t kMostRememberedAlerts = 65'536;
  RecentSet<std::string> known_alerts_{kMostRememberedAlerts};  // id + step, already in the archive
  std::map<std::string, std::uint64_t> known_updates_;          // by id: updates in the archive, if any
  RecentSet<std::string> alert_ids_{kMostRememberedAlerts};     // fired in this run
  std::uint64_t alerts_before_ = 0;                             // of this run, that were not loaded
  std::uint64_t updates_said_ = 0;
  alert::Desk desk_;
  std::string handling_trouble_;  // why it is left as it is in the archive, or ""
  std::uint64_t handling_noted_ = 0;
  // Asked by people, and done.
  struct Question {
    std::uint64_t token = 0;
    std::string to;  // who is to be answered once the archive has it; "": nobody
    bool remote = false;
    std::string said;
    std::uint64_t version = 0;
    TimeNs since{};
  };
  std::deque<Question> questions_;  // oldest first, bounded
  Findings findings_;
  std::set<std::string> signatures_kept_;  // names of phases; bounded by those that can be recognised
  std::uint64_t sequence_ = 0;
  std::uint64_t requests_refused_ = 0;
  TimeNs next_report_{};
  TimeNs next_archived_{};
  bool fresh_ = false;  // something new to report
  // What a daemon that is started again looks back on: gone when it has.
  struct Past {
    const store::Archive& archive;
    store::Resume resume;
    LookBack back;
    std::map<std::string, alert::Alert> said;  // by id/step: as it was said then
  };
  std::unique_ptr<Past> past_;
  std::vector<PhaseRecords> phases_;  // of the levels that are watched
  ViewService views_;
  // Slices amid which the analysis failed: not shown to it again.
  static constexpr std::size_t kMostSkipped = 1024;
  std::set<SliceIndex> skipped_;
  SliceIndex first_slice_{std::numeric_limits<std::int64_t>::max()};  // of those that came as they closed
  std::uint64_t not_analysed_ = 0, failures_ = 0;
  std::string failure_;  // the last, a sentence
  TimeNs next_failure_said_{}, next_anew_{};
  std::uint64_t looked_at_ = 0;  // the journal's entries up to this number, when it was made anew
  bool making_anew_ = false;
  bool finish_remote_ = false;
  std::string finish_from_;  // who asked for the end, to be answered when it is reached
  std::optional<FinishRequest> finish_;
  TimeNs owner_gone_{};
  TimeNs next_owner_check_{};

  // How this daemon stands (margay/observe).
  static constexpr DurationNs kIngestPatience = seconds(5);
  observe::Values values_;
  observe::Verdict verdict_;
  observe::HealthWatch health_;
  observe::Pulse ingest_pulse_{kIngestPatience};
  TimeNs standing_at_{};
  TimeNs started_{}, started_wall_{};
  TimeNs next_process_{};
  std::thread thread_;
};

}  // namespace margay::app
