// The daemon's first thread ("margay-ingest"): carries messages between agents' sockets and the ingest, and
// lets it do what is due. `start` and `join` are for the thread that made it.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "margay/live/ingest_stage.h"
#include "margay/transport/guarded.h"
#include "margay/transport/limited.h"

namespace margay::daemon {

class IngestLoop {
 public:
  // `remote` takes what agents on other machines send; the others as of IngestStage::make.
  static Result<std::unique_ptr<IngestLoop>> make(const Options& options, zmq::context_t& context,
                                                  store::Archive& archive, const store::Resume& resume,
                                                  const LookBack& back, Exchange& exchange,
                                                  const Clock& clock,
                                                  std::optional<transport::GuardedSocket> remote = {});
  ~IngestLoop() { join(); }
  void start();
  void join();

 private:
  IngestLoop(transport::LimitedSocket socket, std::optional<transport::GuardedSocket> remote,
             const Options& options, Exchange& exchange, const Clock& clock);
  IngestStage::Ports ports();
  void run();
  bool receive();
  void take(const transport::Socket::Frame& frame, char way);

  Exchange& exchange_;
  const Clock& clock_;
  transport::LimitedSocket socket_;
  std::optional<transport::GuardedSocket> remote_;
  std::ofstream capture_;  // every message as it came in, for tests
  std::unique_ptr<IngestStage> stage_;
  std::thread thread_;
};

}  // namespace margay::daemon
