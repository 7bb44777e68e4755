#include "margay/live/ingest_loop.h"

#include <pthread.h>

#include <utility>

namespace margay::daemon {
namespace {

// Where nothing comes: for what is a matter of time only.
constexpr std::chrono::milliseconds kPoll(20);
// An agent's batches come one behind the other, one for each of its processes: they are taken together.
constexpr std::chrono::milliseconds kGather(2);
constexpr int kMessagesARound = 256;
// Of receiving from a socket; then slices are closed and cuts made.
constexpr DurationNs kLongestRound = milliseconds(25);
constexpr char kHere = 'h', kRemote = 'r';

// Of what stands before the guarded socket; either may be nullptr.
void set_door(const transport::Authenticator* door, const transport::Gate* gate, observe::Values& v) {
  const transport::SecurityCounters d = door != nullptr ? door->snapshot() : transport::SecurityCounters{};
  v.set(observe::Id::connections_accepted, d.connections_accepted);
  v.set(observe::Id::handshakes_failed, d.handshakes_failed);
  v.set(observe::Id::keys_refused, d.keys_refused);
  v.set(observe::Id::roles_refused, d.roles_refused);
  v.set(observe::Id::messages_unauthorised, d.messages_unauthorised);
  v.set(observe::Id::clients_authorised, d.clients_authorised);
  const transport::GateCounters g = gate != nullptr ? gate->counters() : transport::GateCounters{};
  v.set(observe::Id::gate_connections, g.open_now);
  v.set(observe::Id::gate_accepted, g.accepted);
  v.set(observe::Id::gate_refused,
        g.refused_full + g.refused_address + g.refused_rate + g.out_of_descriptors);
  v.set(observe::Id::gate_evicted, g.evicted + g.handshake_timeouts);
  v.set(observe::Id::gate_strangers_refused,
        g.not_zmtp + g.too_chatty + g.handshake_failures + g.handshake_abandoned);
  v.set(observe::Id::gate_server_away, g.backend_unavailable);
}

}  // namespace

Result<std::unique_ptr<IngestLoop>> IngestLoop::make(const Options& options, zmq::context_t& context,
                                                     store::Archive& archive, const store::Resume& resume,
                                                     const LookBack& back, Exchange& exchange,
                                                     const Clock& clock,
                                                     std::optional<transport::GuardedSocket> remote) {
  auto socket = transport::LimitedSocket::bind(context, zmq::socket_type::router,
                                               options.directory.ingest_endpoint(), kMostAgents, kRecords);
  if (!socket) return tl::unexpected(socket.error());
  std::unique_ptr<IngestLoop> loop(
      new IngestLoop(std::move(*socket), std::move(remote), options, exchange, clock));
  auto stage = IngestStage::make(options, archive, resume, back, exchange, clock, loop->ports());
  if (!stage) return tl::unexpected(stage.error());
  loop->stage_ = std::move(*stage);
  return loop;
}

IngestLoop::IngestLoop(transport::LimitedSocket socket, std::optional<transport::GuardedSocket> remote,
                       const Options& options, Exchange& exchange, const Clock& clock)
    : exchange_(exchange), clock_(clock), socket_(std::move(socket)), remote_(std::move(remote)) {
  if (!options.capture.empty()) capture_.open(options.capture, std::ios::binary | std::ios::app);
}

IngestStage::Ports IngestLoop::ports() {
  IngestStage::Ports ports;
  ports.send = [this](const std::string& agent, const wire::ToAgent& message) {
    transport::Socket& way = agent[0] == kRemote && remote_ ? remote_->socket() : socket_.socket();
    static_cast<void>(transport::send_counted(way, message, agent.substr(1), exchange_.outgoing));
  };
  ports.set = [this](observe::Values& v) {
    using observe::Id;
    v.set(Id::messages_undecodable,
          v[Id::messages_undecodable] + socket_.malformed() + (remote_ ? remote_->malformed() : 0));
    v.set(Id::agents_cut, socket_.cuts());
    set_door(exchange_.door, exchange_.gate, v);
  };
  return ports;
}

void IngestLoop::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "margay-ingest");
    run();
  });
}

void IngestLoop::join() {
  if (thread_.joinable()) thread_.join();
}

void IngestLoop::run() {
  std::vector<transport::Socket*> sockets = {&socket_.socket()};
  if (remote_) sockets.push_back(&remote_->socket());
  bool more_waits = false;
  stage_->begin();
  while (!exchange_.stop) {
    ++exchange_.beats.ingest;
    if (transport::wait_readable(sockets, kPoll, &exchange_.for_ingest)) {
      if (!more_waits) std::this_thread::sleep_for(kGather);
      more_waits = receive();
    }
    socket_.keep_up();
    if (remote_) remote_->keep_up();
    stage_->step();
  }
  stage_->end();
}

// True if not everything was taken.
bool IngestLoop::receive() {
  // Each socket has its own share of a round: a flood on one leaves the other its turn.
  const auto take_some = [&](auto& socket, char where) {
    const TimeNs begin = clock_.monotonic();
    for (int i = 0; i < kMessagesARound && clock_.monotonic() - begin < kLongestRound; ++i) {
      const auto frame = socket.try_receive();
      if (!frame) return false;
      take(*frame, where);
    }
    return true;
  };
  const bool more_here = take_some(socket_, kHere);
  return (remote_ && take_some(*remote_, kRemote)) || more_here;
}

// Each socket has its own routing ids: the way a message came is the first letter of its sender's.
void IngestLoop::take(const transport::Socket::Frame& frame, char way) {
  if (capture_) {
    // [u64 time of arrival][u32 routing id][u32 message] and the two, little-endian, one after the other.
    const std::int64_t at = clock_.monotonic().value;
    const auto from = static_cast<std::uint32_t>(frame.from.size()),
               body = static_cast<std::uint32_t>(frame.body.size());
    capture_.write(reinterpret_cast<const char*>(&at), sizeof at);
    capture_.write(reinterpret_cast<const char*>(&from), sizeof from);
    capture_.write(reinterpret_cast<const char*>(&body), sizeof body);
    capture_ << frame.from << frame.body;
  }
  // Who enters the run's directory is its user; from the network it is whose key it is.
  std::string owner = ingest::kLocalOwner;
  if (way == kRemote) {
    const std::string name = remote_->authenticator().name_of(frame.user);
    if (name.empty()) return remote_->authenticator().count_unauthorised();  // revoked this moment
    owner = ingest::owner_of_key(name);
  }
  stage_->receive(frame.body, way + frame.from, owner, frame.address);
}

}  // namespace margay::daemon
