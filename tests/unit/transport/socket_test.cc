// Sockets without encryption: what they take, and what they leave.
#include <gtest/gtest.h>

#include <thread>

#include "../../support/temporary_folder.h"
#include "margay/transport/transport.h"
#include "margay/wire/control.pb.h"

namespace margay::transport {
namespace socket_test {

class SocketTest : public testing::Test {
 protected:
  zmq::socket_t dealer() {
    zmq::socket_t s(context_, zmq::socket_type::dealer);
    s.set(zmq::sockopt::linger, 0);
    s.connect(endpoint_);
    return s;
  }
  // The next frame; nothing after 10 s, which only a failure takes.
  static std::optional<Socket::Frame> receive(Socket& socket) {
    for (int i = 0; i < 1000; ++i) {
      if (auto frame = socket.try_receive()) return frame;
      Socket* const all[] = {&socket};
      static_cast<void>(wait_readable(all, std::chrono::milliseconds(10)));
    }
    return std::nullopt;
  }

  zmq::context_t context_;
  const test::TemporaryFolder directory_{"/tmp"};
  const std::string endpoint_ = "ipc://" + directory_ / "socket";
};

TEST_F(SocketTest, AMessageBeyondTheBoundClosesItsConnectionAndNothingElse) {
  auto server = Socket::bind(context_, zmq::socket_type::router, endpoint_, {}, kQuestions);
  ASSERT_TRUE(server) << server.error().message;
  zmq::socket_t large = dealer(), small = dealer();
  ASSERT_TRUE(small.send(zmq::str_buffer("before"), zmq::send_flags::none));
  auto frame = receive(*server);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->body, "before");
  ASSERT_TRUE(large.send(zmq::buffer(std::string(static_cast<std::size_t>(kQuestions.largest) + 1, 'x'))));
  ASSERT_TRUE(small.send(zmq::buffer(std::string(static_cast<std::size_t>(kQuestions.largest), 'y'))));
  frame = receive(*server);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->body, std::string(static_cast<std::size_t>(kQuestions.largest), 'y'));
  EXPECT_EQ(server->malformed(), 0u);
}

// A short queue empties quicker than its socket hears of: none of the answers is left out.
TEST_F(SocketTest, OneAnswerForEachQuestionHoweverManyAreAsked) {
  auto server = Socket::bind(context_, zmq::socket_type::router, endpoint_, {}, kQuestions);
  ASSERT_TRUE(server) << server.error().message;
  zmq::socket_t client = dealer();
  client.set(zmq::sockopt::rcvtimeo, 10'000);
  wire::ControlReply reply;
  reply.set_error("none");
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(client.send(zmq::str_buffer("?"), zmq::send_flags::none));
    // As a thread does that has other things to wait for.
    std::optional<Socket::Frame> question;
    for (int looks = 0; !question && looks < 10'000; ++looks) {
      question = server->try_receive();
      if (!question) std::this_thread::sleep_for(std::chrono::microseconds(1 + looks));
    }
    ASSERT_TRUE(question) << i;
    ASSERT_TRUE(server->try_send(reply, question->from)) << i;
    zmq::message_t answer;
    ASSERT_TRUE(client.recv(answer)) << i;
  }
}

TEST_F(SocketTest, MessagesOfAnotherShapeAreCountedAndNobodysTurnIsTaken) {
  auto server = Socket::bind(context_, zmq::socket_type::router, endpoint_);
  ASSERT_TRUE(server) << server.error().message;
  zmq::socket_t peer = dealer();
  constexpr int kMany = 600;
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(peer.send(zmq::str_buffer("two"), zmq::send_flags::sndmore));
    ASSERT_TRUE(peer.send(zmq::str_buffer("parts"), zmq::send_flags::none));
  }
  ASSERT_TRUE(peer.send(zmq::str_buffer("good"), zmq::send_flags::none));
  int calls = 0;
  std::optional<Socket::Frame> frame;
  for (; !frame && calls < 10'000; ++calls) {
    const std::uint64_t before = server->malformed();
    frame = server->try_receive();
    EXPECT_LE(server->malformed() - before, 256u) << "a call that goes on for as long as they come";
    Socket* const all[] = {&*server};
    static_cast<void>(wait_readable(all, std::chrono::milliseconds(1)));
  }
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->body, "good");
  EXPECT_EQ(server->malformed(), std::uint64_t{kMany});
  EXPECT_GT(calls, 2);
}

constexpr std::chrono::seconds kForEver(60);  // of which nothing may be left when a test ends

TEST_F(SocketTest, ABellWakesWhoWaitsForSockets) {
  auto server = Socket::bind(context_, zmq::socket_type::router, endpoint_);
  ASSERT_TRUE(server) << server.error().message;
  Socket* const all[] = {&*server};
  Notifier notifier;
  ASSERT_GE(notifier.descriptor(), 0);
  const auto begin = std::chrono::steady_clock::now();
  std::thread other([&] { notifier.notify(); });
  EXPECT_FALSE(wait_readable(all, kForEver, &notifier)) << "no socket can be read";
  other.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kForEver);
  EXPECT_FALSE(wait_readable(all, std::chrono::milliseconds(0), &notifier));
}

TEST_F(SocketTest, ABellThatWasRungBeforeIsHeardOnceHoweverOften) {
  auto server = Socket::bind(context_, zmq::socket_type::router, endpoint_);
  ASSERT_TRUE(server) << server.error().message;
  Socket* const all[] = {&*server};
  Notifier notifier;
  const auto heard = [&](std::chrono::milliseconds patience) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(wait_readable(all, patience, &notifier));
    return std::chrono::steady_clock::now() - begin < patience;
  };
  for (int i = 0; i < 3; ++i) notifier.notify();
  EXPECT_TRUE(heard(kForEver));
  EXPECT_FALSE(heard(std::chrono::milliseconds(1)));
}

TEST_F(SocketTest, AMessageIsToldBesideABell) {
  auto server = Socket::bind(context_, zmq::socket_type::router, endpoint_);
  ASSERT_TRUE(server) << server.error().message;
  zmq::socket_t peer = dealer();
  ASSERT_TRUE(peer.send(zmq::str_buffer("good"), zmq::send_flags::none));
  Socket* const all[] = {&*server};
  Notifier notifier;
  ASSERT_TRUE(wait_readable(all, kForEver, &notifier));
  notifier.notify();
  EXPECT_TRUE(wait_readable(all, kForEver, &notifier)) << "both at once";
  EXPECT_TRUE(server->try_receive());
}

}  // namespace socket_test
}  // namespace margay::transport
