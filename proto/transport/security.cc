#include "margay/transport/security.h"

#include <pthread.h>

#include <algorithm>
#include <charconv>

#include "margay/transport/key_holders.h"

namespace margay::transport {
namespace {

constexpr std::chrono::milliseconds kPoll(100);
constexpr DurationNs kLookPeriod = milliseconds(500);
// Looks after which a connection is through its handshake or has failed (a server's patience is 2 s).
constexpr std::size_t kDecidedAfter = 6;
constexpr int kAnswersARound = 64;

// "ingest/3": a handshake through a lane of the gate.
std::pair<std::string, std::optional<std::uint32_t>> split_domain(const std::string& domain) {
  const std::size_t slash = domain.find('/');
  if (slash == std::string::npos) return {domain, std::nullopt};
  std::uint32_t lane = 0;
  const char* const end = domain.data() + domain.size();
  const auto r = std::from_chars(domain.data() + slash + 1, end, lane);
  if (r.ec != std::errc() || r.ptr != end) return {domain, std::nullopt};
  return {domain.substr(0, slash), lane};
}

// RFC 27: a name's length in a byte, the name, the value's in four, the value.
std::string metadata(std::string_view name, std::string_view value) {
  std::string out(1, static_cast<char>(name.size()));
  out += name;
  for (const unsigned shift : {24u, 16u, 8u, 0u}) out += static_cast<char>(value.size() >> shift & 0xffu);
  out += value;
  return out;
}

bool may(Role role, std::string_view domain) {
  if (domain == "ingest") return role == Role::kSource;
  return (domain == "reports" || domain == "control") && role != Role::kSource;
}

}  // namespace

Result<std::unique_ptr<Authenticator>> Authenticator::start(zmq::context_t& context, std::string keys,
                                                            const Clock& clock, Log log) {
  try {
    std::unique_ptr<Authenticator> a(new Authenticator(context, std::move(keys), clock, std::move(log)));
    a->signature_ = signature_of(a->keys_);
    if (auto ok = a->load(); !ok) return tl::unexpected(ok.error());
    a->zap_.bind("inproc://zeromq.zap.01");
    a->thread_ = std::thread([p = a.get()] {
      pthread_setname_np(pthread_self(), "margay-zap");
      p->run();
    });
    return a;
  } catch (const zmq::error_t& e) {
    return fail(ErrorCode::kInternal, std::string("the authenticator cannot start: ") + e.what());
  }
}

Authenticator::Authenticator(zmq::context_t& context, std::string keys, const Clock& clock, Log log)
    : context_(context),
      keys_(std::move(keys)),
      clock_(clock),
      log_(std::move(log)),
      zap_(context, zmq::socket_type::router) {
  zap_.set(zmq::sockopt::linger, 0);
}

Authenticator::~Authenticator() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

Status Authenticator::load() {
  auto server = load_server_key(keys_);
  if (!server) return tl::unexpected(server.error());
  std::vector<std::string> problems;
  const auto authorized = load_authorized(keys_, problems);
  if (!authorized) return tl::unexpected(authorized.error());
  Users users;
  for (const auto& [key, holder] : holders_of(*authorized, problems))
    users.emplace(key, User{holder.name, holder.role});
  for (const std::string& p : problems)
    if (p != problem_) log_(problem_ = p);
  const std::lock_guard lock(mutex_);
  bool anew = server->secret_key != server_.secret_key;
  for (const auto& [key, user] : users_) {
    const auto it = users.find(key);
    anew = anew || it == users.end() || !(it->second == user);
  }
  users_ = std::move(users);
  server_ = std::move(*server);
  counters_.clients_authorised = authorized->size();
  if (anew) ++generation_;
  return {};
}

void Authenticator::look_at_keys() {
  std::string now = signature_of(keys_);
  if (now == signature_) return;
  signature_ = std::move(now);
  if (auto ok = load(); !ok) {
    // What cannot be read lets nobody in.
    log_(ok.error().message + "; no client is accepted until this is corrected");
    const std::lock_guard lock(mutex_);
    users_.clear();
    counters_.clients_authorised = 0;
    ++generation_;
  }
}

Security Authenticator::server(const std::string& domain) const {
  const std::lock_guard lock(mutex_);
  Security s;
  s.server_secret = server_.secret_key;
  s.domain = domain;
  return s;
}

std::string Authenticator::server_fingerprint() const {
  const std::lock_guard lock(mutex_);
  return fingerprint(server_.public_key);
}

void Authenticator::stands_behind(At at) {
  const std::lock_guard lock(mutex_);
  at_ = std::move(at);
}

void Authenticator::note_refusal(const std::string& address, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (to_say_.size() < kMostToSay)
    to_say_.emplace_back(address, reason);
  else
    ++more_to_say_;
}

void Authenticator::say_refusals() {
  std::vector<std::pair<std::string, std::string>> to_say;
  std::uint64_t more = 0;
  {
    const std::lock_guard lock(mutex_);
    to_say.swap(to_say_);
    more = std::exchange(more_to_say_, 0);
  }
  const TimeNs now = clock_.monotonic();
  for (const auto& [address, reason] : to_say)
    if (const auto line = refusals_.note(address, reason, now)) log_(*line);
  refusals_.more(more, now);
}

Status Authenticator::watch(zmq::socket_t& socket) {
  auto monitor = Monitor::start(context_, socket);
  if (!monitor) return tl::unexpected(monitor.error());
  const std::lock_guard lock(mutex_);
  arriving_.push_back(std::move(*monitor));
  return {};
}

bool Authenticator::admits(const std::string& user, std::string_view domain) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = users_.find(user);
    if (it != users_.end() && may(it->second.role, domain)) return true;
  }
  ++unauthorised_;
  return false;
}

