// The gate's decisions, without a socket.
#include <gtest/gtest.h>

#include <random>

#include "margay/transport/gate_policy.h"

namespace margay::transport {
namespace gate_policy_test {

using Answer = Admission::Answer;
using State = ServerWatch::State;

std::string greeting(const std::string& mechanism = "CURVE", char version = 3) {
  std::string g("\xff\0\0\0\0\0\0\0\1\x7f", 10);
  g += version;
  g += '\1';
  std::string m = mechanism;
  m.resize(20);
  g += m + '\1';
  g.resize(64);
  return g;
}
std::string command(const std::string& name, std::size_t body) {
  std::string b(1, static_cast<char>(name.size()));
  b += name;
  b.resize(body, 'x');
  return std::string("\4", 1) + static_cast<char>(body) + b;
}
std::string long_command(const std::string& name, std::size_t body) {
  const std::string s = command(name, body);
  return std::string("\6\0\0\0\0\0\0", 7) + static_cast<char>(body >> 8) + static_cast<char>(body) +
         s.substr(2);
}

TEST(GatePolicy, ServerWatchSeesAuthenticationHoweverTheBytesAreCut) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string all = greeting() + command("WELCOME", 168) + long_command("READY", 300) + "data";
  const std::size_t ready = all.size() - 4 - 300;  // the name decides, not the end of the frame
  for (int round = 0; round < 200; ++round) {
    ServerWatch watch;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t n = std::min<std::size_t>(1 + random() % 100, all.size() - at);
      const State s = watch.take(std::string_view(all).substr(at, n));
      at += n;
      ASSERT_EQ(s, at >= ready + 8 ? State::kAuthenticated : State::kPending) << at;
    }
  }
}

TEST(GatePolicy, ServerWatchIsNotTakenIn) {
  const auto after = [](const std::string& bytes) { return ServerWatch().take(bytes); };
  EXPECT_EQ(after(greeting() + command("WELCOME", 168)), State::kPending);
  EXPECT_EQ(after(greeting() + command("ERROR", 10)), State::kRefused);
  EXPECT_EQ(after(greeting() + command("WELCOME", 168) + command("ERROR", 10)), State::kRefused);
  EXPECT_EQ(after(greeting("NULL") + command("READY", 60)), State::kForeign)
      << "no encryption, no authentication";
  EXPECT_EQ(after(greeting("CURVE", 2)), State::kForeign);
  EXPECT_EQ(after(greeting() + command("READY", 60)), State::kForeign) << "without a WELCOME";
  EXPECT_EQ(after(greeting() + command("WELCOME", 168) + command("READY", 20)), State::kForeign)
      << "too short";
  EXPECT_EQ(after(greeting() + command("WELCOME", 100)), State::kForeign);
  EXPECT_EQ(after(greeting() + std::string("\0\5hello", 7)), State::kForeign)
      << "a message before authentication";
  EXPECT_EQ(after(greeting() + std::string("\4\0", 2)), State::kForeign) << "a command without a name";
  EXPECT_EQ(after(greeting() + std::string("\6\x7f\xff\xff\xff\xff\xff\xff\xff", 9)), State::kForeign);
  EXPECT_EQ(after("HTTP/1.1 400 Bad Request\r\n" + std::string(100, ' ')), State::kForeign);
}

TEST(GatePolicy, FirstBytesOfAClient) {
  const std::string g = greeting();
  EXPECT_EQ(first_bytes(""), FirstBytes::kMore);
  EXPECT_EQ(first_bytes(std::string_view(g).substr(0, 9)), FirstBytes::kMore);
  EXPECT_EQ(first_bytes(std::string_view(g).substr(0, 10)), FirstBytes::kZmtp);
  EXPECT_EQ(first_bytes("GET / HTTP/1.1"), FirstBytes::kForeign);
  EXPECT_EQ(first_bytes("G"), FirstBytes::kForeign);
  EXPECT_EQ(first_bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), FirstBytes::kForeign);
}

GateLimits fast() {  // no limit of rate
  GateLimits l;
  l.rate = l.rate_per_address = l.burst = l.burst_per_address = 1e9;
  return l;
}

