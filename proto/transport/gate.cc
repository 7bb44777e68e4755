#include "margay/transport/gate.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "gate_connection.h"

namespace margay::transport {
namespace {

constexpr std::size_t kScratch = 64 << 10;
constexpr int kEventsARound = 256;
constexpr int kAcceptsARound = 64;
constexpr int kClosedForWant = 16;  // newcomers turned away at once when descriptors have run out
constexpr DurationNs kBackOff = milliseconds(50);
constexpr DurationNs kFarewell = seconds(1);
// The longest sleep: short only while somebody is under a deadline.
constexpr DurationNs kHandshakeWait = milliseconds(20);
constexpr DurationNs kLeastSweep = milliseconds(20), kMostSweep = seconds(1);

// Whose event it was, in the two low bits of epoll's data; above them the route's or the connection's number.
enum Side : std::uint64_t { kListener = 0, kClient = 1, kServer = 2, kWake = 3 };

}  // namespace

class Gate::Loop {
 public:
  Loop(std::vector<GateRoute> routes, const GateLimits& limits, const Clock& clock, GateTold told)
      : routes_(std::move(routes)),
        limits_(limits),
        clock_(clock),
        told_(std::move(told)),
        admission_(limits, clock.monotonic()) {
    for (const GateRoute& r : routes_) lanes_.push_back(std::make_unique<Lanes>(r.lanes));
  }
  ~Loop() { close(); }
  Status open(std::vector<std::string>& addresses);
  void close();
  GateCounters counters() const;
  std::string at_lane(std::size_t route, std::uint32_t lane) const {
    return route < lanes_.size() ? lanes_[route]->who(lane) : "";
  }

 private:
  void run();
  void dispatch(std::uint64_t data, std::uint32_t events);
  void watch_listeners(bool on);
  void accept_some(std::size_t route);
  void out_of_descriptors(int listener);
  void admit(std::size_t route, Descriptor client, const sockaddr_storage& address);
  void turn_away(Descriptor client);
  void say_farewell(std::map<std::uint64_t, Farewell>::iterator it);
  void end_farewells(TimeNs now);
  void tell(const std::string& address, const char* reason);
  const char* reason_of(const Connection& c, const std::atomic<std::uint64_t>& why) const;
  void leave_lane(Connection& c, bool decided);
  void relay(Connection& c, bool inward, bool outward);
  void greet(Connection& c);
  bool take_inward(Connection& c);  // false: `c` is gone
  bool take_outward(Connection& c);
  bool connect_server(Connection& c);
  void set_events(Connection& c);
  bool set_events(int fd, std::uint64_t data, std::uint32_t& told, std::uint32_t wanted);
  void drop(Connection& c, std::atomic<std::uint64_t>& why);
  std::atomic<std::uint64_t>& ended(const Connection& c) {
    return c.authenticated ? counters_.closed : counters_.handshake_abandoned;
  }
  void close_idle(TimeNs now);
  void knock_again();

  std::vector<GateRoute> routes_;
  const GateLimits limits_;
  const Clock& clock_;
  const GateTold told_;
  std::vector<std::unique_ptr<Lanes>> lanes_;  // by route
  std::map<std::uint64_t, Farewell> farewells_;
  Admission admission_;
  std::vector<Listener> listeners_;
  Descriptor epoll_, wake_;
  Descriptor spare_;  // given up for a moment to turn somebody away when there is no other descriptor
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::uint64_t> waiting_;  // ids of those for whom the server had no room yet
  std::uint64_t next_id_ = 1;
  std::unique_ptr<char[]> scratch_;
  bool listening_ = false;
  TimeNs listen_again_{}, next_sweep_{};
  Atomics counters_;
  std::atomic<bool> stop_{false};
  std::mutex closing_;
  std::thread thread_;
};

Status Gate::Loop::open(std::vector<std::string>& addresses) {
  for (GateRoute& r : routes_) {
    if (r.socket_path.starts_with("ipc://")) r.socket_path.erase(0, 6);
    auto l = listen_tcp(r.listen);
    if (!l) return tl::unexpected(l.error());
    addresses.push_back(l->address);
    listeners_.push_back(std::move(*l));
  }
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::uint32_t told = 0;
  if (!epoll_ || !wake_ || !spare_ || !set_events(wake_.get(), kWake, told, EPOLLIN))
    return fail(ErrorCode::kIo, "gate: " + std::string(std::strerror(errno)));
  scratch_ = std::make_unique<char[]>(kScratch);
  // Signals are the caller's: its threads keep the mask they have, this one takes none.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "margay-gate");
      run();
    });
  } catch (const std::system_error& e) {
    started = fail(ErrorCode::kLimit, std::string("gate: no thread: ") + e.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void Gate::Loop::close() {
  const std::lock_guard lock(closing_);
  stop_ = true;
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.get(), &one, sizeof one));  // fails only if it has been told already
  thread_.join();
}

