// The way from an Outbox to the daemon and back, over one connection. Logs once when the daemon refuses the
// connection or the events, and when it accepts them again.
//
// Thread safety: none. REQUIRES: the context and the clock outlive it.
#pragma once

#include <chrono>
#include <string>

#include "margay/base/time.h"
#include "margay/node/outbox.h"
#include "margay/transport/client_connection.h"

namespace margay::node {

class Uplink {
 public:
  // `endpoint` of the collector; `key`: file with this node's key for it, "" for a local endpoint.
  Uplink(zmq::context_t& context, const Clock& clock, std::string endpoint, const std::string& key)
      : clock_(clock),
        endpoint_(std::move(endpoint)),
        connection_(context, clock, zmq::socket_type::dealer, endpoint_, key) {}

  Status open() { return connection_.open(); }
  // Sends what is due.
  void send(Outbox& outbox);
  // Takes in the answers that are there; waits for the first at most `patience`. True if there were any.
  bool receive(Outbox& outbox, std::chrono::milliseconds patience);

 private:
  const Clock& clock_;
  std::string endpoint_;
  transport::ClientConnection connection_;
  std::string refused_, shut_out_;
};

}  // namespace margay::node
