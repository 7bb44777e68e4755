// Private: one message, sent or not, without waiting.
#pragma once

#include <string>
#include <zmq.hpp>

namespace margay::transport {

// To the peer with the routing id `to`; null: the socket knows where to. False: its queue is full. Throws
// zmq::error_t: EHOSTUNREACH, the peer has gone.
bool send_now(zmq::socket_t& socket, const std::string* to, zmq::message_t& body);

}  // namespace margay::transport
