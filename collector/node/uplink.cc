#include "margay/node/uplink.h"

#include "margay/log/log.h"

namespace margay::node {

void Uplink::send(Outbox& outbox) {
  const auto send = [&](const wire::ToCollector& m) { return connection_.socket().try_send(m); };
  outbox.flush(clock_.monotonic(), send);
  outbox.knock(clock_.monotonic(), send);
  if (outbox.take_reconnect()) connection_.reconnect();
  connection_.look();
  if (connection_.refused() != shut_out_) {  // said once; it is tried again, and the records wait
    shut_out_ = connection_.refused();
    log::error(shut_out_.empty() ? endpoint_ + ": the daemon accepts this connection now" : shut_out_);
  }
  if (outbox.refused() != refused_) {
    refused_ = outbox.refused();
    if (refused_.empty())
      log::info("the daemon accepts events again");
    else
      log::error("the daemon refuses events: " + refused_);
  }
}

bool Uplink::receive(Outbox& outbox, std::chrono::milliseconds patience) {
  transport::Socket* const one = &connection_.socket();
  if (!transport::wait_readable({&one, 1}, patience)) return false;
  while (const auto frame = connection_.socket().try_receive()) {
    wire::ToAgent reply;
    if (reply.ParseFromString(frame->body)) outbox.on_reply_untrusted(reply, clock_.monotonic());
  }
  return true;
}

}  // namespace margay::node
