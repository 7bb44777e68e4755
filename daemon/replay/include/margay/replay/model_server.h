// A model of somebody's own, served to viewers as a replay is: one report that says what there is, and
// answers to questions about any stretch of it (VIEW). Nothing plays: there are no phases and no alerts, for
// nothing is detected in it, and no single events.
//
// Thread safety: none; serve() belongs to one thread, `stop` may be set from a signal handler. Owns its
// sockets and the thread that computes answers. Every wait is short.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "margay/query/view_source.h"
#include "margay/serve/view_service.h"
#include "margay/transport/rundir.h"
#include "margay/transport/transport.h"
#include "margay/wire/report.pb.h"

namespace margay::daemon {

class ModelServer {
 public:
  // `source` is of a model (view_source()). Errors: of binding the endpoints, and of the source.
  static Result<std::unique_ptr<ModelServer>> open(std::unique_ptr<const ViewSource> source,
                                                   const transport::RunDirectory& directory,
                                                   const Clock& clock);

  // Until `stop`, or a viewer ends it.
  void serve(const std::atomic<bool>& stop);
  // What viewers receive: states, with the share of each in all cells, and from when to when. Pure.
  static Result<wire::Report> report_of(const ViewSource& source);

 private:
  explicit ModelServer(const Clock& clock) : clock_(clock) {}
  void publish();
  // False: the viewer ends it.
  bool answer(const transport::Socket::Frame& frame);

  const Clock& clock_;
  zmq::context_t context_{1};
  std::optional<transport::Socket> reports_, control_;
  std::unique_ptr<ViewService> views_;
  wire::Report report_;
};

}  // namespace margay::daemon
