// Protobuf messages over ZeroMQ, with bounded queues and no exception leaving.
//
// Every socket has high-water marks, a linger of 0 and a largest message; ipc endpoints lie in the run's
// private directory, are told by the kernel who connects (SO_PEERCRED) and take in this user and root alone,
// and a client connects to the daemon of trusted_user() (local_user.h) and no other; tcp endpoints are
// encrypted (CURVE) and notice peers that have vanished. Thread safety: a Socket belongs to one thread.
#pragma once

#include <google/protobuf/message_lite.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "margay/base/result.h"
#include "margay/transport/notifier.h"

namespace margay::transport {

inline constexpr int kHighWaterMark = 1000;                // messages, each way
inline constexpr std::int64_t kLargestMessage = 16 << 20;  // bytes; longer ones close the connection

// What a socket holds for each of its peers, and takes from them. A message stays until it is read, also when
// its sender has gone: what a server is asked has to be short, and read as quickly as it can come.
struct Intake {
  int to_read = kHighWaterMark, to_send = kHighWaterMark;  // messages
  std::int64_t largest = kLargestMessage;                  // bytes of one that comes in
};
inline constexpr Intake kQuestions{16, 16, 4096};  // a server's that is asked for reports, or told to end
inline constexpr Intake kSubscriptions{16, 100, 4096};  // a publisher's

// What an authenticator calls the property of messages that says where their sender is.
inline constexpr const char* kPeerName = "Margay-Peer";

// How a socket protects itself. An endpoint that is not of this machine's file system (ipc) or process
// (inproc) needs keys; without them it is refused, unless it is a loopback address and `insecure` says so
// (tests).
struct Security {
  std::string server_secret;  // a server: its secret key
  std::string domain;         // a server: what is asked for ("ingest"), told to the authenticator
  std::string public_key, secret_key, server;  // a client: its pair, and the server's public key
  bool insecure = false;
};
// Errors: kInvalidArgument, with the command that helps.
Status check_endpoint(const std::string& endpoint, const Security& security);
bool is_local(const std::string& endpoint);  // ipc or inproc

class Socket {
 public:
  static Result<Socket> bind(zmq::context_t& context, zmq::socket_type type, const std::string& endpoint,
                             const Security& security = {}, const Intake& intake = Intake());
  static Result<Socket> connect(zmq::context_t& context, zmq::socket_type type, const std::string& endpoint,
                                const Security& security = {});
  // Neither bound nor connected yet. Errors: kInternal.
  static Result<Socket> unbound(zmq::context_t& context, zmq::socket_type type, const Security& security = {},
                                const Intake& intake = Intake());

  // Sends without blocking. False when the queue is full or nobody is there: the caller keeps the message.
  // For a ROUTER, `to` is the peer's routing id.
  bool try_send(const google::protobuf::MessageLite& message, const std::string& to = {});
  // Blocks up to `timeout`.
  bool send(const google::protobuf::MessageLite& message, std::chrono::milliseconds timeout);

  struct Frame {
    std::string from;  // routing id, for a ROUTER
    std::string body;
    std::string user;     // what the authenticator called the sender; "" where there is none
    std::string address;  // where it comes from, as the authenticator knows; "" likewise
  };
  // Takes a waiting message, if any. Messages of an unexpected shape are counted and skipped, so many at a
  // time.
  std::optional<Frame> try_receive();
  std::uint64_t malformed() const { return malformed_; }

  void subscribe_all();
  zmq::socket_t& raw() { return socket_; }

 private:
  explicit Socket(zmq::socket_t socket, bool router) : socket_(std::move(socket)), router_(router) {}

  zmq::socket_t socket_;
  bool router_;
  std::uint64_t malformed_ = 0;
};

// Waits until one of the sockets can be read, `notifier` was notified (it is cleared then), or `timeout` has
// passed. True if a socket can be read.
bool wait_readable(std::span<Socket* const> sockets, std::chrono::milliseconds timeout,
                   Notifier* notifier = nullptr);

}  // namespace margay::transport
