// The whole daemon, in order. This is the place to read first.
//
//   node agents ==ZeroMQ==> ingest: decode, check, once and in order      (collector/ingest)   \.
//                           slicer: intervals to cells                     (collector/slicer) margay-ingest
//                           levels: 100 ms -> 1 s -> 10 s -> 60 s          (collector/slicer)   /
//                             |  consistent cuts                           (collector/store)     margay-store
//                             |  closed slices, a bounded queue
//                           window: the optimal partitions                 (daemon/partition)  \.
//                           phases, perturbations                          (daemon/detect) margay-analyse
//                           alerts: file, archive; reports: ZeroMQ         (daemon/alert, live)/
//                             |  a bounded queue     questions on any stretch (query/)       margay-view
//                           command, webhook, Alertmanager, journal   (daemon/alert/sinks) margay-alerts
#pragma once

#include <memory>

#include "analysis_loop.h"
#include "ingest_loop.h"
#include "margay/analysis/exchange.h"
#include "margay/settings/options.h"
#include "margay/store/archive.h"
#include "margay/transport/gate.h"

namespace margay::daemon {

class Pipeline {
 public:
  // Opens (or makes) the archive, takes up where it left off, binds the endpoints and starts the threads.
  // Errors: kIo and those of the archive, with the place.
  // `clock` must outlive it (for tests; otherwise the machine's).
  static Result<std::unique_ptr<Pipeline>> start(Options options);
  static Result<std::unique_ptr<Pipeline>> start(Options options, const Clock& clock);
  ~Pipeline();

  // Ends in order: the last cut is committed, the run stays open for the next daemon.
  void request_stop() { exchange_.request_stop(); }
  bool stopped() const { return exchange_.stop; }
  void wait();
  // For the main thread: one line on how the daemon is, and one on how it was. At any time.
  std::string verdict();
  std::string summary();
  const observe::Heartbeats& beats() const { return exchange_.beats; }
  // Where other machines may come in, for people: sentences.
  const std::vector<std::string>& listening() const { return listening_; }

 private:
  Pipeline(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // The guarded sockets, as the options want them.
  struct Remote {
    std::optional<transport::GuardedSocket> ingest;
    RemoteViewers viewers;
  };
  Result<Remote> open_door();

  Options options_;
  std::vector<std::string> listening_;
  const Clock& clock_;
  zmq::context_t context_{1};
  std::unique_ptr<transport::Authenticator> door_;  // before the sockets that it guards, gone after them
  std::unique_ptr<transport::Gate> gate_;           // before them at the network
  Exchange exchange_;
  std::unique_ptr<store::Archive> archive_;
  std::unique_ptr<IngestLoop> ingest_;
  std::unique_ptr<AnalysisLoop> analysis_;
};

}  // namespace margay::daemon
