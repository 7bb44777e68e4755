// Attacks on a listening socket of Margay, for tests: bounded, ending by themselves, on this machine only.
//
//   attacker MODE TARGET [--seconds S] [--connections N] [--count N] [--seed N] [--run NAME] [--server-key
//   KEY]
//
// TARGET is ipc://PATH or tcp://127.0.0.1:PORT. Modes, and the options that each takes:
//
//   open-flood   connects and never sends; what is closed is opened again. --seconds --connections
//
//   half-open   sends a part of the ZMTP greeting, then nothing. --seconds --connections
//
//   scan   connects and closes, every other time with a reset; tcp: ports from PORT on. --count
//
//   garbage   random bytes, every other time after a good greeting. --seconds --connections --seed
//
//   big-frames   a greeting without encryption, then 2 GiB announced and 255 bytes at a time. --seconds
//   --connections
//
//   wrong-key   CURVE handshakes: half with keys that the daemon does not know, half with a key for another
//   daemon.
//   --seconds --connections --server-key
//
//   hello-and-vanish   DEALERs that each say Hello as another source and go. --count --run --server-key
//
//   fill   DEALERs that send what takes most memory, as fast as they can, and come again as others: large
//   messages of random bytes, messages of a million empty parts, hellos with as many and as long names and
//   attributes as may be, batches of two million records. They read nothing.
//   --seconds --connections --run --seed
//
//   slow-reader   SUB sockets that never read. --seconds --connections --server-key
//
// The last line is JSON: what was tried, what came of it, by kind. Exit code: 0; 2 for wrong arguments.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>
#include <zmq.hpp>

#include "margay/base/descriptor.h"
#include "margay/wire/columns.h"
#include "margay/wire/ingest.pb.h"

namespace margay {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Attack {
  std::string mode, target, run, server_key, boot_id;
  double seconds = 5;
  unsigned connections = 100, count = 10'000;
  std::uint64_t seed = std::random_device()();
  std::mt19937_64 random;
  std::map<std::string, std::uint64_t> seen;
  Steady::time_point end;

  bool over() const { return Steady::now() >= end; }
};

// A connected socket, blocking no longer than `patience`; -1 and a line in `seen` if it was refused.
Descriptor connect_to(Attack& a, const std::string& target) {
  ++a.seen["tried"];
  sockaddr_storage address{};
  socklen_t size = 0;
  if (target.starts_with("ipc://")) {
    auto& un = reinterpret_cast<sockaddr_un&>(address);
    un.sun_family = AF_UNIX;
    target.copy(un.sun_path, sizeof un.sun_path - 1, 6);
    size = sizeof un;
  } else {
    auto& in = reinterpret_cast<sockaddr_in&>(address);
    const auto colon = target.rfind(':');
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(std::stoi(target.substr(colon + 1))));
    inet_pton(AF_INET, target.substr(6, colon - 6).c_str(), &in.sin_addr);
    size = sizeof in;
  }
  Descriptor fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int error =
      fd.get() < 0 || (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) ? errno : 0;
  if (error == EINPROGRESS) {
    pollfd p{fd.get(), POLLOUT, 0};
    socklen_t length = sizeof error;
    if (::poll(&p, 1, 1000) == 1)
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    else
      error = ETIMEDOUT;
  }
  if (error == 0) {
    ++a.seen["connected"];
    return fd;
  }
  ++a.seen[std::string("not connected: ") + std::strerror(error)];
  return Descriptor();
}

// False: it is closed.
bool send_some(Attack& a, const Descriptor& fd, const std::string& bytes) {
  const ssize_t n = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n > 0) a.seen["bytes"] += static_cast<std::uint64_t>(n);
  return n >= 0 || errno == EAGAIN;
}

bool closed(const Descriptor& fd) {
  char buffer[4096];
  const ssize_t n = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN);
}

