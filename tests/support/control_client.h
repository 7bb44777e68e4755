// One who asks a daemon, or a replay, at its control endpoint. Where no answer comes within a minute it is
// none, and the test fails.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "margay/transport/transport.h"
#include "margay/wire/control.pb.h"

namespace margay::test {

class ControlClient {
 public:
  explicit ControlClient(const std::string& endpoint) {
    auto socket = transport::Socket::connect(context_, zmq::socket_type::dealer, endpoint);
    EXPECT_TRUE(socket) << socket.error().message;
    socket_.emplace(std::move(*socket));
  }
  std::optional<wire::ControlReply> ask(wire::ControlRequest request) {
    request.set_version(wire::kWireVersion);
    EXPECT_TRUE(socket_->send(request, std::chrono::seconds(60)));
    transport::Socket* const one = &*socket_;
    static_cast<void>(transport::wait_readable({&one, 1}, std::chrono::seconds(60)));
    const auto frame = socket_->try_receive();
    wire::ControlReply reply;
    if (frame && reply.ParseFromString(frame->body)) return reply;
    ADD_FAILURE() << "no answer";
    return std::nullopt;
  }
  std::optional<wire::ControlReply> ask(wire::ControlRequest::Kind kind) {
    wire::ControlRequest request;
    request.set_kind(kind);
    return ask(request);
  }

 private:
  zmq::context_t context_{1};
  std::optional<transport::Socket> socket_;
};

}  // namespace margay::test
