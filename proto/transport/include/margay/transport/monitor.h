// What happens to the connections of one ZeroMQ socket.
//
// REQUIRES: closed before its socket is (a socket whose monitor nobody reads stops): `stop(socket)` first.
// Thread safety: one thread at a time; handed on to another with a lock between.
#pragma once

#include <cstdint>
#include <optional>
#include <zmq.hpp>

#include "margay/base/result.h"

namespace margay::transport {

class Monitor {
 public:
  struct Event {
    std::uint16_t kind = 0;  // ZMQ_EVENT_...
    std::uint32_t value = 0;
  };
  static Result<Monitor> start(zmq::context_t& context, zmq::socket_t& watched);
  // The socket's own thread, before the socket is closed.
  static void stop(zmq::socket_t& watched) { zmq_socket_monitor(watched.handle(), nullptr, 0); }

  std::optional<Event> next();
  zmq::socket_t& raw() { return events_; }

 private:
  explicit Monitor(zmq::socket_t events) : events_(std::move(events)) {}
  zmq::socket_t events_;
};

}  // namespace margay::transport
