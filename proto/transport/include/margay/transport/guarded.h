// A server socket that is reached from other machines: only keys that an Authenticator admits come in, and
// only as long as it does.
//
// Where it binds is a list of its own (tcp addresses, or ipc paths of something that stands before it). Of
// several, the authenticator is told which one a handshake came through: "DOMAIN/NUMBER" (gate.h, lanes).
// Thread safety: belongs to one thread. REQUIRES: the authenticator outlives it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/transport/security.h"

namespace margay::transport {

class GuardedSocket {
 public:
  static Result<GuardedSocket> bind(zmq::context_t& context, zmq::socket_type type,
                                    const std::vector<std::string>& endpoints, const std::string& domain,
                                    Authenticator& authenticator, const Intake& intake = Intake());
  GuardedSocket(GuardedSocket&&) = default;
  GuardedSocket& operator=(GuardedSocket&&) = delete;
  ~GuardedSocket();

  // Messages of those who are admitted; others are dropped and counted.
  std::optional<Socket::Frame> try_receive();
  Socket& socket() { return socket_; }
  std::uint64_t malformed() const { return socket_.malformed(); }
  Authenticator& authenticator() { return *authenticator_; }
  // Where it listens, with the port that was found for "*".
  const std::vector<std::string>& endpoints() const { return endpoints_; }
  // Call each pass. When rights or the daemon's key have changed, everybody is cut off and may come back with
  // a key that is good now. Waits for nothing: a place that is not free yet is bound at a later call.
  void keep_up();

 private:
  GuardedSocket(Socket socket, std::string domain, Authenticator& authenticator)
      : socket_(std::move(socket)), domain_(std::move(domain)), authenticator_(&authenticator) {}

  void bind_one(const std::string& endpoint, const std::vector<std::string>& all);

  Socket socket_;
  std::string domain_;
  Authenticator* authenticator_;
  std::vector<std::string> endpoints_;
  std::vector<std::string> to_bind_;
  std::uint64_t generation_ = 0;
  std::uint32_t turn_ = 0;  // how often it was bound anew
};

}  // namespace margay::transport
