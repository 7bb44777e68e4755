#include "margay/transport/guarded.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace margay::transport {
namespace {

// The old listener removes its path when it closes, and would remove the new one's.
bool place_is_free(const std::string& endpoint) {
  struct stat st {};
  return !endpoint.starts_with("ipc://") || stat(endpoint.c_str() + 6, &st) != 0;
}

}  // namespace

Result<GuardedSocket> GuardedSocket::bind(zmq::context_t& context, zmq::socket_type type,
                                          const std::vector<std::string>& endpoints,
                                          const std::string& domain, Authenticator& authenticator) {
  if (endpoints.empty()) return fail(ErrorCode::kInvalidArgument, domain + ": nowhere to listen");
  const std::uint64_t generation = authenticator.generation();
  // The monitor has to be there before the first peer: the socket is bound in a second step.
  auto socket = Socket::unbound(context, type, authenticator.server(domain));
  if (!socket) return tl::unexpected(socket.error());
  GuardedSocket guarded(std::move(*socket), domain, authenticator);
  guarded.generation_ = generation;
  if (auto ok = authenticator.watch(guarded.socket_.raw()); !ok) return tl::unexpected(ok.error());
  for (const std::string& e : endpoints) {
    if (auto ok = check_endpoint(e, authenticator.server(domain)); !ok) return tl::unexpected(ok.error());
    try {
      guarded.socket_.raw().bind(e);
      guarded.endpoints_.push_back(guarded.socket_.raw().get(zmq::sockopt::last_endpoint));
    } catch (const zmq::error_t& error) {
      return fail(ErrorCode::kIo, e + ": " + error.what());
    }
  }
  return guarded;
}

GuardedSocket::~GuardedSocket() {
  if (socket_.raw().handle() != nullptr) Monitor::stop(socket_.raw());
}

std::optional<Socket::Frame> GuardedSocket::try_receive() {
  while (auto frame = socket_.try_receive())
    if (authenticator_->admits(frame->user, domain_)) return frame;
  return std::nullopt;
}

void GuardedSocket::keep_up() {
  zmq::socket_t& raw = socket_.raw();
  if (const std::uint64_t now = authenticator_->generation(); now != generation_) {
    generation_ = now;
    for (const std::string& e : endpoints_) try {
        raw.unbind(e);
      } catch (const zmq::error_t&) {
        // It waits to be bound already.
      }
    raw.set(zmq::sockopt::curve_secretkey, authenticator_->server(domain_).server_secret);
    to_bind_ = endpoints_;
  }
  if (to_bind_.empty()) return;
  std::erase_if(to_bind_, [&](const std::string& e) {
    if (!place_is_free(e)) return false;
    try {
      raw.bind(e);
      return true;
    } catch (const zmq::error_t&) {
      return false;  // the old listener still closes
    }
  });
  // Lets the transport get on with closing, also where nothing is sent or received.
  static_cast<void>(raw.get(zmq::sockopt::events));
}

}  // namespace margay::transport