TEST(GatePolicy, OldestUnauthenticatedMakesRoomAndNoOther) {
  GateLimits l = fast();
  l.unauthenticated = 3;
  Admission a(l, TimeNs());
  for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_FALSE(a.arrive(id, "x", TimeNs()).evict);
  a.authenticated(1);
  EXPECT_FALSE(a.arrive(4, "y", TimeNs()).evict);
  for (std::uint64_t id = 5; id <= 1000; ++id) {
    const auto d = a.arrive(id, "y", TimeNs());
    ASSERT_EQ(d.answer, Answer::kAdmit);
    ASSERT_EQ(d.evict, id - 3);  // 2, 3, 4, ...: never 1
  }
  EXPECT_EQ(a.open(), 4u);
  EXPECT_EQ(a.open_unauthenticated(), 3u);
}

TEST(GatePolicy, AuthenticatedOnesAreNeverEvicted) {
  GateLimits l = fast();
  l.connections = 5;
  l.per_address = 2;
  Admission a(l, TimeNs());
  for (std::uint64_t id = 1; id <= 4; ++id) {
    ASSERT_EQ(a.arrive(id, id <= 2 ? "x" : "y", TimeNs()).answer, Answer::kAdmit);
    a.authenticated(id);
  }
  EXPECT_EQ(a.arrive(10, "x", TimeNs()).answer, Answer::kAddress);
  EXPECT_FALSE(a.arrive(11, "z", TimeNs()).evict);
  EXPECT_EQ(a.arrive(12, "w", TimeNs()).evict, 11u) << "all are taken; one has not authenticated";
  a.authenticated(12);
  EXPECT_EQ(a.arrive(13, "v", TimeNs()).answer, Answer::kFull);
  EXPECT_EQ(a.arrive(14, "x", TimeNs()).answer, Answer::kAddress);
  a.leave(1);
  EXPECT_EQ(a.arrive(15, "x", TimeNs()).answer, Answer::kAdmit);
  EXPECT_EQ(a.open(), 5u);
}

TEST(GatePolicy, AnAddressEvictsItsOwn) {
  GateLimits l = fast();
  l.per_address = 2;
  Admission a(l, TimeNs());
  ASSERT_EQ(a.arrive(1, "other", TimeNs()).answer, Answer::kAdmit);
  ASSERT_EQ(a.arrive(2, "x", TimeNs()).answer, Answer::kAdmit);
  ASSERT_EQ(a.arrive(3, "x", TimeNs()).answer, Answer::kAdmit);
  EXPECT_EQ(a.arrive(4, "x", TimeNs()).evict, 2u);
  EXPECT_EQ(a.open(), 3u);
}

TEST(GatePolicy, RatesOfAnAddressAndOfAll) {
  GateLimits l;
  l.rate_per_address = 10, l.burst_per_address = 5, l.rate = 20, l.burst = 8;
  Admission a(l, TimeNs());
  std::uint64_t id = 0;
  const auto admitted = [&](const std::string& address, TimeNs now) {
    int n = 0;
    for (int i = 0; i < 100; ++i) n += a.arrive(++id, address, now).answer == Answer::kAdmit;
    return n;
  };
  EXPECT_EQ(admitted("x", TimeNs()), 5);
  EXPECT_EQ(admitted("y", TimeNs()), 3) << "what the first left of all";
  EXPECT_EQ(admitted("x", TimeNs() + milliseconds(1000)), 5) << "the burst, not more";
  EXPECT_EQ(admitted("x", TimeNs() + milliseconds(1200)), 2);
}

TEST(GatePolicy, AddressesRememberedAreBounded) {
  Admission a(fast(), TimeNs());
  for (std::uint64_t id = 1; id <= 20'000; ++id)
    a.arrive(id, std::to_string(id), TimeNs(static_cast<std::int64_t>(id)));
  EXPECT_LE(a.addresses(), 256u + 1024u);
  EXPECT_EQ(a.open_unauthenticated(), 64u);
}

TEST(GatePolicy, OverdueInOrderOfArrival) {
  Admission a(fast(), TimeNs());
  a.arrive(1, "x", TimeNs());
  a.arrive(2, "x", TimeNs() + milliseconds(500));
  EXPECT_FALSE(a.overdue(TimeNs() + milliseconds(1999)));
  EXPECT_EQ(a.overdue(TimeNs() + milliseconds(2000)), 1u);
  a.authenticated(1);
  EXPECT_FALSE(a.overdue(TimeNs() + milliseconds(2400)));
  EXPECT_EQ(a.overdue(TimeNs() + milliseconds(2500)), 2u);
  a.leave(2);
  EXPECT_FALSE(a.overdue(TimeNs() + seconds(100)));
}

}  // namespace gate_policy_test
}  // namespace margay::transport
