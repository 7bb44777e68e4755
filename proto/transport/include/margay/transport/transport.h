// Protobuf messages over ZeroMQ, with bounded queues and no exception leaving.
//
// Every socket has high-water marks, a linger of 0 and a largest message; ipc endpoints lie in the run's
// private directory. Thread safety: a Socket belongs to one thread.
#pragma once

#include <google/protobuf/message_lite.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "margay/base/result.h"

namespace margay::transport {

inline constexpr int kHighWaterMark = 1000;                // messages, each way
inline constexpr std::int64_t kLargestMessage = 16 << 20;  // bytes; longer ones close the connection

class Socket {
 public:
  static Result<Socket> bind(zmq::context_t& context, zmq::socket_type type, const std::string& endpoint);
  static Result<Socket> connect(zmq::context_t& context, zmq::socket_type type, const std::string& endpoint);

  // Sends without blocking. False when the queue is full or nobody is there: the caller keeps the message.
  // For a ROUTER, `to` is the peer's routing id.
  bool try_send(const google::protobuf::MessageLite& message, const std::string& to = {});
  // Blocks up to `timeout`.
  bool send(const google::protobuf::MessageLite& message, std::chrono::milliseconds timeout);

  struct Frame {
    std::string from;  // routing id, for a ROUTER
    std::string body;
  };
  // Takes a waiting message, if any. Messages of an unexpected shape are taken, counted and skipped.
  std::optional<Frame> try_receive();
  std::uint64_t malformed() const { return malformed_; }

  void subscribe_all();
  zmq::socket_t& raw() { return socket_; }

 private:
  explicit Socket(zmq::socket_t socket, bool router) : socket_(std::move(socket)), router_(router) {}
  static Result<Socket> open(zmq::context_t& context, zmq::socket_type type, const std::string& endpoint,
                             bool bind);

  zmq::socket_t socket_;
  bool router_;
  std::uint64_t malformed_ = 0;
};

// Waits until one of the sockets can be read or `timeout` has passed. True if one can.
bool wait_readable(std::span<Socket* const> sockets, std::chrono::milliseconds timeout);

}  // namespace margay::transport
