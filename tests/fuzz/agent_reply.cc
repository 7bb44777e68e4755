// What a collector says to a node agent's outbox: whatever it is, no batch is let go that was never sent, and
// the books of bytes and of what is under way stay right.
//   input: frames  u8 act (low 3 bits: which source and stream), u16 ms that pass, piece: ToAgent, or for
//   other
//          acts a few bytes of numbers
#include <map>
#include <tuple>

#include "fuzz.h"
#include "margay/node/outbox.h"
#include "proto_mutator.h"

namespace {

using namespace margay;
using BatchKey = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;  // source, stream, first

struct Agent {
  node::Outbox box;
  TimeNs now{1'000'000'000'000};
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> next;
  std::map<BatchKey, bool> sent;  // of every batch put and not forgotten: has it gone out?
  std::size_t put = 0;

  static node::OutboxOptions options() {
    node::OutboxOptions o;
    o.run = "r";
    o.message_bytes = 400;
    o.window_bytes = 2000;
    return o;
  }
  Agent() : box(options()) {}

  void flush(bool open) {
    box.flush(now, [&](const wire::ToCollector& m) {
      if (!open) return false;
      for (const auto& b : m.batches()) {
        if (b.count() == 0) continue;
        const auto it = sent.find({b.source(), b.stream(), b.first()});
        FUZZ_CHECK(it != sent.end(), "what is sent was put, and not forgotten");
        it->second = true;
      }
      return true;
    });
  }
  void hello(std::uint64_t source, std::uint32_t epoch) {
    wire::Hello h;
    h.set_source(source);
    h.set_epoch(epoch);
    box.put_hello(h);
  }
  void batch(std::uint64_t source, std::uint32_t stream, std::uint32_t count) {
    wire::EventBatch b;
    b.set_source(source);
    b.set_stream(stream);
    b.set_epoch(1);
    std::uint64_t& first = next[{source, stream}];
    b.set_first(first);
    b.set_count(count);
    if (count == 0) return box.put_heartbeat(b);
    b.set_columns(std::string(8 + count % 200, 'x'));
    sent[{source, stream, first}] = false;
    first += count;
    put += b.ByteSizeLong() + 256;
    box.put_batch(std::move(b));
  }
  void forget(std::uint64_t source) {
    box.forget(source);
    std::erase_if(sent, [&](const auto& b) { return std::get<0>(b.first) == source; });
    std::erase_if(next, [&](const auto& n) { return n.first.first == source; });
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  Agent agent;
  agent.hello(1, 1);
  for (int frames = 0; !in.empty() && frames < 128; ++frames) {
    const unsigned act = in.u8();
    const std::uint64_t source = 1 + (act & 1u);
    const std::uint32_t stream = act >> 1 & 3u;
    agent.now = agent.now + milliseconds(in.u16());
    const std::string_view body = in.piece();
    fuzz::Input numbers(body);
    switch (act >> 3 & 7u) {
      case 0:
        agent.hello(source, 1);
        break;
      case 1:
        agent.hello(source, 1);
        agent.batch(source, stream, 1u + numbers.u16());
        break;
      case 2:
        agent.hello(source, 1);
        agent.batch(source, stream, 0);
        break;
      case 3: {
        wire::Goodbye g;
        g.set_source(source);
        g.set_epoch(1);
        agent.hello(source, 1);
        agent.box.put_goodbye(g);
        break;
      }
      case 4:
        if (agent.box.goodbye_acked(source)) agent.forget(source);
        break;
      default: {
        wire::ToAgent reply;
        if (reply.ParseFromArray(body.data(), static_cast<int>(body.size())))
          agent.box.on_reply_untrusted(reply, agent.now);
        break;
      }
    }
    FUZZ_CHECK(agent.box.bytes() <= agent.put, "bytes never fall below nothing");
    agent.flush((act & 0x40u) == 0);
    if (act & 0x80u) static_cast<void>(agent.box.take_reconnect());
  }
  // An honest collector, new, that confirms what it gets: everything that never went out goes out now.
  for (std::uint64_t round = 0; round < 400 && agent.box.bytes() > 0; ++round) {
    wire::ToAgent reply;
    reply.set_instance(0x7fff'0000'0000'0000u);
    if (round > 0)
      for (const auto& [key, gone] : agent.sent) {
        if (!gone) continue;
        auto* ack = reply.add_acks();
        ack->set_source(std::get<0>(key));
        ack->set_stream(std::get<1>(key));
        ack->set_epoch(1);
        const auto after = agent.sent.upper_bound(key);
        const bool last = after == agent.sent.end() || std::get<0>(after->first) != std::get<0>(key) ||
                          std::get<1>(after->first) != std::get<1>(key);
        ack->set_next(last ? agent.next[{std::get<0>(key), std::get<1>(key)}] : std::get<2>(after->first));
      }
    agent.box.on_reply_untrusted(reply, agent.now);
    static_cast<void>(agent.box.take_reconnect());
    agent.flush(true);
  }
  for (const auto& [key, gone] : agent.sent) FUZZ_CHECK(gone, "nothing is let go before it was sent");
  FUZZ_CHECK(agent.box.bytes() == 0, "and all of it is let go once it is confirmed");
  agent.forget(1);
  agent.forget(2);
  FUZZ_CHECK(agent.box.bytes() == 0 && !agent.box.outstanding(),
             "nothing is left of a source that is forgotten");
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return margay::fuzz::mutate_frames<margay::wire::ToAgent>(data, size, most, seed, 0, 3);
}