std::string greeting() {
  std::string g("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16);
  g.resize(64);
  return g;
}

// Keeps so many connections busy: `first` when one is new, `again` now and then; opens anew what was closed.
template <class First, class Again>
void keep_busy(Attack& a, First first, Again again) {
  std::vector<Descriptor> open(a.connections);
  while (!a.over()) {
    bool moved = false;
    for (Descriptor& fd : open) {
      if (a.over()) break;
      if (fd.get() >= 0 && (closed(fd) || !again(fd))) {
        ++a.seen["closed by the other side"];
        fd = Descriptor();
      }
      if (fd.get() >= 0) continue;
      fd = connect_to(a, a.target);
      moved |= fd.get() >= 0;
      if (fd.get() >= 0) static_cast<void>(first(fd));
    }
    if (!moved) std::this_thread::sleep_for(milliseconds(2));
  }
  a.seen["open at the end"] = static_cast<std::uint64_t>(std::count_if(
      open.begin(), open.end(), [](const Descriptor& fd) { return fd.get() >= 0 && !closed(fd); }));
}

std::string random_bytes(Attack& a, std::size_t n) {
  std::string s(n, '\0');
  for (char& c : s) c = static_cast<char>(a.random());
  return s;
}

void scan(Attack& a) {
  const auto colon = a.target.rfind(':');
  const bool tcp = a.target.starts_with("tcp://");
  for (unsigned i = 0; i < a.count; ++i) {
    std::string target = a.target;
    if (tcp) {
      const unsigned port = static_cast<unsigned>(std::stoi(target.substr(colon + 1))) + i / 2;
      if (port > 65535) break;
      target = target.substr(0, colon + 1) + std::to_string(port);
    }
    const Descriptor fd = connect_to(a, target);
    const linger reset{1, 0};
    if (i % 2 == 1 && fd.get() >= 0) ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
}

zmq::socket_t make(Attack& a, zmq::context_t& context, zmq::socket_type type, const std::string& server_key) {
  zmq::socket_t s(context, type);
  s.set(zmq::sockopt::reconnect_ivl, 1);
  s.set(zmq::sockopt::linger, 2000);
  if (!server_key.empty()) {
    char open[41], secret[41];
    zmq_curve_keypair(open, secret);
    s.set(zmq::sockopt::curve_serverkey, server_key);
    s.set(zmq::sockopt::curve_publickey, open);
    s.set(zmq::sockopt::curve_secretkey, secret);
  }
  ++a.seen["tried"];
  return s;
}

void wrong_key(Attack& a) {
  zmq::context_t context(1);
  std::vector<zmq::socket_t> sockets, monitors;
  for (unsigned i = 0; i < a.connections; ++i) {
    // Every other one knows the daemon, which does not know it; the rest take it for another daemon.
    char nobody[41], secret[41];
    zmq_curve_keypair(nobody, secret);
    zmq::socket_t s = make(a, context, zmq::socket_type::dealer,
                           i % 2 == 0 && !a.server_key.empty() ? a.server_key : nobody);
    s.set(zmq::sockopt::linger, 0);
    const std::string at = "inproc://monitor" + std::to_string(i);
    zmq_socket_monitor(s.handle(), at.c_str(), ZMQ_EVENT_ALL);
    zmq::socket_t m(context, zmq::socket_type::pair);
    m.set(zmq::sockopt::linger, 0);
    m.connect(at);
    s.connect(a.target);
    sockets.push_back(std::move(s));
    monitors.push_back(std::move(m));
  }
  while (!a.over()) {
    for (auto& m : monitors) {
      zmq::message_t event, address;
      while (m.recv(event, zmq::recv_flags::dontwait) && m.recv(address)) {
        std::uint16_t what = 0;
        std::memcpy(&what, event.data(), sizeof what);
        if (what == ZMQ_EVENT_CONNECTED) ++a.seen["connected"];
        if (what == ZMQ_EVENT_DISCONNECTED) ++a.seen["disconnected"];
        if (what == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) ++a.seen["LET IN"];
        if (what == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL || what == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
            what == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
          ++a.seen["handshake failed"];
      }
    }
    std::this_thread::sleep_for(milliseconds(2));
  }
}

void hello_and_vanish(Attack& a) {
  zmq::context_t context(1);
  context.set(zmq::ctxopt::max_sockets, 256);
  for (unsigned i = 0; i < a.count; ++i) {
    wire::ToCollector m;
    m.set_version(wire::kWireVersion);
    m.set_run(a.run);
    m.set_agent(a.random());
    m.set_sequence(1);
    auto* hello = m.mutable_hello();
    hello->set_source(a.random() | 1);
    hello->set_epoch(1);
    auto& attributes = *hello->mutable_attributes();
    attributes["host"] = "ghost" + std::to_string(i % 100);
    attributes["rank"] = std::to_string(i);
    attributes["pid"] = std::to_string(i + 1);
    hello->add_names()->set_name("Compute");
    hello->add_names()->set_name("MPI_Send");
    const std::string body = m.SerializeAsString();
    // A closed socket lives on until its message has gone; there are never more than the context's 256.
    for (int patience = 0;; ++patience) {
      try {
        zmq::socket_t s = make(a, context, zmq::socket_type::dealer, a.server_key);
        s.connect(a.target);
        if (s.send(zmq::buffer(body), zmq::send_flags::dontwait))
          ++a.seen["said hello"];
        else
          ++a.seen["not said"];
        break;
      } catch (const zmq::error_t& e) {
        if (e.num() != EMFILE || patience > 10'000) {
          ++a.seen[std::string("failed: ") + e.what()];
          break;
        }
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
  }
}

void slow_reader(Attack& a) {
  zmq::context_t context(1);
  std::vector<zmq::socket_t> sockets;
  for (unsigned i = 0; i < a.connections; ++i) {
    zmq::socket_t s = make(a, context, zmq::socket_type::sub, a.server_key);
    s.set(zmq::sockopt::linger, 0);
    s.set(zmq::sockopt::rcvhwm, 1);
    s.set(zmq::sockopt::rcvbuf, 4096);
    s.set(zmq::sockopt::subscribe, "");
    s.connect(a.target);
    sockets.push_back(std::move(s));
  }
  while (!a.over()) std::this_thread::sleep_for(milliseconds(10));
}

// A source that says as much of itself as it can, and claims as many records as it can.
std::string greedy_source(Attack& a, std::uint64_t id) {
  constexpr int kNames = 1024, kAttributes = 64, kBatches = 32;
  wire::ToCollector m;
  m.set_version(wire::kWireVersion);
  m.set_run(a.run);
  m.set_agent(id);
  wire::Hello& hello = *m.mutable_hello();
  hello.set_source(id);
  hello.set_epoch(1);
  const std::string own = std::to_string(id) + '-';
  for (int i = 0; i < kAttributes; ++i)
    (*hello.mutable_attributes())[own + std::to_string(i) + std::string(200, 'k')] = std::string(255, 'v');
  (*hello.mutable_attributes())["boot_id"] = a.boot_id;  // or its batches would wait for its clock
  hello.add_names()->set_name("Compute");
  for (int i = 1; i < kNames; ++i) {
    auto* name = hello.add_names();
    name->set_name(own + std::to_string(i) + std::string(230, 'n'));
    name->set_family(wire::FAMILY_OTHER);
  }
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now().time_since_epoch()).count();
  hello.mutable_clock()->set_monotonic_ns(now);
  hello.mutable_clock()->set_realtime_ns(now);
  // Equal records have no bytes, so that a message holds as many as are taken; of one batch they are in all
  // states.
  std::vector<EventRecord> records(wire::kMaxBatchRecords);
  std::string columns, all_states;
  for (const bool varied : {false, true}) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i] = {};
      records[i].time_ns = now;
      records[i].kind = varied && i % 2 != 0 ? MARGAY_LEAVE : MARGAY_ENTER;
      records[i].state = static_cast<std::uint16_t>(varied ? 1 + i / 2 % 512 : 1);
    }
    wire::encode_columns(records, varied ? all_states : columns);
  }
  for (int i = 0; i < kBatches; ++i) {
    auto* batch = m.add_batches();
    batch->set_source(id);
    batch->set_epoch(1);
    batch->set_stream(static_cast<std::uint32_t>(i));
    batch->set_count(wire::kMaxBatchRecords);
    batch->set_produced(wire::kMaxBatchRecords);
    batch->set_recorded(wire::kMaxBatchRecords);
    batch->set_covered_until_ns(now);
    batch->set_thread(own + std::string(240, 't'));
    batch->set_columns(i == 0 ? all_states : columns);
  }
  return m.SerializeAsString();
}

void fill(Attack& a) {
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, a.boot_id);
  std::string random(16'000'000, '\0'), empty_parts;
  for (char& c : random) c = static_cast<char>(a.random());
  for (int i = 0; i < 750'000; ++i) empty_parts.append("\x5a\x00", 2);  // field 11, of no bytes
  zmq::context_t context(2);
  std::vector<std::optional<zmq::socket_t>> peers(a.connections);
  std::uint64_t next_source = 0xa77ac << 20;
  while (!a.over()) {
    for (std::optional<zmq::socket_t>& peer : peers) {
      if (a.over()) break;
      if (!peer) {
        ++a.seen["tried"];
        peer.emplace(context, zmq::socket_type::dealer);
        peer->set(zmq::sockopt::linger, 0);
        peer->set(zmq::sockopt::sndhwm, 2);
        peer->set(zmq::sockopt::rcvhwm, 1);
        peer->connect(a.target);
      }
      bool sent = false;
      switch (a.random() % 8) {
        case 0:  // beyond what a server takes from anybody, or not
          sent = peer->send(zmq::buffer(random), zmq::send_flags::dontwait).has_value();
          break;
        case 1:
        case 2:
        case 3:
          sent = peer->send(zmq::buffer(random.data(), 1'500'000), zmq::send_flags::dontwait).has_value();
          break;
        case 4:
          sent = peer->send(zmq::buffer(empty_parts), zmq::send_flags::dontwait).has_value();
          break;
        case 5:
        case 6:
          sent =
              peer->send(zmq::buffer(greedy_source(a, next_source++)), zmq::send_flags::dontwait).has_value();
          break;
        default:
          peer.reset();  // another one comes
          continue;
      }
      ++a.seen[sent ? "sent" : "not taken"];
    }
  }
}

void attack(Attack& a) {
  const auto nothing = [](const Descriptor&) { return true; };
  if (a.mode == "open-flood") {
    keep_busy(a, nothing, nothing);
  } else if (a.mode == "half-open") {
    keep_busy(
        a, [&](const Descriptor& fd) { return send_some(a, fd, greeting().substr(0, 1 + a.random() % 63)); },
        nothing);
  } else if (a.mode == "garbage") {
    keep_busy(
        a, [&](const Descriptor& fd) { return a.random() % 2 == 0 || send_some(a, fd, greeting()); },
        [&](const Descriptor& fd) { return send_some(a, fd, random_bytes(a, 1 + a.random() % 4096)); });
  } else if (a.mode == "big-frames") {
    const std::string ready =
        std::string("\4\x1c\5READY\x0bSocket-Type", 20) + std::string("\0\0\0\6", 4) + "DEALER";
    const std::string announced("\2\0\0\0\0\x80\0\0\0", 9);
    keep_busy(
        a, [&](const Descriptor& fd) { return send_some(a, fd, greeting() + ready + announced); },
        [&](const Descriptor& fd) { return send_some(a, fd, std::string(255, 'x')); });
  } else if (a.mode == "scan") {
    scan(a);
  } else if (a.mode == "wrong-key") {
    wrong_key(a);
  } else if (a.mode == "hello-and-vanish") {
    hello_and_vanish(a);
  } else if (a.mode == "fill") {
    fill(a);
  } else {
    slow_reader(a);
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Attacks a listening socket of Margay, for tests."};
  Attack a;
  bool anywhere = false;
  app.add_option("mode", a.mode)
      ->required()
      ->check(CLI::IsMember({"open-flood", "half-open", "scan", "garbage", "big-frames", "wrong-key",
                             "hello-and-vanish", "slow-reader", "fill"}));
  app.add_option("target", a.target, "ipc://PATH or tcp://127.0.0.1:PORT")->required();
  app.add_option("--seconds", a.seconds, "how long")->check(CLI::Range(0.01, 3600.0));
  app.add_option("--connections", a.connections, "at once")->check(CLI::Range(1, 20'000));
  app.add_option("--count", a.count, "how many in all")->check(CLI::Range(1, 1'000'000));
  app.add_option("--seed", a.seed, "of the random bytes");
  app.add_option("--run", a.run, "the run's name, for hello-and-vanish and fill");
  app.add_option("--server-key", a.server_key, "the server's public CURVE key (Z85)");
  app.add_flag("--anywhere", anywhere, "also addresses that are not this machine's loopback");
  CLI11_PARSE(app, argc, argv);
  const bool tcp = a.target.starts_with("tcp://") && a.target.rfind(':') > 5;
  if (!tcp && !a.target.starts_with("ipc://")) return std::fprintf(stderr, "attacker: no such target\n"), 2;
  if (tcp && !a.target.starts_with("tcp://127.") && !anywhere)
    return std::fprintf(stderr, "attacker: %s is not on this machine\n", a.target.c_str()), 2;
  a.random.seed(a.seed);
  std::fprintf(stderr, "attacker: %s %s, seed %llu\n", a.mode.c_str(), a.target.c_str(),
               static_cast<unsigned long long>(a.seed));
  const auto begin = Steady::now();
  a.end = begin + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(a.seconds));
  attack(a);
  nlohmann::json result = {{"mode", a.mode},
                           {"seed", a.seed},
                           {"seconds", std::chrono::duration<double>(Steady::now() - begin).count()},
                           {"seen", a.seen}};
  std::printf("%s\n", result.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace margay

int main(int argc, char** argv) {
  try {
    return margay::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "attacker: %s\n", e.what());
    return 1;
  }
}