bool Authenticator::is_operator(const std::string& user) const {
  const std::lock_guard lock(mutex_);
  const auto it = users_.find(user);
  return it != users_.end() && it->second.role == Role::kOperator;
}

std::string Authenticator::name_of(const std::string& user) const {
  const std::lock_guard lock(mutex_);
  const auto it = users_.find(user);
  return it == users_.end() ? std::string() : it->second.name;
}

SecurityCounters Authenticator::snapshot() const {
  const std::lock_guard lock(mutex_);
  SecurityCounters c = counters_;
  c.messages_unauthorised = unauthorised_;
  return c;
}

void Authenticator::run() {
  TimeNs next_look = clock_.monotonic() + kLookPeriod;
  while (!stop_) {
    {
      const std::lock_guard lock(mutex_);
      for (Monitor& m : arriving_) monitors_.push_back(std::move(m));
      arriving_.clear();
    }
    std::vector<zmq::pollitem_t> items = {{zap_.handle(), 0, ZMQ_POLLIN, 0}};
    for (Monitor& m : monitors_) items.push_back({m.raw().handle(), 0, ZMQ_POLLIN, 0});
    try {
      zmq::poll(items, kPoll);
      answer();
    } catch (const zmq::error_t& e) {
      if (e.num() == ETERM) return;
    }
    read_monitors();
    say_refusals();
    const TimeNs now = clock_.monotonic();
    if (now >= next_look) {
      look_at_keys();
      notice_silent_failures();
      next_look = now + kLookPeriod;
      if (const auto line = refusals_.tick(now)) log_(*line);
    }
  }
}

// What speaks another protocol altogether is disconnected without a word (libzmq tells of no failed
// handshake): it is what was accepted some time ago and is neither in nor refused.
void Authenticator::notice_silent_failures() {
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    accepted_before_.push_back(counters_.connections_accepted);
    if (accepted_before_.size() <= kDecidedAfter) return;
    const std::uint64_t decided = counters_.handshakes_succeeded + told_refusals_;
    if (accepted_before_.front() > decided + counters_.handshakes_failed) {
      counters_.handshakes_failed = accepted_before_.front() - decided;
      more = !at_;  // else the gate knows who it was
    }
    accepted_before_.pop_front();
  }
  if (!more) return;
  if (const auto line = refusals_.note("a peer", "it speaks another protocol", clock_.monotonic()))
    log_(*line);
}

