#include "margay/transport/client_connection.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "local_peer.h"
#include "margay/transport/gate.h"

namespace margay::transport {
namespace {

constexpr DurationNs kFirstWait = seconds(1);
constexpr DurationNs kLastWait = seconds(30);
constexpr DurationNs kKeyFilePeriod = milliseconds(500);
// A daemon that is being restarted breaks a handshake off as well: only so many in a row tell something.
constexpr std::size_t kFailuresInARow = 4;

std::string signature(const std::string& file) {
  struct stat st {};
  if (stat(file.c_str(), &st) != 0) return "";
  return std::to_string(st.st_ino) + ' ' + std::to_string(st.st_size) + ' ' + std::to_string(st.st_mode) +
         ' ' + std::to_string(st.st_mtim.tv_sec) + '.' + std::to_string(st.st_mtim.tv_nsec);
}

}  // namespace

ClientConnection::ClientConnection(zmq::context_t& context, const Clock& clock, zmq::socket_type type,
                                   std::string endpoint, std::string key_file)
    : context_(context),
      clock_(clock),
      type_(type),
      endpoint_(std::move(endpoint)),
      key_file_(std::move(key_file)) {}

ClientConnection::~ClientConnection() {
  close();
}

void ClientConnection::close() {
  if (socket_ && monitor_) Monitor::stop(socket_->raw());
  socket_.reset();
  monitor_.reset();
}

Status ClientConnection::read_key() {
  file_signature_ = signature(key_file_);
  auto key = load_client_key(key_file_);
  if (!key) return tl::unexpected(key.error());
  key_ = std::move(*key);
  server_ = 0;
  return {};
}

Security ClientConnection::security() const {
  Security s;
  if (!key_) return s;
  s.public_key = key_->pair.public_key;
  s.secret_key = key_->pair.secret_key;
  s.server = key_->servers[server_ % key_->servers.size()];
  return s;
}

Status ClientConnection::open() {
  if (is_local(endpoint_)) {
    if (auto ok = check_local_daemon(endpoint_); !ok) return ok;
    return connect();
  }
  if (key_file_.empty())
    return fail(ErrorCode::kInvalidArgument,
                endpoint_ +
                    ": a daemon on the network wants a key: give --key FILE (its owner makes one with "
                    "`margay keys add`)");
  if (auto ok = read_key(); !ok) return ok;
  if (auto ok = check_endpoint(endpoint_, security()); !ok) return ok;
  if (auto ok = connect(); !ok) return fail(ErrorCode::kInvalidArgument, ok.error().message);
  return {};
}

Status ClientConnection::connect() {
  close();
  retry_at_ = TimeNs();
  auto socket = Socket::unbound(context_, type_, security());
  if (!socket) throw std::runtime_error(socket.error().message);  // out of file descriptors
  socket_.emplace(std::move(*socket));
  if (key_) {
    auto monitor = Monitor::start(context_, socket_->raw());
    if (monitor) monitor_.emplace(std::move(*monitor));
  }
  if (type_ == zmq::socket_type::sub) socket_->subscribe_all();
  try {
    socket_->raw().connect(endpoint_);
    return {};
  } catch (const zmq::error_t& e) {
    give_up_for_now(endpoint_ + ": " + e.what());
    return fail(ErrorCode::kIo, refused_);
  }
}

void ClientConnection::reconnect() {
  if (refused_.empty() && retry_at_ == TimeNs()) static_cast<void>(connect());
}

void ClientConnection::give_up_for_now(const std::string& why) {
  refused_ = why;
  try {
    socket_->raw().disconnect(endpoint_);
  } catch (const zmq::error_t&) {
    // It has ended by itself.
  }
  retry_at_ = clock_.monotonic() + wait_;
  wait_ = std::min(wait_ * 2, kLastWait);
}

void ClientConnection::on_failure(int kind, std::uint32_t value) {
  const std::string who = "'" + key_->name + "', " + fingerprint(key_->pair.public_key);
  if (kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH && value == kNoRoom) {
    give_up_for_now(
        endpoint_ +
        ": refused: the daemon has no room for another connection now (listen.connections, "
        "listen.per_address, or too many new ones a second; its log says which); it is tried again");
    return;
  }
  if (kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
    give_up_for_now(endpoint_ + ": refused: the daemon does not know this key (" + who + ", of " + key_file_ +
                    "), or its role is another; ask its owner for `margay keys add`");
    return;
  }
  ++failures_;
  if (kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) {
    give_up_for_now(endpoint_ + ": refused: what answers there is no margayd that takes keys");
    return;
  }
  // It broke off: the daemon's key may be another one of those in the file, or none of them.
  ++server_;
  if (failures_ >= std::max(kFailuresInARow, 2 * key_->servers.size()))
    give_up_for_now(endpoint_ + ": refused: what answers there has not the daemon's key that stands in " +
                    key_file_ +
                    " (was it changed? ask its owner), or closes each connection for want of room");
  else if (key_->servers.size() > 1)
    static_cast<void>(connect());
}

void ClientConnection::look() {
  if (!key_) return;
  const TimeNs now = clock_.monotonic();
  if (now >= next_look_) {
    next_look_ = now + kKeyFilePeriod;
    if (const std::string s = signature(key_file_); !s.empty() && s != file_signature_) {
      if (auto ok = read_key(); ok) {
        wait_ = kFirstWait;
        failures_ = 0;
        static_cast<void>(connect());
      } else {
        refused_ = ok.error().message;  // the old key goes on
      }
    }
  }
  while (monitor_) {
    const auto event = monitor_->next();
    if (!event) break;
    if (event->kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      refused_.clear();
      failures_ = 0;
      wait_ = kFirstWait;
    } else if (event->kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ||
               event->kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
               event->kind == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
      on_failure(event->kind, event->value);
      break;  // the monitor may be another one now
    }
  }
  if (retry_at_ != TimeNs() && now >= retry_at_) static_cast<void>(connect());
}

std::uint32_t port_of(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with("tcp://") || colon == std::string::npos || colon < 6) return 0;
  std::uint32_t port = 0;
  const char* end = endpoint.data() + endpoint.size();
  const auto r = std::from_chars(endpoint.data() + colon + 1, end, port);
  return r.ec == std::errc() && r.ptr == end && port <= 65535 ? port : 0;
}

std::string with_port(const std::string& endpoint, std::uint32_t port) {
  if (port == 0 || port > 65535 || port_of(endpoint) == 0) return "";
  return endpoint.substr(0, endpoint.rfind(':') + 1) + std::to_string(port);
}

}  // namespace margay::transport
