#include "margay/transport/transport.h"

#include <unistd.h>

#include <utility>

#include "local_peer.h"
#include "send_now.h"

namespace margay::transport {
namespace {

constexpr int kHandshakeMs = 2000;  // a server's patience with a peer that does not introduce itself
constexpr int kHeartbeatMs = 5000;
constexpr int kHeartbeatTimeoutMs = 15'000;
constexpr int kMostSkipped = 256;  // messages of no use, before the caller has its turn again

void protect(zmq::socket_t& socket, const Security& security) {
  if (!security.server_secret.empty()) {
    socket.set(zmq::sockopt::curve_server, true);
    socket.set(zmq::sockopt::curve_secretkey, security.server_secret);
    socket.set(zmq::sockopt::zap_domain, security.domain);
    socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  } else if (!security.server.empty()) {
    socket.set(zmq::sockopt::curve_serverkey, security.server);
    socket.set(zmq::sockopt::curve_publickey, security.public_key);
    socket.set(zmq::sockopt::curve_secretkey, security.secret_key);
  }
  if (security.server_secret.empty() && security.server.empty()) return;
  socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatMs);
  socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatTimeoutMs);
  socket.set(zmq::sockopt::heartbeat_ttl, kHeartbeatTimeoutMs);
  socket.set(zmq::sockopt::tcp_keepalive, 1);
}

// Of those who connect over ipc, the kernel says who they are (SO_PEERCRED): ourselves, and root, who may do
// what he likes anyway. Others are closed before a byte is read.
void only_ours(zmq::socket_t& socket) {
  for (const uid_t uid : {geteuid(), uid_t{0}})
    if (zmq_setsockopt(socket.handle(), ZMQ_IPC_FILTER_UID, &uid, sizeof uid) != 0) throw zmq::error_t();
}

// `attach` binds it, or connects it.
template <class Attach>
Result<Socket> attached(Result<Socket> socket, const std::string& endpoint, Attach attach) {
  if (!socket) return socket;
  try {
    attach(socket->raw());
  } catch (const zmq::error_t& e) {
    return fail(ErrorCode::kIo, endpoint + ": " + e.what());
  }
  return socket;
}

}  // namespace

bool send_now(zmq::socket_t& socket, const std::string* to, zmq::message_t& body) {
  const auto attempt = [&] {
    if (to != nullptr && !socket.send(zmq::buffer(*to), zmq::send_flags::sndmore | zmq::send_flags::dontwait))
      return false;
    return socket.send(body, zmq::send_flags::dontwait).has_value();
  };
  if (attempt()) return true;
  // A queue that was full may have emptied: the socket hears of that when it is asked, not on each call.
  static_cast<void>(socket.get(zmq::sockopt::events));
  return attempt();
}

bool is_local(const std::string& endpoint) {
  return endpoint.starts_with("ipc://") || endpoint.starts_with("inproc://");
}

Status check_endpoint(const std::string& endpoint, const Security& security) {
  if (is_local(endpoint)) return {};
  if (!endpoint.starts_with("tcp://") || endpoint.rfind(':') <= 6)
    return fail(ErrorCode::kInvalidArgument,
                "'" + endpoint + "': expected tcp://ADDRESS:PORT, such as tcp://127.0.0.1:7411");
  if (!security.server_secret.empty() || !security.server.empty()) return {};
  const bool loopback = endpoint.starts_with("tcp://127.") || endpoint.starts_with("tcp://[::1]:");
  if (security.insecure && loopback) return {};
  return fail(ErrorCode::kInvalidArgument,
              endpoint +
                  ": needs keys; type: margay keys init DIR, then margay keys add DIR NAME --role source "
                  "(proto/SECURITY.md)");
}

Result<Socket> Socket::unbound(zmq::context_t& context, zmq::socket_type type, const Security& security,
                               const Intake& intake) {
  try {
    zmq::socket_t socket(context, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::sndhwm, intake.to_send);
    socket.set(zmq::sockopt::rcvhwm, intake.to_read);
    socket.set(zmq::sockopt::maxmsgsize, intake.largest);
    socket.set(zmq::sockopt::reconnect_ivl, 50);
    socket.set(zmq::sockopt::reconnect_ivl_max, 500);
    if (type == zmq::socket_type::router) {
      socket.set(zmq::sockopt::router_mandatory, true);  // an unreachable peer is an answer, not silence
      socket.set(zmq::sockopt::router_handover, false);
    }
    if (type == zmq::socket_type::req) {
      // A lost reply must not wedge the client for ever.
      socket.set(zmq::sockopt::req_relaxed, true);
      socket.set(zmq::sockopt::req_correlate, true);
    }
    protect(socket, security);
    only_ours(socket);
    return Socket(std::move(socket), type == zmq::socket_type::router);
  } catch (const zmq::error_t& e) {
    return fail(ErrorCode::kInternal, std::string("no socket can be made: ") + e.what());
  }
}

