#include "margay/transport/guarded.h"

#include <algorithm>
#include <utility>

#include "moved_place.h"

namespace margay::transport {
Result<GuardedSocket> GuardedSocket::bind(zmq::context_t& context, zmq::socket_type type,
                                          const std::vector<std::string>& endpoints,
                                          const std::string& domain, Authenticator& authenticator,
                                          const Intake& intake) {
  if (endpoints.empty()) return fail(ErrorCode::kInvalidArgument, domain + ": nowhere to listen");
  const std::uint64_t generation = authenticator.generation();
  // The monitor has to be there before the first peer: the socket is bound in a second step.
  auto socket = Socket::unbound(context, type, authenticator.server(domain), intake);
  if (!socket) return tl::unexpected(socket.error());
  GuardedSocket guarded(std::move(*socket), domain, authenticator);
  guarded.generation_ = generation;
  if (auto ok = authenticator.watch(guarded.socket_.raw()); !ok) return tl::unexpected(ok.error());
  for (const std::string& e : endpoints) {
    if (auto ok = check_endpoint(e, authenticator.server(domain)); !ok) return tl::unexpected(ok.error());
    try {
      guarded.bind_one(e, endpoints);
      guarded.endpoints_.push_back(
          e.starts_with(kIpc) ? e : guarded.socket_.raw().get(zmq::sockopt::last_endpoint));
    } catch (const zmq::error_t& error) {
      return fail(ErrorCode::kIo, e + ": " + error.what());
    }
  }
  return guarded;
}

// A listener keeps the options that the socket has when it is bound: of several, each asks the authenticator
// in a name of its own.
void GuardedSocket::bind_one(const std::string& endpoint, const std::vector<std::string>& all) {
  if (all.size() > 1) {
    const auto lane = std::find(all.begin(), all.end(), endpoint) - all.begin();
    socket_.raw().set(zmq::sockopt::zap_domain, domain_ + "/" + std::to_string(lane));
  }
  bind_at(socket_.raw(), endpoint, turn_);
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
    for (const std::string& e : endpoints_) {
      const bool ipc = e.starts_with(kIpc);
      const std::string bound = ipc ? bound_path(e, turn_) : e;
      try {
        raw.unbind(bound);
      } catch (const zmq::error_t&) {
        // It waits to be bound already.
      }
      if (ipc) static_cast<void>(::unlink(bound.c_str() + kIpc.size()));
    }
    ++turn_;
    raw.set(zmq::sockopt::curve_secretkey, authenticator_->server(domain_).server_secret);
    to_bind_ = endpoints_;
  }
  if (to_bind_.empty()) return;
  std::erase_if(to_bind_, [&](const std::string& e) {
    try {
      bind_one(e, endpoints_);
      return true;
    } catch (const zmq::error_t&) {
      return false;  // the old listener still closes
    }
  });
  // Lets the transport get on with closing, also where nothing is sent or received.
  static_cast<void>(raw.get(zmq::sockopt::events));
}

}  // namespace margay::transport