void Gate::Loop::run() {
  watch_listeners(true);
  epoll_event events[kEventsARound];
  while (!stop_) {
    // Waits are the machine's, deadlines the clock's.
    DurationNs wait = std::clamp(DurationNs(limits_.idle.value / 8), kLeastSweep, kMostSweep);
    if (admission_.open_unauthenticated() > 0 || !farewells_.empty() || !listening_) wait = kHandshakeWait;
    const bool quiet = connections_.empty() && farewells_.empty() && listening_;
    const int n = epoll_wait(epoll_.get(), events, kEventsARound,
                             quiet ? -1 : static_cast<int>(wait.value / 1'000'000));
    for (int i = 0; i < n && !stop_; ++i) {
      try {
        dispatch(events[i].data.u64, events[i].events);
      } catch (const std::exception&) {  // no memory: this one connection pays
        const auto it = connections_.find(events[i].data.u64 >> 2);
        if ((events[i].data.u64 & 3) != kListener && it != connections_.end())
          drop(*it->second, counters_.out_of_descriptors);
      }
    }
    const TimeNs now = clock_.monotonic();
    if (!listening_ && now >= listen_again_) {
      if (!spare_) spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      watch_listeners(true);
    }
    while (const auto id = admission_.overdue(now)) {
      Connection& late = *connections_.at(*id);
      drop(late, late.wants_server ? counters_.backend_unavailable : counters_.handshake_timeouts);
    }
    knock_again();
    end_farewells(now);
    if (now >= next_sweep_) {
      close_idle(now);
      next_sweep_ = now + wait;
    }
  }
  for (auto& [id, c] : connections_) ++ended(*c);
  connections_.clear();
  farewells_.clear();
  listeners_.clear();
  counters_.open_now = counters_.authenticated_now = 0;
}

void Gate::Loop::dispatch(std::uint64_t data, std::uint32_t events) {
  const Side side = static_cast<Side>(data & 3);
  if (side == kWake) return;
  if (side == kListener) return accept_some(data >> 2);
  if (const auto f = farewells_.find(data >> 2); f != farewells_.end()) return say_farewell(f);
  const auto it = connections_.find(data >> 2);
  if (it == connections_.end()) return;                                         // dropped in this round
  const bool readable = (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;  // also errors: reading tells
  const bool writable = (events & EPOLLOUT) != 0;
  if (side == kClient)
    relay(*it->second, readable, writable);
  else
    relay(*it->second, writable, readable);
}

void Gate::Loop::watch_listeners(bool on) {
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    std::uint32_t told = listening_ ? std::uint32_t{EPOLLIN} : 0;
    const std::uint32_t wanted = on ? std::uint32_t{EPOLLIN} : 0;
    static_cast<void>(set_events(listeners_[i].socket.get(), i << 2 | kListener, told, wanted));
  }
  listening_ = on;
}

