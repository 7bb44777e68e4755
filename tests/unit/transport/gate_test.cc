// The gate on real sockets: bytes, limits, and what stays behind.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <fstream>
#include <set>

#include "gate_rig.h"
#include "margay/transport/lanes.h"

namespace margay::transport {
namespace gate_test {

TEST_F(GateTest, RelaysBytesIntactBothWaysHoweverTheyAreCut) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  start();
  auto [client, peer] = authenticated_pair();
  constexpr std::size_t kTotal = 3 << 20;
  std::mt19937 random(seed);
  std::string there(kTotal, '\0'), back(kTotal, '\0');
  for (char& c : there) c = static_cast<char>(random());
  for (char& c : back) c = static_cast<char>(random());
  const auto send = [](const RawSocket& fd, const std::string& all, unsigned s) {
    std::mt19937 cut(s);
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t n = std::min<std::size_t>(1 + cut() % 100'000, all.size() - at);
      if (!fd.write(std::string_view(all).substr(at, n))) return;
      at += n;
    }
  };
  std::thread a([&] { send(client, there, seed); }), b([&] { send(peer, back, seed + 1); });
  std::string got_back;
  std::thread c([&] { got_back = client.read(kTotal); });
  EXPECT_TRUE(peer.read(kTotal) == there);
  for (auto* t : {&a, &b, &c}) t->join();
  EXPECT_TRUE(got_back == back);
  // The gate counts after it has passed on.
  EXPECT_TRUE(eventually([&] { return gate->counters().bytes_out == kTotal + accepting().size(); }));
  EXPECT_TRUE(eventually([&] { return gate->counters().bytes_in == kTotal + kSignature.size(); }));
  EXPECT_EQ(gate->counters().bytes_in, kTotal + kSignature.size());
}

TEST_F(GateTest, WhatWasSentBeforeAnEndArrives) {
  start();
  {
    auto [client, peer] = authenticated_pair();
    const std::string last(200'000, 'x');
    std::thread t([&, c = std::move(client)] { EXPECT_TRUE(c.write(last)); });
    EXPECT_EQ(peer.read(last.size() + 1).size(), last.size()) << "and then the end";
    t.join();
  }
  counts(&GateCounters::closed, 1);
  {
    auto [client, peer] = authenticated_pair();
    const std::string last(200'000, 'y');
    std::thread t([&, p = std::move(peer)] { EXPECT_TRUE(p.write(last)); });
    EXPECT_EQ(client.read(last.size() + 1).size(), last.size());
    t.join();
  }
  counts(&GateCounters::closed, 2);
  counts(&GateCounters::open_now, 0);
}

TEST_F(GateTest, AReaderThatNeverReadsHoldsLittleAndHarmsNobody) {
  start();
  auto [slow, from] = authenticated_pair();
  auto [other, other_peer] = authenticated_pair();
  // The server writes until nothing is taken any more: the system's buffers and 64 KiB of the gate are full.
  const std::string block(64 << 10, 'x');
  std::size_t taken = 0;
  for (int stalls = 0; stalls < 20;) {
    const ssize_t n = ::send(from.get(), block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
      taken += static_cast<std::size_t>(n), stalls = 0;
    else
      ++stalls, std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_LT(taken, 256u << 20);
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(other.write("ping"));
    ASSERT_EQ(other_peer.read(4), "ping");
  }
  // The gate does not spin on it either.
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT((after.ru_nvcsw - before.ru_nvcsw) + (after.ru_nivcsw - before.ru_nivcsw), 2000);
  // And once it reads, everything is there.
  EXPECT_EQ(slow.read(taken).size(), taken);
}

TEST_F(GateTest, WhoDoesNotSpeakZmtpNeverReachesTheServer) {
  start();
  std::vector<RawSocket> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect());
  for (int i = 0; i < 10; ++i) {
    const RawSocket stranger = connect();
    ASSERT_TRUE(stranger.write("GET / HTTP/1.0\r\n\r\n"));
    EXPECT_TRUE(stranger.closed_by_peer());
  }
  counts(&GateCounters::not_zmtp, 10);
  counts(&GateCounters::open_now, 20);
  pollfd p{server.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&p, 1, 0), 0) << "nobody came";
}

TEST_F(GateTest, TimeToAuthenticate) {
  start();
  auto [good, peer] = authenticated_pair();
  const RawSocket silent = connect(), half = connect();
  ASSERT_TRUE(half.write(kSignature));
  const RawSocket served = accept();
  counts(&GateCounters::open_now, 3);
  clock.advance(milliseconds(1999));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(gate->counters().open_now, 3u);
  clock.advance(milliseconds(1));
  counts(&GateCounters::handshake_timeouts, 2);
  EXPECT_TRUE(silent.closed_by_peer());
  EXPECT_TRUE(half.closed_by_peer());
  ASSERT_TRUE(good.write("still here"));
  EXPECT_EQ(peer.read(10), "still here");
}

TEST_F(GateTest, SilenceAfterAuthentication) {
  GateLimits l = unlimited_rate();
  l.idle = seconds(1);  // of the test's clock; the sweep comes every 125 ms of the machine's
  start(l);
  auto [quiet, a] = authenticated_pair();
  auto [lively, b] = authenticated_pair();
  clock.advance(milliseconds(900));
  ASSERT_TRUE(b.write("heartbeat"));
  ASSERT_EQ(lively.read(9), "heartbeat");
  clock.advance(milliseconds(300));
  counts(&GateCounters::closed_idle, 1);
  EXPECT_TRUE(quiet.closed_by_peer());
  counts(&GateCounters::open_now, 1);
}

TEST_F(GateTest, TooManyBytesBeforeAuthentication) {
  start();
  const RawSocket client = connect();
  ASSERT_TRUE(client.write(kSignature));
  const RawSocket peer = accept();
  ::send(client.get(), std::string(100'000, 'x').data(), 100'000, MSG_NOSIGNAL | MSG_DONTWAIT);
  counts(&GateCounters::too_chatty, 1);
  EXPECT_LE(peer.read(1 << 20).size(), 4096u) << "the server is spared the rest";
}

TEST_F(GateTest, EvictsTheOldestUnauthenticated) {
  GateLimits l = unlimited_rate();
  l.unauthenticated = 8;
  start(l);
  auto [good, peer] = authenticated_pair();
  std::vector<RawSocket> flood;
  for (int i = 0; i < 20; ++i) flood.push_back(connect());
  counts(&GateCounters::evicted, 12);
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(flood[static_cast<std::size_t>(i)].closed_by_peer()) << i;
  EXPECT_EQ(gate->counters().open_now, 9u);
  // A real one still comes in, and the one before is still served.
  auto [newer, newer_peer] = authenticated_pair();
  ASSERT_TRUE(good.write("ok"));
  EXPECT_EQ(peer.read(2), "ok");
}

TEST_F(GateTest, RefusesWhenAllSlotsAreAuthenticated) {
  GateLimits l = unlimited_rate();
  l.connections = 2;
  start(l);
  auto [a, b] = authenticated_pair();
  auto [c, d] = authenticated_pair();
  counts(&GateCounters::authenticated_now, 2);  // until then one more would take the place of the last
  const RawSocket refused = connect();
  counts(&GateCounters::refused_full, 1);
  EXPECT_EQ(refused.read(64).size(), 64u) << "a greeting, so that it may be told why";
  clock.advance(seconds(1));
  EXPECT_TRUE(refused.closed_by_peer());
  EXPECT_EQ(gate->counters().authenticated_now, 2u);
}

TEST_F(GateTest, RefusesAnAddressThatHasItsShare) {
  GateLimits l = unlimited_rate();
  l.per_address = 1;
  start(l);
  auto [a, b] = authenticated_pair();
  counts(&GateCounters::authenticated_now, 1);
  const RawSocket refused = connect();
  counts(&GateCounters::refused_address, 1);
  // As much as a client sends that begins a handshake with keys.
  EXPECT_TRUE(refused.write(kSignature + std::string(90, 'x')));
  const std::string told = refused.read(64 + 12);
  EXPECT_EQ(told.substr(64), std::string("\4\x0a\5ERROR\3"
                                         "300",
                                         12));
  clock.advance(seconds(1));
  EXPECT_TRUE(refused.closed_by_peer());
}

// They get no more than their bound, whoever comes.
TEST_F(GateTest, FarewellsAreBoundedInNumberAndTime) {
  GateLimits l = unlimited_rate();
  l.connections = 1;
  start(l);
  auto [a, b] = authenticated_pair();
  const std::size_t before = descriptors();
  std::vector<RawSocket> all;
  std::size_t reset = 0;
  for (int i = 0; i < 200; ++i) {
    errno = 0;
    RawSocket fd = connect();
    // Who is turned away at once may learn it from connect() already.
    if (!fd) {
      EXPECT_EQ(errno, ECONNRESET);
      ++reset;
      continue;
    }
    all.push_back(std::move(fd));
  }
  counts(&GateCounters::refused_full, 200);
  EXPECT_LE(reset, 200 - Gate::kMostFarewells);
  EXPECT_LE(descriptors(), before + all.size() + Gate::kMostFarewells + 1);
  clock.advance(seconds(1));
  for (const RawSocket& fd : all) EXPECT_TRUE(fd.closed_by_peer());
  EXPECT_TRUE(eventually([&] { return descriptors() == before + all.size(); }));
}

TEST(GateLanes, EachHandshakeHasOneToItselfAsLongAsThereAreEnough) {
  Lanes lanes(3);
  const TimeNs t(1'000'000'000);
  const std::uint32_t a = lanes.take(1, "10.0.0.1", t), b = lanes.take(2, "10.0.0.2", t);
  EXPECT_NE(a, b);
  EXPECT_EQ(lanes.who(a), "10.0.0.1");
  EXPECT_EQ(lanes.who(b), "10.0.0.2");
  lanes.leave(1, a, true, t);
  EXPECT_EQ(lanes.who(a), "");
  const std::uint32_t c = lanes.take(3, "10.0.0.3", t);
  EXPECT_EQ(std::set<std::uint32_t>({a, b, c}).size(), 3u) << "the one taken longest ago";
  lanes.leave(3, c, false, t);  // broke off: its question may still be answered
  EXPECT_EQ(lanes.who(c), "10.0.0.3");
  EXPECT_EQ(lanes.take(4, "10.0.0.4", t), a);
  EXPECT_EQ(lanes.take(5, "10.0.0.5", t), c);
  EXPECT_EQ(lanes.who(c), "10.0.0.3 or 10.0.0.5");
  for (std::uint64_t id = 6; id < 500; ++id) lanes.take(id, "10.1.0." + std::to_string(id), t + seconds(2));
  EXPECT_THAT(lanes.who(a), testing::EndsWith("others"));
  EXPECT_EQ(lanes.who(7), "");
}

TEST_F(GateTest, RefusesBeyondTheRate) {
  GateLimits l;
  l.burst_per_address = 3;
  open(l);
  std::vector<RawSocket> all;
  for (int i = 0; i < 10; ++i) all.push_back(connect());
  counts(&GateCounters::refused_rate, 7);
  clock.advance(milliseconds(10));  // one more, at 100 a second
  all.push_back(connect());
  counts(&GateCounters::accepted, 4);
}

TEST_F(GateTest, ServerNotThereAndBackAgain) {
  open();
  // It may come yet: a client waits for it as long as a handshake may take.
  const auto in_vain = [&](std::uint64_t nth, std::uint64_t vain) {
    const RawSocket client = connect();
    counts(&GateCounters::accepted, nth);
    ASSERT_TRUE(client.write(kSignature));
    clock.advance(GateLimits{}.handshake + seconds(1));
    EXPECT_TRUE(client.closed_by_peer());
    counts(&GateCounters::backend_unavailable, vain);
  };
  in_vain(1, 1);
  listen_unix();
  { auto pair = authenticated_pair(); }
  server = RawSocket();
  in_vain(3, 2);
  listen_unix();
  auto pair = authenticated_pair();
}

TEST_F(GateTest, AThousandHalfOpenConnectionsLeaveDescriptorsFlat) {
  start();
  auto [good, peer] = authenticated_pair();
  const std::size_t before = descriptors();
  std::vector<RawSocket> mine;
  for (int i = 0; i < 1000; ++i) {
    mine.push_back(connect());
    if (i % 2 == 0) mine.back().write(kSignature.substr(0, static_cast<std::size_t>(1 + i % 9)));
    // Held open at our side for a while; the gate may not hold more than its limit whatever we do.
    if (mine.size() == 200) {
      ASSERT_TRUE(eventually([&] { return gate->counters().accepted == static_cast<std::uint64_t>(i) + 2; }));
      EXPECT_LE(descriptors(), before + 200 + 64 + 1);
      mine.clear();
    }
  }
  EXPECT_TRUE(eventually([&] { return gate->counters().open_now == 1 && descriptors() == before; }))
      << descriptors() << " " << before;
  ASSERT_TRUE(good.write("ok"));
  EXPECT_EQ(peer.read(2), "ok");
}

TEST_F(GateTest, OutOfDescriptorsTurnsAwayAndComesBack) {
  start();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  std::vector<RawSocket> waiting, filling;
  for (int i = 0; i < 5; ++i) waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int highest = 0;
  for (const auto& e : std::filesystem::directory_iterator("/proc/self/fd"))
    highest = std::max(highest, std::stoi(e.path().filename()));
  do filling.emplace_back(::dup(0));
  while (filling.back().get() < highest);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(filling.back().get()) + 1;  // all below are taken, none is left
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  const std::string& at = gate->addresses()[0];
  a.sin_port = htons(static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1))));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const RawSocket& fd : waiting)
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a), 0);
  // It backs off after each round, by a clock that only this test advances.
  EXPECT_TRUE(eventually([&] {
    clock.advance(milliseconds(50));
    return gate->counters().out_of_descriptors >= 5;
  }));
  EXPECT_EQ(gate->counters().out_of_descriptors, 5u);
  for (const RawSocket& fd : waiting) EXPECT_TRUE(fd.closed_by_peer());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const RawSocket first = connect();
  EXPECT_TRUE(eventually([&] {
    clock.advance(milliseconds(50));
    return gate->counters().accepted == 1;
  }));
  auto pair = authenticated_pair();
}