Result<Socket> Socket::bind(zmq::context_t& context, zmq::socket_type type, const std::string& endpoint,
                            const Security& security, const Intake& intake) {
  if (auto ok = check_endpoint(endpoint, security); !ok) return tl::unexpected(ok.error());
  return attached(unbound(context, type, security, intake), endpoint,
                  [&](zmq::socket_t& raw) { raw.bind(endpoint); });
}
Result<Socket> Socket::connect(zmq::context_t& context, zmq::socket_type type, const std::string& endpoint,
                               const Security& security) {
  if (auto ok = check_endpoint(endpoint, security); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_local_daemon(endpoint); !ok) return tl::unexpected(ok.error());
  return attached(unbound(context, type, security), endpoint,
                  [&](zmq::socket_t& raw) { raw.connect(endpoint); });
}

bool Socket::try_send(const google::protobuf::MessageLite& message, const std::string& to) {
  try {
    zmq::message_t body(message.ByteSizeLong());
    if (!message.SerializeToArray(body.data(), static_cast<int>(body.size()))) return false;
    return send_now(socket_, router_ ? &to : nullptr, body);
  } catch (const zmq::error_t&) {
    return false;
  }
}

bool Socket::send(const google::protobuf::MessageLite& message, std::chrono::milliseconds timeout) {
  try {
    zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLOUT, 0};
    if (zmq::poll(&item, 1, timeout) == 0) return false;
  } catch (const zmq::error_t&) {
    return false;
  }
  return try_send(message);
}

std::optional<Socket::Frame> Socket::try_receive() {
  try {
    for (int skipped = 0; skipped < kMostSkipped; ++skipped) {
      std::vector<zmq::message_t> parts;
      zmq::message_t part;
      if (!socket_.recv(part, zmq::recv_flags::dontwait)) return std::nullopt;
      parts.push_back(std::move(part));
      constexpr std::size_t kMostParts = 4;
      bool too_many = false;
      while (socket_.get(zmq::sockopt::rcvmore)) {
        zmq::message_t more;
        if (!socket_.recv(more)) break;
        if (parts.size() < kMostParts)
          parts.push_back(std::move(more));
        else
          too_many = true;
      }
      const std::size_t wanted = router_ ? 2 : 1;
      if (too_many || parts.size() != wanted) {
        ++malformed_;
        continue;
      }
      Frame frame;
      if (router_) frame.from = parts[0].to_string();
      frame.body = parts.back().to_string();
      const char* user = zmq_msg_gets(parts.back().handle(), "User-Id");
      if (user != nullptr) frame.user = user;
      // No sender can say it itself: what the authenticator says comes first.
      const char* const peer = user != nullptr ? zmq_msg_gets(parts.back().handle(), kPeerName) : nullptr;
      if (peer != nullptr) frame.address = peer;
      return frame;
    }
  } catch (const zmq::error_t&) {
    // The context ends.
  }
  return std::nullopt;
}

void Socket::subscribe_all() {
  socket_.set(zmq::sockopt::subscribe, "");
}

bool wait_readable(std::span<Socket* const> sockets, std::chrono::milliseconds timeout, Notifier* notifier) {
  std::vector<zmq::pollitem_t> items;
  for (Socket* s : sockets) items.push_back({s->raw().handle(), 0, ZMQ_POLLIN, 0});
  const bool listens = notifier != nullptr && notifier->descriptor() >= 0;
  if (listens) items.push_back({nullptr, notifier->descriptor(), ZMQ_POLLIN, 0});
  try {
    const int ready = zmq::poll(items, timeout);
    const bool notified = listens && items.back().revents != 0;
    if (notified) notifier->clear();
    return ready > (notified ? 1 : 0);
  } catch (const zmq::error_t&) {
    return false;  // interrupted by a signal
  }
}

}  // namespace margay::transport
