// A gate, what stands behind it and who comes to it, for tests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>
#include <zmq.hpp>

#include "../../support/temporary_folder.h"
#include "margay/base/descriptor.h"
#include "margay/transport/gate.h"

namespace margay::transport {

class AtomicClock final : public Clock {
 public:
  TimeNs monotonic() const override { return TimeNs(now_); }
  TimeNs realtime() const override { return TimeNs(now_); }
  TimeNs processor() const override { return TimeNs(); }
  void advance(DurationNs d) { now_ += d.value; }

 private:
  std::atomic<std::int64_t> now_{1};
};

inline GateLimits unlimited_rate() {
  GateLimits l;
  l.rate = l.rate_per_address = l.burst = l.burst_per_address = 1e9;
  return l;
}

// Waits for a condition; false after 10 s, which only a hang takes.
inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

inline std::size_t descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

// A socket that is read and written by hand.
class RawSocket : public Descriptor {
 public:
  using Descriptor::Descriptor;
  bool write(std::string_view bytes) const {
    return ::send(get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // Up to `n` bytes; fewer if the other side closed.
  std::string read(std::size_t n) const {
    std::string all;
    char buffer[65536];
    while (all.size() < n) {
      pollfd p{get(), POLLIN, 0};
      if (::poll(&p, 1, 30'000) != 1) break;
      const ssize_t got = ::recv(get(), buffer, std::min(sizeof buffer, n - all.size()), 0);
      if (got <= 0) break;
      all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
  }
  // What still comes is thrown away; false if it stays open for 30 s.
  bool closed_by_peer() const {
    char buffer[65536];
    for (;;) {
      pollfd p{get(), POLLIN, 0};
      if (::poll(&p, 1, 30'000) != 1) return false;
      if (::recv(get(), buffer, sizeof buffer, 0) <= 0) return true;
    }
  }
};

inline RawSocket connect_tcp(const std::string& address) {
  const auto colon = address.rfind(':');
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &a.sin_addr);
  RawSocket fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) return RawSocket();
  return fd;
}

// What a ZMTP client sends first.
inline const std::string kSignature("\xff\0\0\0\0\0\0\0\1\x7f", 10);
// What a CURVE server sends until the client is authenticated.
inline std::string accepting() {
  std::string s = kSignature + '\3' + '\1' + "CURVE";
  s.resize(64);
  std::string welcome = std::string("\4\xa8\7", 3) + "WELCOME";
  welcome.resize(2 + 168);
  std::string ready = std::string("\4\x50\5", 3) + "READY";
  ready.resize(2 + 0x50);
  return s + welcome + ready;
}

class GateTest : public testing::Test {
 protected:
  void open(const GateLimits& limits = unlimited_rate()) {
    auto g = Gate::open({{"127.0.0.1:0", path}}, limits, clock);
    ASSERT_TRUE(g) << g.error().message;
    gate = std::move(*g);
  }
  // With a server behind it.
  void start(const GateLimits& limits = unlimited_rate()) {
    listen_unix();
    open(limits);
  }
  void listen_unix() {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    path.copy(a.sun_path, sizeof a.sun_path - 1);
    ::unlink(path.c_str());
    server = RawSocket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a), 0);
    ASSERT_EQ(::listen(server.get(), 4096), 0);
  }
  RawSocket accept() const {
    pollfd p{server.get(), POLLIN, 0};
    return RawSocket(::poll(&p, 1, 30'000) == 1 ? ::accept(server.get(), nullptr, nullptr) : -1);
  }
  RawSocket connect() const { return connect_tcp(gate->addresses()[0]); }
  // A client and a server that pass for authenticated.
  std::pair<RawSocket, RawSocket> authenticated_pair() const {
    const std::uint64_t before = gate->counters().authenticated;
    RawSocket client = connect();
    EXPECT_TRUE(client.write(kSignature));
    RawSocket peer = accept();
    EXPECT_EQ(peer.read(kSignature.size()), kSignature);
    EXPECT_TRUE(peer.write(accepting()));
    EXPECT_EQ(client.read(accepting().size()), accepting());
    EXPECT_TRUE(eventually([&] { return gate->counters().authenticated == before + 1; }));
    return {std::move(client), std::move(peer)};
  }
  bool counts(std::uint64_t GateCounters::*counter, std::uint64_t n) const {
    const bool ok = eventually([&] { return gate->counters().*counter >= n; });
    EXPECT_EQ(gate->counters().*counter, n);
    return ok;
  }

  const test::TemporaryFolder directory{"/tmp"};
  const std::string path = directory / "s";
  AtomicClock clock;
  RawSocket server;
  std::unique_ptr<Gate> gate;
};

}  // namespace margay::transport
