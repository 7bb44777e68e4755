#include "margay/transport/monitor.h"

#include <atomic>
#include <cstring>
#include <string>

namespace margay::transport {

Result<Monitor> Monitor::start(zmq::context_t& context, zmq::socket_t& watched) {
  static std::atomic<std::uint64_t> number{0};
  const std::string place = "inproc://margay-monitor-" + std::to_string(++number);
  // Not MONITOR_STOPPED: the socket would wait until somebody takes it.
  constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                          ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
  try {
    if (zmq_socket_monitor(watched.handle(), place.c_str(), kEvents) != 0) throw zmq::error_t();
    zmq::socket_t events(context, zmq::socket_type::pair);
    events.set(zmq::sockopt::linger, 0);
    events.connect(place);
    return Monitor(std::move(events));
  } catch (const zmq::error_t& e) {
    return fail(ErrorCode::kInternal, std::string("a socket cannot be watched: ") + e.what());
  }
}

std::optional<Monitor::Event> Monitor::next() {
  try {
    zmq::message_t part;
    if (!events_.recv(part, zmq::recv_flags::dontwait) || part.size() < 6) return std::nullopt;
    Event event;
    std::memcpy(&event.kind, part.data(), sizeof event.kind);
    std::memcpy(&event.value, static_cast<const char*>(part.data()) + sizeof event.kind, sizeof event.value);
    while (part.more())
      if (!events_.recv(part, zmq::recv_flags::dontwait)) break;
    return event;
  } catch (const zmq::error_t&) {
    return std::nullopt;
  }
}

}  // namespace margay::transport
