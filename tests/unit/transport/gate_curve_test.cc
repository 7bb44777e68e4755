// Real ZeroMQ sockets with CURVE, through the gate.
#include "gate_rig.h"

namespace margay::transport {
namespace gate_curve_test {

struct Keys {
  char open[41], secret[41];
  Keys() { zmq_curve_keypair(open, secret); }
};

class GateCurve : public GateTest {
 protected:
  zmq::socket_t router() {
    zmq::socket_t s(context, zmq::socket_type::router);
    s.set(zmq::sockopt::linger, 0);
    s.set(zmq::sockopt::rcvtimeo, 30'000);
    s.set(zmq::sockopt::curve_server, true);
    s.set(zmq::sockopt::curve_secretkey, keys.secret);
    s.bind("ipc://" + path);
    return s;
  }
  zmq::socket_t dealer(const char* server_key, zmq::socket_type type = zmq::socket_type::dealer) {
    const Keys own;
    zmq::socket_t s(context, type);
    s.set(zmq::sockopt::linger, 0);
    s.set(zmq::sockopt::rcvtimeo, 30'000);
    s.set(zmq::sockopt::reconnect_ivl, 20);
    if (server_key != nullptr) {
      s.set(zmq::sockopt::curve_serverkey, server_key);
      s.set(zmq::sockopt::curve_publickey, own.open);
      s.set(zmq::sockopt::curve_secretkey, own.secret);
    }
    s.connect("tcp://" + gate->addresses()[0]);
    return s;
  }
  // A message there and one back.
  static void exchange(zmq::socket_t& d, zmq::socket_t& r, std::size_t size) {
    const std::string text(size, 'm');
    ASSERT_TRUE(d.send(zmq::buffer(text)));
    zmq::message_t from, body, back;
    ASSERT_TRUE(r.recv(from));
    ASSERT_TRUE(r.recv(body));
    EXPECT_TRUE(body.to_string_view() == text);
    ASSERT_TRUE(r.send(from, zmq::send_flags::sndmore));
    ASSERT_TRUE(r.send(body, zmq::send_flags::none));
    ASSERT_TRUE(d.recv(back));
    EXPECT_TRUE(back.to_string_view() == text);
  }

  Keys keys;
  zmq::context_t context{1};
};

TEST_F(GateCurve, DealerAndRouter) {
  auto r = router();
  open();
  auto d = dealer(keys.open);
  for (const std::size_t size : {1u, 300u, 100'000u, 7u}) exchange(d, r, size);
  EXPECT_EQ(gate->counters().authenticated, 1u);
  EXPECT_EQ(gate->counters().authenticated_now, 1u);
  // No deadline is left for it.
  clock.advance(seconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  exchange(d, r, 10);
  EXPECT_EQ(gate->counters().accepted, 1u);
  d.close();
  counts(&GateCounters::closed, 1);
}

TEST_F(GateCurve, TheHandshakeFitsIntoOneKibibyte) {
  auto r = router();
  GateLimits l = unlimited_rate();
  l.handshake_bytes = 1024;
  open(l);
  auto d = dealer(keys.open);
  exchange(d, r, 100);
  EXPECT_EQ(gate->counters().too_chatty, 0u);
}

TEST_F(GateCurve, WrongKeysAndNoKeysAreNeverAuthenticated) {
  auto r = router();
  open();
  const Keys wrong;
  auto bad = dealer(wrong.open);
  auto plain = dealer(nullptr);
  bad.send(zmq::buffer("x", 1), zmq::send_flags::dontwait);
  ASSERT_TRUE(eventually([&] { return gate->counters().accepted >= 8; })) << "they come back again and again";
  auto good = dealer(keys.open);
  exchange(good, r, 100);
  EXPECT_EQ(gate->counters().authenticated, 1u);
  zmq::message_t none;
  EXPECT_FALSE(r.recv(none, zmq::recv_flags::dontwait));
  const auto c = gate->counters();
  EXPECT_GE(c.handshake_failures + c.handshake_abandoned, 6u);
}

TEST_F(GateCurve, ServerThatDoesNotEncryptAuthenticatesNobody) {
  zmq::socket_t open_router(context, zmq::socket_type::router);
  open_router.set(zmq::sockopt::linger, 0);
  open_router.bind("ipc://" + path);
  open();
  auto plain = dealer(nullptr);
  ASSERT_TRUE(eventually([&] { return gate->counters().handshake_failures >= 1; }));
  EXPECT_EQ(gate->counters().authenticated, 0u);
}

TEST_F(GateCurve, ServerRestartsBehindTheGate) {
  open();
  auto first = router();
  auto d = dealer(keys.open);
  exchange(d, first, 100);
  first.close();
  ASSERT_TRUE(eventually([&] { return gate->counters().authenticated_now == 0; }));
  zmq::socket_t second;
  ASSERT_TRUE(eventually([&] {  // the address is free again a moment after close()
    try {
      second = router();
      return true;
    } catch (const zmq::error_t&) {
      return false;
    }
  }));
  ASSERT_TRUE(eventually([&] { return gate->counters().authenticated_now == 1; }));
  exchange(d, second, 100);
}

TEST_F(GateCurve, RealPeersComeInThroughAFlood) {
  auto r = router();
  open();
  auto before = dealer(keys.open);
  exchange(before, r, 10);
  std::atomic<bool> stop{false};
  std::thread flood([&] {
    std::vector<RawSocket> held(100);
    for (std::size_t i = 0; !stop; ++i) {
      held[i % held.size()] = connect();
      if (i % 3 == 0) held[i % held.size()].write(kSignature);
    }
  });
  EXPECT_TRUE(eventually([&] { return gate->counters().evicted > 300; }));
  auto during = dealer(keys.open);
  exchange(during, r, 1000);
  exchange(before, r, 1000);
  stop = true;
  flood.join();
  EXPECT_EQ(gate->counters().authenticated_now, 2u);
}

}  // namespace gate_curve_test
}  // namespace margay::transport