void Gate::Loop::accept_some(std::size_t route) {
  const int listener = listeners_[route].socket.get();
  for (int i = 0; i < kAcceptsARound && listening_; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    Descriptor client(
        accept4(listener, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) {
      admit(route, std::move(client), address);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      out_of_descriptors(listener);
    // Anything else is one connection's own end (ECONNABORTED and the network's errors).
  }
}

void Gate::Loop::out_of_descriptors(int listener) {
  // A connection that cannot be taken would keep the port readable, and this thread spinning. Some are turned
  // away, then nobody is listened to for a while.
  for (int i = 0; i < kClosedForWant; ++i) {
    spare_.reset();
    Descriptor client(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) {
      reset_on_close(client.get());
      ++counters_.out_of_descriptors;
    }
    const bool more = static_cast<bool>(client);
    client.reset();
    spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!more || !spare_) break;
  }
  watch_listeners(false);
  listen_again_ = clock_.monotonic() + kBackOff;
}

void Gate::Loop::tell(const std::string& address, const char* reason) {
  if (told_ && reason != nullptr) told_(address, reason);
}

// Bounded: who does not read it in time, or finds too many before it, gets a reset.
void Gate::Loop::turn_away(Descriptor client) {
  reset_on_close(client.get());
  if (farewells_.size() >= kMostFarewells) return;
  const std::string_view greeting = farewell_greeting();
  if (send(client.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(greeting.size()))
    return;
  const std::uint64_t id = next_id_++;
  std::uint32_t told = 0;
  if (!set_events(client.get(), id << 2 | kClient, told, EPOLLIN)) return;
  farewells_.emplace(id, Farewell{std::move(client), clock_.monotonic() + kFarewell, 0, false});
}

// A client takes an ERROR only when it has begun its handshake, behind its greeting.
void Gate::Loop::say_farewell(std::map<std::uint64_t, Farewell>::iterator it) {
  Farewell& f = it->second;
  const ssize_t n = recv(f.client.get(), scratch_.get(), kScratch, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) f.received += static_cast<std::uint64_t>(n);
  if (n <= 0 || f.received > limits_.handshake_bytes) {
    farewells_.erase(it);
    return;
  }
  if (f.said || f.received <= kGreetingBytes) return;
  f.said = true;
  const std::string_view error = farewell_error();
  if (send(f.client.get(), error.data(), error.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(error.size()))
    farewells_.erase(it);
}

void Gate::Loop::end_farewells(TimeNs now) {
  std::erase_if(farewells_, [&](const auto& f) { return now >= f.second.until; });
}

void Gate::Loop::admit(std::size_t route, Descriptor client, const sockaddr_storage& address) {
  const TimeNs now = clock_.monotonic();
  const std::uint64_t id = next_id_++;
  const auto decision = admission_.arrive(id, address_key(address), now);
  if (decision.answer != Admission::Answer::kAdmit) {
    turn_away(std::move(client));
    tell(address_text(address), decision.answer == Admission::Answer::kRate
                                    ? "too many new connections a second; find who floods"
                                : decision.answer == Admission::Answer::kAddress
                                    ? "as many of its address are open as may be (listen.per_address)"
                                    : "as many connections are open as may be (listen.connections)");
    ++(decision.answer == Admission::Answer::kRate      ? counters_.refused_rate
       : decision.answer == Admission::Answer::kAddress ? counters_.refused_address
                                                        : counters_.refused_full);
    return;
  }
  if (decision.evict)
    if (const auto it = connections_.find(*decision.evict); it != connections_.end())
      drop(*it->second, counters_.evicted);
  tune_client(client.get());
  auto& c =
      *connections_.emplace(id, std::make_unique<Connection>(id, route, std::move(client))).first->second;
  c.last = now;
  c.address = address_text(address);
  ++counters_.accepted;
  ++counters_.open_now;
  set_events(c);
}

void Gate::Loop::relay(Connection& c, bool inward, bool outward) {
  if (!c.server) {
    if (inward && !c.wants_server) greet(c);
    return;
  }
  // Each of them may drop the connection.
  if (inward && !take_inward(c)) return;
  if (outward && !take_outward(c)) return;
  set_events(c);
}

// Before there is a server: the first bytes say whether there shall be one.
void Gate::Loop::greet(Connection& c) {
  const ssize_t n = recv(c.client.get(), scratch_.get(),
                         std::min<std::size_t>(kScratch, limits_.handshake_bytes), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return drop(c, counters_.handshake_abandoned);
  c.from_client += static_cast<std::uint64_t>(n);
  c.last = clock_.monotonic();
  if (!c.in.keep({scratch_.get(), static_cast<std::size_t>(n)}, limits_.buffer))
    return drop(c, counters_.too_chatty);
  const FirstBytes first = first_bytes(c.in.held());
  if (first == FirstBytes::kForeign) return drop(c, counters_.not_zmtp);
  if (first == FirstBytes::kZmtp && connect_server(c)) relay(c, true, false);
}

// False: there is none; `c` waits for it or is gone.
bool Gate::Loop::connect_server(Connection& c) {
  const GateRoute& route = routes_[c.route];
  if (route.lanes > 0 && !c.lane) c.lane = lanes_[c.route]->take(c.id, c.address, clock_.monotonic());
  auto server = connect_unix(c.lane ? lane_of(route.socket_path, *c.lane) : route.socket_path);
  // Its queue is full, or it is away for a moment (bound anew after keys have changed): tried again soon.
  c.wants_server = !server && (server.error().code == ErrorCode::kTimeout ||
                               server.error().code == ErrorCode::kUnavailable);
  if (server) {
    c.server = std::move(*server);
    return true;
  }
  if (c.wants_server) {
    waiting_.push_back(c.id);
    set_events(c);
  } else {
    drop(c, counters_.out_of_descriptors);
  }
  return false;
}

bool Gate::Loop::take_inward(Connection& c) {
  const std::uint64_t before = c.in.moved();
  const std::uint64_t budget =
      limits_.handshake_bytes + 1 - std::min<std::uint64_t>(c.from_client, limits_.handshake_bytes);
  auto r = Pipe::Result::kSourceClosed;
  if (c.client_gone)
    r = c.in.flush(c.server.get()) == Pipe::Result::kBroken ? Pipe::Result::kBroken : r;
  else
    r = c.in.pump(c.client.get(), c.server.get(), std::min<std::size_t>(kScratch, limits_.buffer),
                  c.authenticated ? kScratch : budget, scratch_.get(), [&](std::string_view bytes) {
                    c.from_client += bytes.size();
                    return c.authenticated || c.from_client <= limits_.handshake_bytes;
                  });
  if (c.in.moved() != before) {
    c.last = clock_.monotonic();
    counters_.bytes_in += c.in.moved() - before;
  }
  if (!c.authenticated && c.from_client > limits_.handshake_bytes)
    return drop(c, counters_.too_chatty), false;
  if (r == Pipe::Result::kBroken) return drop(c, ended(c)), false;
  if (r == Pipe::Result::kSourceClosed) {
    c.client_gone = true;
    if (c.in.empty()) return drop(c, ended(c)), false;
  }
  return true;
}

bool Gate::Loop::take_outward(Connection& c) {
  const std::uint64_t before = c.out.moved();
  auto r = Pipe::Result::kSourceClosed;
  if (c.server_gone)
    r = c.out.flush(c.client.get()) == Pipe::Result::kBroken ? Pipe::Result::kBroken : r;
  else
    r = c.out.pump(c.server.get(), c.client.get(), std::min<std::size_t>(kScratch, limits_.buffer), kScratch,
                   scratch_.get(), [&](std::string_view bytes) {
                     return c.authenticated || c.watch.take(bytes) != ServerWatch::State::kForeign;
                   });
  if (c.out.moved() != before) {
    c.last = clock_.monotonic();
    counters_.bytes_out += c.out.moved() - before;
  }
  const auto state = c.watch.state();
  if (state == ServerWatch::State::kForeign) return drop(c, counters_.handshake_failures), false;
  if (state == ServerWatch::State::kAuthenticated && !c.authenticated) {
    c.authenticated = true;
    admission_.authenticated(c.id);
    leave_lane(c, true);
    ++counters_.authenticated;
    ++counters_.authenticated_now;
  }
  if (state == ServerWatch::State::kRefused) r = Pipe::Result::kSourceClosed;  // the client may read why
  if (r == Pipe::Result::kBroken) return drop(c, ended(c)), false;
  if (r == Pipe::Result::kSourceClosed) {
    c.server_gone = true;
    if (c.out.empty())
      return drop(c, state == ServerWatch::State::kRefused ? counters_.handshake_failures : ended(c)), false;
  }
  return true;
}

void Gate::Loop::set_events(Connection& c) {
  std::uint32_t client = 0, server = 0;
  if (!c.wants_server && (!c.server || (c.in.empty() && !c.client_gone && !c.server_gone))) client |= EPOLLIN;
  if (!c.out.empty() && !c.client_gone) client |= EPOLLOUT;
  if (c.server && c.out.empty() && !c.server_gone && !c.client_gone) server |= EPOLLIN;
  if (c.server && !c.in.empty() && !c.server_gone) server |= EPOLLOUT;
  const bool told = set_events(c.client.get(), c.id << 2 | kClient, c.client_events, client) &&
                    (!c.server || set_events(c.server.get(), c.id << 2 | kServer, c.server_events, server));
  if (!told) drop(c, counters_.out_of_descriptors);
}

bool Gate::Loop::set_events(int fd, std::uint64_t data, std::uint32_t& told, std::uint32_t wanted) {
  if (told == wanted) return true;
  epoll_event e{};
  e.events = wanted;
  e.data.u64 = data;
  // Taken out where nothing is wanted: epoll reports a hang-up whether asked or not, again and again.
  const int what = wanted == 0 ? EPOLL_CTL_DEL : told == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(epoll_.get(), what, fd, &e) != 0) return false;
  told = wanted;
  return true;
}

void Gate::Loop::leave_lane(Connection& c, bool decided) {
  if (c.lane) lanes_[c.route]->leave(c.id, *c.lane, decided, clock_.monotonic());
}

// nullptr: it was let in, or the authenticator says why it was not.
const char* Gate::Loop::reason_of(const Connection& c, const std::atomic<std::uint64_t>& why) const {
  if (c.authenticated) return nullptr;
  if (&why == &counters_.not_zmtp) return "it speaks another protocol";
  if (&why == &counters_.too_chatty) return "it sent too much before it had proved a key";
  if (&why == &counters_.evicted) return "it made way for newer ones before it had proved a key";
  if (&why == &counters_.handshake_timeouts) return "it proved no key in time";
  if (&why == &counters_.out_of_descriptors) return "the daemon has no descriptor or memory left for it";
  if (&why == &counters_.backend_unavailable) return "the daemon's own socket was not there";
  if (&why == &counters_.handshake_failures)
    return c.watch.state() == ServerWatch::State::kRefused ? nullptr : "it has no key";
  if (&why == &counters_.handshake_abandoned && c.server_gone)
    return "it has no key, or takes this for another daemon";
  return nullptr;  // it went away by itself
}

void Gate::Loop::drop(Connection& c, std::atomic<std::uint64_t>& why) {
  tell(c.address, reason_of(c, why));
  if (!c.authenticated) leave_lane(c, c.watch.state() == ServerWatch::State::kRefused);
  ++why;
  --counters_.open_now;
  if (c.authenticated)
    --counters_.authenticated_now;
  else if (!c.server_gone)
    reset_on_close(c.client.get());
  admission_.leave(c.id);
  connections_.erase(c.id);
}

void Gate::Loop::close_idle(TimeNs now) {
  std::vector<std::uint64_t> idle;
  for (const auto& [id, c] : connections_)
    if (now >= c->last + limits_.idle) idle.push_back(id);
  for (const std::uint64_t id : idle) drop(*connections_.at(id), counters_.closed_idle);
}

void Gate::Loop::knock_again() {
  const std::vector<std::uint64_t> waiting = std::exchange(waiting_, {});
  for (const std::uint64_t id : waiting)
    if (const auto it = connections_.find(id); it != connections_.end())
      if (connect_server(*it->second)) relay(*it->second, true, false);
}

GateCounters Gate::Loop::counters() const {
  const Atomics& a = counters_;
  return {a.accepted,
          a.authenticated,
          a.refused_full,
          a.refused_address,
          a.refused_rate,
          a.evicted,
          a.handshake_timeouts,
          a.handshake_failures,
          a.handshake_abandoned,
          a.not_zmtp,
          a.too_chatty,
          a.closed_idle,
          a.closed,
          a.backend_unavailable,
          a.out_of_descriptors,
          a.bytes_in,
          a.bytes_out,
          a.open_now,
          a.authenticated_now};
}

Gate::Gate(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Gate::~Gate() = default;

Result<std::unique_ptr<Gate>> Gate::open(std::vector<GateRoute> routes, const GateLimits& limits,
                                         const Clock& clock, GateTold told) {
  if (limits.connections == 0 || limits.unauthenticated == 0 || limits.per_address == 0 ||
      limits.buffer < 4096 || limits.handshake_bytes < 1024 || limits.handshake_bytes > limits.buffer ||
      limits.burst < 1 || limits.burst_per_address < 1)
    return fail(ErrorCode::kInvalidArgument, "gate: these limits would refuse every client");
  try {
    std::unique_ptr<Gate> gate(
        new Gate(std::make_unique<Loop>(std::move(routes), limits, clock, std::move(told))));
    if (auto ok = gate->loop_->open(gate->addresses_); !ok) return tl::unexpected(ok.error());
    return gate;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit, "gate: no memory");
  }
}

GateCounters Gate::counters() const {
  return loop_->counters();
}

std::string Gate::at_lane(std::size_t route, std::uint32_t lane) const {
  return loop_->at_lane(route, lane);
}

void Gate::close() {
  loop_->close();
}

}  // namespace margay::transport
