// The daemon's second thread ("margay-analyse"): carries questions and answers between the control sockets
// and the analysis, publishes its reports, and lets it do what is due. `start` and `join` are for the thread
// that made it.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "margay/live/analysis_stage.h"
#include "margay/transport/guarded.h"
#include "margay/transport/limited.h"

namespace margay::daemon {

// The same two sockets for other machines.
struct RemoteViewers {
  std::optional<transport::GuardedSocket> reports, control;
  std::uint32_t reports_port = 0;  // that the network sees
};

class AnalysisLoop {
 public:
  static Result<std::unique_ptr<AnalysisLoop>> make(const Options& options, zmq::context_t& context,
                                                    const store::Archive& archive,
                                                    const store::Resume& resume, const LookBack& back,
                                                    Exchange& exchange, const Clock& clock,
                                                    RemoteViewers remote = {});
  ~AnalysisLoop() { join(); }
  void start();
  void join();

 private:
  AnalysisLoop(transport::LimitedSocket reports, transport::LimitedSocket control, RemoteViewers remote,
               Exchange& exchange, const Clock& clock);
  AnalysisStage::Ports ports();
  void run();
  void receive();

  Exchange& exchange_;
  const Clock& clock_;
  transport::LimitedSocket reports_, control_;
  RemoteViewers remote_;
  std::unique_ptr<AnalysisStage> stage_;
  std::thread thread_;
};

}  // namespace margay::daemon
