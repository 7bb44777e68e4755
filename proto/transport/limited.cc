#include "margay/transport/limited.h"

#include <algorithm>
#include <new>
#include <utility>

#include "moved_place.h"
#include "send_now.h"

namespace margay::transport {

namespace {

// The room of a message, given back by whichever thread lets go of it last.
struct Counted {
  std::shared_ptr<Outgoing> in;
  std::size_t bytes;
};
void let_go(void* data, void* hint) {
  const std::unique_ptr<Counted> counted(static_cast<Counted*>(hint));
  counted->in->bytes -= counted->bytes;
  ::operator delete(data);
}

}  // namespace

bool send_counted(Socket& socket, const google::protobuf::MessageLite& message, const std::string& to,
                  const std::shared_ptr<Outgoing>& outgoing) {
  const std::size_t size = message.ByteSizeLong();
  if (outgoing->bytes.fetch_add(size) + size > outgoing->most) {
    outgoing->bytes -= size;
    ++outgoing->refused;
    return false;
  }
  try {
    auto counted = std::make_unique<Counted>(Counted{outgoing, size});
    zmq::message_t body(::operator new(std::max<std::size_t>(1, size)), size, let_go, counted.release());
    if (!message.SerializeToArray(body.data(), static_cast<int>(size))) return false;
    return send_now(socket.raw(), to.empty() ? nullptr : &to, body);
  } catch (const zmq::error_t&) {
    return false;
  }
}

Result<LimitedSocket> LimitedSocket::bind(zmq::context_t& context, zmq::socket_type type,
                                          const std::string& endpoint, std::size_t most,
                                          const Intake& intake) {
  if (auto ok = check_endpoint(endpoint, {}); !ok) return tl::unexpected(ok.error());
  auto socket = Socket::unbound(context, type, {}, intake);
  if (!socket) return tl::unexpected(socket.error());
  // Before the first peer.
  auto monitor = Monitor::start(context, socket->raw());
  if (!monitor) return tl::unexpected(monitor.error());
  LimitedSocket limited(std::move(*socket), std::move(*monitor), endpoint, most);
  try {
    bind_at(limited.socket_.raw(), endpoint, 0);
  } catch (const zmq::error_t& e) {
    return fail(ErrorCode::kIo, endpoint + ": " + e.what());
  }
  return limited;
}

LimitedSocket::~LimitedSocket() {
  if (socket_.raw().handle() != nullptr) Monitor::stop(socket_.raw());
}

std::optional<Socket::Frame> LimitedSocket::try_receive() {
  auto frame = socket_.try_receive();
  if (frame && heard_.size() < came_) heard_.insert(frame->from);
  return frame;
}

// A connection ends with DISCONNECTED, after a failed handshake if it never got through one.
void LimitedSocket::count(const Monitor::Event& event) {
  switch (event.kind) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      ++peers_;
      ++came_;
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      ++strangers_;
      break;
    case ZMQ_EVENT_DISCONNECTED:
      if (strangers_ > 0)
        --strangers_;
      else if (peers_ > 0)
        --peers_;
      break;
    default:
      break;
  }
}

void LimitedSocket::keep_up() {
  while (const auto event = monitor_.next()) count(*event);
  zmq::socket_t& raw = socket_.raw();
  const bool drained = (raw.get(zmq::sockopt::events) & ZMQ_POLLIN) == 0;
  if (drained) {
    came_ = 0;
    heard_.clear();
  }
  if (bound_ && (peers_ > most_ || came_ - heard_.size() > kUnheard * most_)) {
    bound_ = false;
    ++cuts_;
    try {
      raw.unbind(bound_path(endpoint_, turn_));
    } catch (const zmq::error_t&) {
      // Its listener has gone.
    }
    static_cast<void>(::unlink(bound_path(endpoint_, turn_).c_str() + kIpc.size()));
    ++turn_;
  }
  if (bound_ || !drained) return;
  try {
    bind_at(raw, endpoint_, turn_);
    bound_ = true;
    // Of those that were cut off no end is told: the count begins anew.
    peers_ = came_ = strangers_ = 0;
    heard_.clear();
  } catch (const zmq::error_t&) {
    // The old listener still closes; the next pass tries again.
  }
}

}  // namespace margay::transport
