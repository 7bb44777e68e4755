// A local server with more peers than it lets in.
#include "margay/transport/limited.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "../../support/temporary_folder.h"
#include "margay/wire/control.pb.h"

namespace margay::transport {
namespace limited_test {

class LimitedTest : public testing::Test {
 protected:
  static constexpr std::size_t kMost = 4;
  LimitedTest() {
    auto made = LimitedSocket::bind(context_, zmq::socket_type::router, endpoint_, kMost, {2, 4, 4096});
    EXPECT_TRUE(made) << made.error().message;
    server_.emplace(std::move(*made));
  }
  zmq::socket_t& dealer() {
    zmq::socket_t& s = dealers_.emplace_back(context_, zmq::socket_type::dealer);
    s.set(zmq::sockopt::linger, 0);
    s.set(zmq::sockopt::reconnect_ivl, 10);
    s.connect(endpoint_);
    return s;
  }
  // One pass of a server's loop; what came.
  std::optional<std::string> pass() {
    Socket* const all[] = {&server_->socket()};
    static_cast<void>(wait_readable(all, std::chrono::milliseconds(2)));
    server_->keep_up();
    auto frame = server_->try_receive();
    return frame ? std::optional(frame->body) : std::nullopt;
  }
  // Until it is so, which makes a pass each time; 20 s, which only a failure takes.
  bool until(const std::function<bool()>& it_is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!it_is_so())
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }

  zmq::context_t context_;
  const test::TemporaryFolder directory_{"/tmp"};
  const std::string endpoint_ = "ipc://" + directory_ / "socket";
  std::optional<LimitedSocket> server_;
  std::deque<zmq::socket_t> dealers_;
};

TEST_F(LimitedTest, AsManyAsAreLetInAreServed) {
  for (std::size_t i = 0; i < kMost; ++i) dealer().send(zmq::str_buffer("hello"), zmq::send_flags::none);
  std::size_t heard = 0;
  ASSERT_TRUE(until([&] { return (heard += pass().has_value()) == kMost; }));
  ASSERT_TRUE(until([&] { return pass(), server_->peers() == kMost; }));
  EXPECT_EQ(server_->cuts(), 0u);
  dealers_.clear();
  EXPECT_TRUE(until([&] { return pass(), server_->peers() == 0; }));
}

TEST_F(LimitedTest, BeyondThatAllAreCutOffAndWhoIsLeftComesBack) {
  zmq::socket_t& faithful = dealer();
  faithful.send(zmq::str_buffer("first"), zmq::send_flags::none);
  std::optional<std::string> heard;
  ASSERT_TRUE(until([&] { return (heard = pass()).has_value(); }));
  EXPECT_EQ(*heard, "first");
  for (std::size_t i = 0; i < 4 * kMost; ++i) dealer().send(zmq::str_buffer("many"), zmq::send_flags::none);
  ASSERT_TRUE(until([&] { return pass(), server_->cuts() > 0; }));
  while (dealers_.size() > 1) dealers_.pop_back();  // the others go away
  bool again = false;
  ASSERT_TRUE(until([&] {
    static_cast<void>(faithful.send(zmq::str_buffer("again"), zmq::send_flags::dontwait));
    const auto body = pass();
    return again = again || (body && *body == "again" && server_->peers() <= kMost);
  }));
}

// Each leaves something behind, and goes: what lies there is bounded all the same.
TEST_F(LimitedTest, ThoseThatComeAndGoCountUntilTheirMessagesWereRead) {
  for (std::size_t i = 0; i < 12 * kMost; ++i) {
    zmq::socket_t s(context_, zmq::socket_type::dealer);
    s.set(zmq::sockopt::linger, 1000);
    s.set(zmq::sockopt::immediate, true);
    s.set(zmq::sockopt::sndtimeo, 200);
    s.connect(endpoint_);
    static_cast<void>(s.send(zmq::str_buffer("left behind"), zmq::send_flags::none));
    s.close();
    server_->keep_up();  // a pass in which nothing is read
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (server_->cuts() == 0 && std::chrono::steady_clock::now() < end) server_->keep_up();
  EXPECT_GT(server_->cuts(), 0u);
  std::size_t read = 0;
  while (server_->try_receive()) ++read;
  EXPECT_LE(read, 12 * kMost);
  // Then it is open again.
  zmq::socket_t& later = dealer();
  ASSERT_TRUE(until([&] {
    static_cast<void>(later.send(zmq::str_buffer("later"), zmq::send_flags::dontwait));
    const auto body = pass();
    return body && *body == "later";
  }));
}

// What is sent counts until its peer has read it, or gone.
TEST_F(LimitedTest, WhatNobodyReadsIsBoundedToTheByte) {
  const auto outgoing = std::make_shared<Outgoing>(100'000);
  zmq::socket_t& peer = dealer();
  peer.set(zmq::sockopt::rcvhwm, 1);
  peer.send(zmq::str_buffer("?"), zmq::send_flags::none);
  std::string from;
  ASSERT_TRUE(until([&] {
    server_->keep_up();
    const auto frame = server_->try_receive();
    if (frame) from = frame->from;
    return frame.has_value();
  }));
  wire::ControlReply reply;
  reply.set_error(std::string(60'000, 'x'));
  ASSERT_TRUE(send_counted(server_->socket(), reply, from, outgoing));
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(send_counted(server_->socket(), reply, from, outgoing));
    ASSERT_LE(outgoing->bytes, outgoing->most);
  }
  EXPECT_GT(outgoing->refused, 0u);
  dealers_.clear();
  EXPECT_TRUE(until([&] { return pass(), outgoing->bytes == 0; })) << outgoing->bytes;
}

}  // namespace limited_test
}  // namespace margay::transport