std::string Authenticator::decide(const std::string& key, const std::string& domain,
                                  const std::string& peer) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    const auto it = users_.find(key);
    if (it != users_.end() && may(it->second.role, domain)) return "";
    if (it == users_.end()) {
      ++counters_.keys_refused;
      reason = "its key is not authorised";
    } else {
      ++counters_.roles_refused;
      reason = "'" + it->second.name + "' is a " + std::string(to_string(it->second.role)) +
               ", and asked for " + domain;
    }
  }
  if (const auto line = refusals_.note(peer, reason, clock_.monotonic())) log_(*line);
  return reason;
}

// RFC 27: version, request, domain, address, identity, mechanism, credentials; behind an envelope, as from
// REQ.
void Authenticator::answer() {
  for (int i = 0; i < kAnswersARound; ++i) {
    std::vector<std::string> parts;
    zmq::message_t part;
    if (!zap_.recv(part, zmq::recv_flags::dontwait)) return;
    parts.push_back(part.to_string());
    while (part.more()) {
      if (!zap_.recv(part, zmq::recv_flags::dontwait)) return;
      if (parts.size() < 16) parts.push_back(part.to_string());
    }
    const auto gap = std::find(parts.begin(), parts.end(), std::string());
    if (gap == parts.end() || parts.end() - gap < 3) continue;
    const std::vector<std::string> request(gap + 1, parts.end());
    std::string key, peer, reason = "not a request of this protocol";
    if (request.size() == 7 && request[0] == "1.0" && request[5] == "CURVE" && request[6].size() == 32) {
      char text[41] = "";
      zmq_z85_encode(text, reinterpret_cast<const std::uint8_t*>(request[6].data()), 32);
      key = text;
      const auto [domain, lane] = split_domain(request[2]);
      peer = request[3];
      if (lane) {
        const std::lock_guard lock(mutex_);
        if (at_) peer = at_(domain, *lane);
      }
      reason = decide(key, domain, peer);
    }
    std::vector<std::string> reply(parts.begin(), gap + 1);
    reply.insert(reply.end(), {"1.0", request[1], reason.empty() ? "200" : "400", reason,
                               reason.empty() ? key : "", reason.empty() ? metadata(kPeerName, peer) : ""});
    for (std::size_t p = 0; p < reply.size(); ++p)
      zap_.send(zmq::buffer(reply[p]),
                p + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

void Authenticator::read_monitors() {
  bool gated = false;
  {
    const std::lock_guard lock(mutex_);
    gated = static_cast<bool>(at_);
  }
  for (Monitor& m : monitors_)
    while (const auto event = m.next()) {
      switch (event->kind) {
        case ZMQ_EVENT_ACCEPTED: {
          const std::lock_guard lock(mutex_);
          ++counters_.connections_accepted;
          break;
        }
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: {
          const std::lock_guard lock(mutex_);
          ++counters_.handshakes_succeeded;
          break;
        }
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: {
          {
            const std::lock_guard lock(mutex_);
            counters_.handshakes_failed = std::max(counters_.handshakes_failed, ++told_failures_);
          }
          const std::string reason =
              event->kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
                  ? "it has no key, or takes this for another daemon, or speaks something else"
                  : "it went away, or was silent, before it had introduced itself";
          if (gated) break;  // the gate knows who it was
          if (const auto line = refusals_.note("a peer", reason, clock_.monotonic())) log_(*line);
          break;
        }
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
          ++told_refusals_;  // counted where it was decided
          break;
        default:
          break;
      }
    }
}

}  // namespace margay::transport
