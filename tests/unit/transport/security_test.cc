// The door: roles and domains, revocation of those who are inside, change of keys; over real tcp on loopback.
#include "margay/transport/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "../../support/temporary_folder.h"
#include "gate_rig.h"
#include "margay/transport/client_connection.h"
#include "margay/transport/guarded.h"
#include "margay/wire/control.pb.h"

namespace margay::transport {
namespace security_test {

using testing::HasSubstr;
using testing::SizeIs;

class Door : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(init_keys(dir_));
    ASSERT_TRUE(add_client(dir_, "src", Role::kSource, file("src"), "now"));
    ASSERT_TRUE(add_client(dir_, "view", Role::kViewer, file("view"), "now"));
    ASSERT_TRUE(add_client(dir_, "op", Role::kOperator, file("op"), "now"));
    ASSERT_TRUE(init_keys(base_ / "other"));
    ASSERT_TRUE(add_client(base_ / "other", "src", Role::kSource, file("stranger"), "now"));
    auto door = Authenticator::start(context_, dir_, clock_, [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    });
    ASSERT_TRUE(door) << door.error().message;
    door_ = std::move(*door);
  }
  void TearDown() override {
    server_.reset();
    door_.reset();
  }
  std::string file(const std::string& name) const { return base_ / name; }
  void listen(const std::string& domain, zmq::socket_type type = zmq::socket_type::router) {
    auto socket = GuardedSocket::bind(context_, type, {"tcp://127.0.0.1:*"}, domain, *door_);
    ASSERT_TRUE(socket) << socket.error().message;
    server_.emplace(std::move(*socket));
  }
  std::unique_ptr<ClientConnection> client(const std::string& key,
                                           zmq::socket_type type = zmq::socket_type::dealer) {
    auto d = std::make_unique<ClientConnection>(context_, clock_, type, server_->endpoints()[0], file(key));
    const auto ok = d->open();
    EXPECT_TRUE(ok) << ok.error().message;
    return d;
  }
  template <class Condition>
  static bool wait_for(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  static void say(ClientConnection& d, int number) {
    wire::ControlRequest m;
    m.set_version(static_cast<std::uint32_t>(number));
    d.socket().try_send(m);
  }
  // Whether a message of this client comes through, said again and again, before it is refused.
  bool comes_in(ClientConnection& d) {
    bool heard = false;
    const int number = ++number_;  // not to be taken for what another client said before
    EXPECT_TRUE(wait_for([&] {
      say(d, number);
      d.look();
      server_->keep_up();
      while (const auto frame = server_->try_receive()) {
        wire::ControlRequest m;
        heard =
            heard || (m.ParseFromString(frame->body) && m.version() == static_cast<std::uint32_t>(number));
      }
      return heard || !d.refused().empty();
    }));
    return heard;
  }
  std::size_t lines() {
    const std::lock_guard lock(mutex_);
    return log_.size();
  }

  int number_ = 0;
  const test::TemporaryFolder base_{"/tmp"};
  const std::string dir_ = base_ / "keys";
  SystemClock clock_;
  std::mutex mutex_;
  std::vector<std::string> log_;
  zmq::context_t context_{1};
  std::unique_ptr<Authenticator> door_;
  std::optional<GuardedSocket> server_;
};

TEST_F(Door, ARoleMayWhatItIsFor) {
  const struct {
    const char* domain;
    bool src, view, op;
  } table[] = {
      {"ingest", true, false, false}, {"control", false, true, true}, {"another", false, false, false}};
  for (const auto& row : table) {
    server_.reset();
    listen(row.domain);
    EXPECT_EQ(comes_in(*client("src")), row.src) << row.domain;
    EXPECT_EQ(comes_in(*client("view")), row.view) << row.domain;
    EXPECT_EQ(comes_in(*client("op")), row.op) << row.domain;
  }
  EXPECT_TRUE(door_->is_operator(load_client_key(file("op"))->pair.public_key));
  EXPECT_FALSE(door_->is_operator(load_client_key(file("view"))->pair.public_key));
  EXPECT_EQ(door_->snapshot().roles_refused, 6u);
  EXPECT_EQ(door_->snapshot().keys_refused, 0u);
}

TEST_F(Door, StrangersAreToldAndCounted) {
  listen("ingest");
  // A key pair of somebody else, who has learned the daemon's public key.
  ASSERT_TRUE(trust_server(file("stranger"), load_server_key(dir_)->public_key));
  auto d = client("stranger");
  ASSERT_TRUE(wait_for([&] {
    d->look();
    return !d->refused().empty();
  }));
  EXPECT_THAT(d->refused(), HasSubstr("refused: the daemon does not know this key"));
  EXPECT_THAT(d->refused(), HasSubstr("margay keys add"));
  EXPECT_EQ(door_->snapshot().keys_refused, 1u);
  // Its first try was with the other daemon's key; of that another thread tells, and maybe later.
  EXPECT_TRUE(wait_for([&] { return lines() >= 2; }));
  EXPECT_EQ(lines(), 2u);
  // No key at all.
  zmq::socket_t bare(context_, zmq::socket_type::dealer);
  bare.set(zmq::sockopt::linger, 0);
  bare.connect(server_->endpoints()[0]);
  EXPECT_TRUE(wait_for([&] { return door_->snapshot().handshakes_failed >= 1; }));
  EXPECT_FALSE(server_->try_receive());
  // A known client is not disturbed.
  EXPECT_TRUE(comes_in(*client("src")));
}

TEST_F(Door, AnotherProtocolIsCounted) {
  listen("ingest");
  zmq::socket_t raw(context_, zmq::socket_type::stream);
  raw.set(zmq::sockopt::linger, 0);
  raw.connect(server_->endpoints()[0]);
  zmq::message_t id, greeting;
  ASSERT_TRUE(raw.recv(id));
  ASSERT_TRUE(raw.recv(greeting));
  raw.send(id, zmq::send_flags::sndmore);
  raw.send(zmq::str_buffer("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(wait_for([&] { return door_->snapshot().handshakes_failed >= 1; }));
  EXPECT_TRUE(comes_in(*client("src")));
}

TEST_F(Door, AnotherDaemonsKeyIsNoticed) {
  listen("ingest");
  auto d = client("stranger");  // trusts the other daemon only
  ASSERT_TRUE(wait_for([&] {
    d->look();
    return !d->refused().empty();
  }));
  EXPECT_THAT(d->refused(), HasSubstr("has not the daemon's key"));
  EXPECT_EQ(door_->snapshot().keys_refused, 0u);  // it never came so far
}

TEST_F(Door, WhoIsRevokedIsCutOffWhileConnected) {
  listen("ingest");
  ASSERT_TRUE(add_client(dir_, "stays", Role::kSource, file("stays"), "now"));
  ASSERT_TRUE(wait_for([&] { return door_->snapshot().clients_authorised == 4; }));
  auto d = client("src"), other = client("stays");
  ASSERT_TRUE(comes_in(*d));
  ASSERT_TRUE(comes_in(*other));
  const auto before = door_->generation();
  ASSERT_TRUE(revoke_client(dir_, "src"));
  ASSERT_TRUE(wait_for([&] { return door_->generation() != before; }));
  // Not cut off yet (keep_up() was not called), but not heard either.
  say(*d, ++number_);
  const std::string revoked = load_client_key(file("src"))->pair.public_key;
  ASSERT_TRUE(wait_for([&] {
    while (const auto frame = server_->try_receive()) EXPECT_NE(frame->user, revoked);
    return door_->snapshot().messages_unauthorised >= 1;
  }));
  EXPECT_FALSE(comes_in(*d));
  EXPECT_THAT(d->refused(), HasSubstr("does not know this key"));
  EXPECT_TRUE(comes_in(*other));
  EXPECT_GE(door_->snapshot().keys_refused, 1u);
}

TEST_F(Door, ReportsStopForWhoIsRevoked) {
  listen("reports", zmq::socket_type::pub);
  auto d = client("view", zmq::socket_type::sub);
  const auto hears = [&] {
    wire::ControlRequest m;
    m.set_version(1);
    server_->keep_up();
    server_->socket().try_send(m);
    d->look();
    return d->socket().try_receive().has_value();
  };
  ASSERT_TRUE(wait_for(hears));
  ASSERT_TRUE(revoke_client(dir_, "view"));
  ASSERT_TRUE(wait_for([&] {
    hears();
    return !d->refused().empty();
  }));
  while (d->socket().try_receive()) {
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(hears());
}

TEST_F(Door, AClientsKeyIsChangedWhileItIsConnected) {
  listen("ingest");
  auto d = client("src");
  ASSERT_TRUE(comes_in(*d));
  ASSERT_TRUE(rotate_client(dir_, "src", file("src.new")));
  const std::string next = load_client_key(file("src.new"))->pair.public_key;
  ASSERT_TRUE(wait_for([&] { return door_->admits(next, "ingest"); }));
  std::filesystem::rename(file("src.new"), file("src"));
  bool changed = false;
  ASSERT_TRUE(wait_for([&] {
    say(*d, ++number_);
    d->look();
    while (const auto frame = server_->try_receive()) changed = changed || frame->user == next;
    return changed;
  }));
  ASSERT_TRUE(retire_client(dir_, "src"));
  EXPECT_TRUE(comes_in(*d));
  EXPECT_EQ(d->refused(), "");
}

TEST_F(Door, TheDaemonsKeyIsChangedAndClientsFollow) {
  listen("ingest");
  auto d = client("src");
  ASSERT_TRUE(comes_in(*d));
  const auto next = begin_server_rotation(dir_);
  ASSERT_TRUE(next);
  ASSERT_TRUE(trust_server(file("src"), *next));
  const std::string before = door_->server_fingerprint();
  ASSERT_TRUE(finish_server_rotation(dir_));
  ASSERT_TRUE(wait_for([&] { return door_->server_fingerprint() != before; }));
  server_->keep_up();
  ASSERT_TRUE(wait_for([&] { return comes_in(*d); }));
  // Who trusts the old key only does not come in any more.
  EXPECT_FALSE(comes_in(*client("op")));
}

TEST_F(Door, ADirectoryThatBecomesUnusableLetsNobodyIn) {
  listen("ingest");
  for (const std::string& place : {dir_ + "/authorized", dir_, base_.path}) {
    auto d = client("src");
    ASSERT_TRUE(comes_in(*d));
    const std::size_t before = lines();
    std::filesystem::permissions(place, std::filesystem::perms::all);
    ASSERT_TRUE(wait_for([&] { return door_->snapshot().clients_authorised == 0; })) << place;
    EXPECT_FALSE(comes_in(*d));
    EXPECT_GT(lines(), before);
    std::filesystem::permissions(place, std::filesystem::perms::owner_all);
    ASSERT_TRUE(wait_for([&] { return door_->snapshot().clients_authorised == 3; })) << place;
    EXPECT_TRUE(comes_in(*client("src")));
  }
}

TEST_F(Door, OneKeyUnderThreeNamesGetsNoMoreThanTheLeast) {
  const std::string key = load_client_key(file("view"))->pair.public_key;
  const auto name = [&](const std::string& as, const std::string& role) {
    const std::string path = dir_ + "/authorized/" + as;
    std::ofstream(path) << "margay-authorized 1\nname " << as << "\nrole " << role << "\ncreated now\npublic "
                        << key << "\n";
    std::filesystem::permissions(path, std::filesystem::perms(0600));
  };
  name("wiew2", "operator");
  name("wiew3", "operator");
  ASSERT_TRUE(wait_for([&] { return door_->snapshot().clients_authorised == 5; }));
  EXPECT_TRUE(door_->admits(key, "control"));
  EXPECT_FALSE(door_->is_operator(key)) << "it is a viewer's as well";
  EXPECT_FALSE(door_->admits(key, "ingest"));
  name("wiew3", "source");
  ASSERT_TRUE(wait_for([&] { return !door_->admits(key, "control"); }));
  EXPECT_FALSE(door_->admits(key, "ingest")) << "nothing is what all of them may";
  listen("control");
  EXPECT_FALSE(comes_in(*client("view")));
  EXPECT_TRUE(comes_in(*client("op")));
}

TEST(Endpoints, LeaveTheMachineOnlyWithKeys) {
  Security none, loose, keys;
  loose.insecure = true;
  keys.server_secret = std::string(40, '0');
  EXPECT_TRUE(check_endpoint("ipc:///tmp/x", none));
  EXPECT_TRUE(check_endpoint("inproc://x", none));
  for (const char* e : {"tcp://127.0.0.1:1", "tcp://0.0.0.0:1", "tcp://*:1", "tcp://host:1"}) {
    const auto status = check_endpoint(e, none);
    ASSERT_FALSE(status) << e;
    EXPECT_THAT(status.error().message, HasSubstr("margay keys init"));
    EXPECT_TRUE(check_endpoint(e, keys)) << e;
  }
  EXPECT_TRUE(check_endpoint("tcp://127.0.0.1:1", loose));
  EXPECT_FALSE(check_endpoint("tcp://*:1", loose));
  EXPECT_FALSE(check_endpoint("tcp://10.0.0.1:1", loose));
  for (const char* e : {"", "7411", "127.0.0.1:1", "udp://x:1", "tcp://"})
    EXPECT_FALSE(check_endpoint(e, keys)) << e;
  EXPECT_EQ(with_port("tcp://host:1", 42), "tcp://host:42");
  EXPECT_EQ(with_port("ipc://host:1", 42), "");
  EXPECT_EQ(port_of("tcp://[::1]:77"), 77u);
}

// The same sockets where the network does not see them: a gate stands before them.
class BehindAGate : public Door {
 protected:
  void TearDown() override {
    if (door_) door_->stands_behind({});
    gate_.reset();
    Door::TearDown();
  }
  void listen(const std::string& domain, const GateLimits& limits = GateLimits()) {
    constexpr std::uint32_t kLanes = 4;
    const std::string place = base_ / "s";
    std::vector<std::string> lanes;
    for (std::uint32_t i = 0; i < kLanes; ++i) lanes.push_back("ipc://" + lane_of(place, i));
    auto socket = GuardedSocket::bind(context_, zmq::socket_type::router, lanes, domain, *door_);
    ASSERT_TRUE(socket) << socket.error().message;
    server_.emplace(std::move(*socket));
    auto gate = Gate::open({{"127.0.0.1:0", place, kLanes}}, limits, clock_,
                           [this](const std::string& a, const char* r) { door_->note_refusal(a, r); });
    ASSERT_TRUE(gate) << gate.error().message;
    gate_ = std::move(*gate);
    door_->stands_behind([this](const std::string&, std::uint32_t lane) { return gate_->at_lane(0, lane); });
  }
  // From that address of this machine.
  std::unique_ptr<ClientConnection> client_from(const std::string& address, const std::string& key) {
    auto d =
        std::make_unique<ClientConnection>(context_, clock_, zmq::socket_type::dealer,
                                           "tcp://" + address + ":0;" + gate_->addresses()[0], file(key));
    const auto ok = d->open();
    EXPECT_TRUE(ok) << ok.error().message;
    return d;
  }
  bool logged(const std::string& text) {
    return wait_for([&] {
      const std::lock_guard lock(mutex_);
      return std::any_of(log_.begin(), log_.end(),
                         [&](const std::string& l) { return l.find(text) != std::string::npos; });
    });
  }
  std::unique_ptr<Gate> gate_;
};

TEST_F(BehindAGate, WhoIsRefusedIsNamedByItsAddress) {
  listen("ingest");
  ASSERT_TRUE(trust_server(file("stranger"), load_server_key(dir_)->public_key));
  auto stranger = client_from("127.0.0.7", "stranger");
  auto viewer = client_from("127.0.0.8", "view");
  EXPECT_TRUE(wait_for([&] {
    stranger->look();
    viewer->look();
    return !stranger->refused().empty() && !viewer->refused().empty();
  }));
  EXPECT_THAT(stranger->refused(), HasSubstr("does not know this key"));
  EXPECT_TRUE(logged("from 127.0.0.7: its key is not authorised"));
  EXPECT_TRUE(logged("from 127.0.0.8: 'view' is a viewer"));
  const RawSocket port_scan = connect_tcp(gate_->addresses()[0]);
  EXPECT_TRUE(port_scan.write("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(logged("from 127.0.0.1: it speaks another protocol"));
}

TEST_F(BehindAGate, AMessageSaysWhereItComesFromAlsoAfterKeysHaveChanged) {
  listen("ingest");
  auto source = client_from("127.0.0.9", "src");
  const auto heard_from = [&] {
    std::string address;
    EXPECT_TRUE(wait_for([&] {
      say(*source, 1);
      source->look();
      server_->keep_up();
      while (const auto frame = server_->try_receive()) {
        address = frame->address;
        EXPECT_EQ(door_->name_of(frame->user), "src");
      }
      return !address.empty();
    }));
    return address;
  };
  EXPECT_EQ(heard_from(), "127.0.0.9");
  // A second key of the same name is the same owner's; then the first goes, and all connections are cut.
  ASSERT_TRUE(rotate_client(dir_, "src", file("src.new")));
  std::filesystem::rename(file("src.new"), file("src"));
  EXPECT_EQ(heard_from(), "127.0.0.9");
  const std::uint64_t before = door_->generation();
  ASSERT_TRUE(retire_client(dir_, "src"));
  EXPECT_TRUE(wait_for([&] { return door_->generation() > before; }));
  EXPECT_EQ(heard_from(), "127.0.0.9");
}

TEST_F(BehindAGate, WhoFindsNoRoomIsToldSoAndComesInLater) {
  GateLimits limits;
  limits.connections = limits.unauthenticated = limits.per_address = 1;
  listen("ingest", limits);
  auto first = client_from("127.0.0.7", "src");
  EXPECT_TRUE(comes_in(*first));
  auto second = client_from("127.0.0.8", "src");
  EXPECT_TRUE(wait_for([&] {
    second->look();
    return !second->refused().empty();
  }));
  EXPECT_THAT(second->refused(), HasSubstr("no room for another connection"));
  EXPECT_THAT(second->refused(), testing::Not(HasSubstr("key")));
  EXPECT_TRUE(logged("from 127.0.0.8: as many connections are open as may be (listen.connections)"));
  first.reset();
  EXPECT_TRUE(wait_for([&] {
    second->look();
    return second->refused().empty();
  }));
  EXPECT_TRUE(comes_in(*second));
}

TEST(RefusalLog, IsBoundedHoweverManyTryAndSaysHowMany) {
  RefusalLog log;
  TimeNs now(0);
  std::size_t written = 0;
  for (int i = 0; i < 10'000; ++i)
    written += log.note("10.0.0." + std::to_string(i % 250), "why", now).has_value();
  EXPECT_EQ(written, RefusalLog::kLinesAMinute - 1);
  EXPECT_FALSE(log.tick(now + seconds(59)));
  EXPECT_EQ(log.tick(now + seconds(60)), "refused 9981 more connections in the last minute");
  EXPECT_FALSE(log.tick(now + seconds(120)));
  now = now + seconds(200);
  EXPECT_TRUE(log.note("a", "why", now));
  EXPECT_FALSE(log.note("a", "why", now));
  EXPECT_TRUE(log.note("a", "another", now));
  EXPECT_TRUE(log.note("b", "why", now));
}

}  // namespace security_test
}  // namespace margay::transport
