// A server socket of this machine (ipc) that has so many peers at once, and holds so many messages of them,
// and no more.
//
// libzmq takes in whoever connects, and what a peer has sent stays until it is read, also when the peer has
// gone. So peers are counted: those that are connected, `most` at most, and those that came and of whom
// nothing was read yet, kUnheard times as many. (They may be many for an instant: processes that say one word
// and go.) Where they are more, all are cut off, and nobody comes in until what they left has been read; who
// means well comes back by itself and sends again what was not confirmed. Connections that have not said who
// they are hold no message, and count for nothing here.
//
// Memory, at most: (intake.to_read + 1) * intake.largest for each of `most` peers, and what comes between two
// calls of keep_up(). Thread safety: belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "margay/transport/monitor.h"
#include "margay/transport/transport.h"

namespace margay::transport {

// What lies in the queues of sockets that share it, waiting for peers that read slowly, or not at all.
// Counted to the byte: what several peers are sent is there once. Thread safety: any.
struct Outgoing {
  explicit Outgoing(std::size_t at_most) : most(at_most) {}
  const std::size_t most;
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::uint64_t> refused{0};  // messages for which there was no room
};
// As Socket::try_send, of a server's ROUTER (`to`: the peer's routing id) or publisher (""). False also where
// `outgoing` has no room.
bool send_counted(Socket& socket, const google::protobuf::MessageLite& message, const std::string& to,
                  const std::shared_ptr<Outgoing>& outgoing);

class LimitedSocket {
 public:
  // Errors: those of Socket::bind.
  static constexpr std::size_t kUnheard = 8;
  static Result<LimitedSocket> bind(zmq::context_t& context, zmq::socket_type type,
                                    const std::string& endpoint, std::size_t most, const Intake& intake);
  LimitedSocket(LimitedSocket&&) = default;
  LimitedSocket& operator=(LimitedSocket&&) = delete;
  ~LimitedSocket();

  std::optional<Socket::Frame> try_receive();
  Socket& socket() { return socket_; }
  std::uint64_t malformed() const { return socket_.malformed(); }
  std::size_t peers() const { return peers_; }
  // Times that all were cut off.
  std::uint64_t cuts() const { return cuts_; }
  // Call each pass. Waits for nothing.
  void keep_up();

 private:
  LimitedSocket(Socket socket, Monitor monitor, std::string endpoint, std::size_t most)
      : socket_(std::move(socket)),
        monitor_(std::move(monitor)),
        endpoint_(std::move(endpoint)),
        most_(most) {}
  void count(const Monitor::Event& event);

  Socket socket_;
  Monitor monitor_;
  std::string endpoint_;
  std::size_t most_;
  std::uint32_t turn_ = 0;  // how often it was bound anew
  bool bound_ = true;
  std::size_t peers_ = 0;                  // that have said who they are, and are there
  std::size_t came_ = 0;                   // since nothing waited
  std::unordered_set<std::string> heard_;  // since then, by routing id; no more than came_ of them
  std::size_t strangers_ = 0;              // whose end is still to be told: they never said who they are
  std::uint64_t cuts_ = 0;
};

}  // namespace margay::transport