TEST_F(GateTest, ClosesWithConnectionsAlive) {
  start();
  const std::size_t before = descriptors();
  auto [client, peer] = authenticated_pair();
  const RawSocket silent = connect();
  ASSERT_TRUE(counts(&GateCounters::open_now, 2));
  gate->close();
  gate->close();
  EXPECT_TRUE(client.closed_by_peer());
  EXPECT_TRUE(peer.closed_by_peer());
  EXPECT_EQ(connect().get(), -1);
  EXPECT_EQ(gate->counters().open_now, 0u);
  EXPECT_EQ(descriptors(), before - 1 + 3);  // less its port; ours are open
}

TEST_F(GateTest, AddressesThatCannotBeListenedAt) {
  open();
  const std::string taken = gate->addresses()[0];
  const auto message = [&](const std::string& address) {
    auto g = Gate::open({{address, path}}, GateLimits(), clock);
    return g ? "opened" : g.error().message;
  };
  EXPECT_EQ(message(taken), taken + ": cannot listen there: Address already in use");
  EXPECT_EQ(message("192.0.2.1:0"), "192.0.2.1:0: cannot listen there: Cannot assign requested address");
  for (const char* bad : {"", "7650", "localhost:1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
                          "127.0.0.1:65536", "::1:70", "[::1]", "1.2.3:4:5"})
    EXPECT_EQ(message(bad).find("'" + std::string(bad) + "' is not an address to listen at"), 0u)
        << message(bad);
  GateLimits none;
  none.unauthenticated = 0;
  EXPECT_FALSE(Gate::open({{"127.0.0.1:0", path}}, none, clock));
}

TEST_F(GateTest, IPv6) {
  auto g = Gate::open({{"tcp://[::1]:0", path}}, GateLimits(), clock);
  if (!g && g.error().message.find("address family") != std::string::npos) GTEST_SKIP() << g.error().message;
  if (!g && g.error().message.find("Cannot assign") != std::string::npos) GTEST_SKIP() << g.error().message;
  ASSERT_TRUE(g) << g.error().message;
  EXPECT_EQ((*g)->addresses()[0].substr(0, 6), "[::1]:");
}

}  // namespace gate_test
}  // namespace margay::transport
