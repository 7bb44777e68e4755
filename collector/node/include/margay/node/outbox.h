// What the agent has to say and has not yet been told was kept: batches until they are acknowledged, goodbyes
// until they are acknowledged, the newest heartbeat of each stream, the hello of each source.
//
// Readers' accounts: the newest goes out when it is another one, and to another instance. The node's account:
// likewise, and again until it is acknowledged.
//
// Promises: batches of a stream go out in order; a source's hello goes out before its first batch; a
// heartbeat goes out only when every batch before it has; nothing is given up before it is acknowledged.
// Everything is sent again when the collector is another (`instance`), when it asks (`need_hello`, that
// source only), or when nothing moved for `first_retry` although something is outstanding (doubling up to
// `last_retry`).
//
// What the collector has taken, but cannot commit yet (its disk is full, say), is kept, and sent again to
// another instance only.
//
// Bounds: batches take at most `memory_bytes` and one batch more (the caller asks has_room() before it
// drains); `window_bytes` of them are under way at once, sent and not yet taken; 64 node samples wait, the
// oldest goes first. A question for the clock is answered by the next flush, before everything else.
//
// Pure: no clock, no socket. Thread safety: none. Cost: O(what is sent) and O(sources) per flush.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "margay/base/time.h"
#include "margay/wire/ingest.pb.h"

namespace margay::node {

struct OutboxOptions {
  std::string run;
  std::uint64_t agent = 0;
  std::size_t memory_bytes = 64 << 20;
  std::size_t window_bytes = 8 << 20;
  std::size_t message_bytes = 1 << 20;
  DurationNs first_retry = seconds(1);
  DurationNs last_retry = seconds(5);
};

class Outbox {
 public:
  explicit Outbox(OutboxOptions options) : options_(std::move(options)), retry_(options_.first_retry) {}

  void put_hello(const wire::Hello& hello);  // replaces the source's earlier one
  // REQUIRES, for the next two: the source's hello was put.
  void put_batch(wire::EventBatch batch);            // count > 0
  void put_heartbeat(const wire::EventBatch& beat);  // count == 0; replaces the stream's earlier one
  void put_goodbye(const wire::Goodbye& goodbye);
  void put_sample(wire::NodeSample sample);
  void put_account(const wire::ReaderAccount& account);  // replaces the earlier one
  void put_node_account(wire::NodeAccount account);      // likewise; it is numbered here

  bool has_room() const { return bytes_ < options_.memory_bytes; }
  std::size_t bytes() const { return bytes_; }
  // Something was sent or waits that has not been acknowledged.
  bool outstanding() const;
  bool goodbye_acked(std::uint64_t source) const;
  // The collector knows this source by another key, and some of its records are kept: they are tried with a
  // hello every `last_retry`, and there should not be more.
  bool not_ours(std::uint64_t source) const;
  // There is an account of the node that is not acknowledged.
  bool node_account_waits() const { return node_account_.number() != node_account_acked_; }
  // Drops all that is known of a source. After its goodbye was acknowledged nothing is lost by it.
  void forget(std::uint64_t source);

  // Takes in what the collector says. Acknowledgements of what was never sent, or of another epoch, are
  // refused and counted.
  void on_reply_untrusted(const wire::ToAgent& reply, TimeNs now);

  // Sends what is due. `send` returns false when it cannot take the message now; then the rest stays for the
  // next flush.
  using Send = std::function<bool(const wire::ToCollector&)>;
  void flush(TimeNs now, const Send& send);

  // Says nothing, once a second, when there are no sources to say anything of: a collector that has cut this
  // connection, or was started again, knows by it where to tell that the run is over.
  void knock(TimeNs now, const Send& send);

  // True once when the collector was silent so long that what lies in the transport's queue should be thrown
  // away: it is sent again anyway, and the queue must not grow by it.
  bool take_reconnect();
  bool finish() const { return finish_; }
  // What the collector said of slices last; nothing yet, or nothing that makes sense: nullopt.
  const std::optional<wire::Slices>& slices() const { return slices_; }
  // Why the collector will not listen, or "". While refused only a hello goes out every `last_retry`.
  const std::string& refused() const { return refused_; }
  std::uint64_t refused_acks() const { return refused_acks_; }
  std::uint64_t resends() const { return resends_; }

 private:
  struct Batch {
    wire::EventBatch message;
    std::size_t bytes;
  };
  struct Stream {
    std::deque<Batch> batches;
    std::size_t sent = 0;   // batches [0, sent) have been sent
    std::size_t taken = 0;  // batches [0, taken) of them are in the collector's memory; the rest is under way
    std::uint64_t most_sent = 0;  // ordinal after the last record ever sent
    std::uint64_t acked = 0;
    std::optional<wire::EventBatch> beat;
  };
  struct Source {
    wire::Hello hello;
    bool hello_due = true;
    TimeNs hello_sent{};
    TimeNs knock_at{};  // not ours: the earliest time of the next hello; 0: ours, as far as is known
    std::map<std::uint32_t, Stream> streams;
    std::optional<wire::Goodbye> goodbye;
    bool goodbye_sent = false;
    bool goodbye_acked = false;
  };
  bool transmit(wire::ToCollector& message, const Send& send);
  bool send_hellos(TimeNs now, const Send& send);
  bool send_batches(const Send& send);
  bool send_goodbyes(const Send& send);
  // Sends again what has not been taken; with `all`, to another instance, everything that has not been
  // committed.
  void rewind(Source& source, bool all);
  void rewind_all(bool all);
  void apply(const wire::StreamAck& ack, TimeNs now);

  OutboxOptions options_;
  std::map<std::uint64_t, Source> sources_;
  std::uint64_t turn_ = 0;  // whose batches go first: the window was used up before it
  std::deque<wire::NodeSample> samples_;
  std::size_t bytes_ = 0;
  std::size_t under_way_ = 0;
  std::optional<wire::ClockEcho> echo_;
  std::string account_;  // serialised; "": none
  bool account_due_ = false;
  wire::NodeAccount node_account_;  // number 0: none
  std::uint64_t node_account_acked_ = 0;
  bool node_account_due_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t instance_ = 0;
  bool heard_ = false;       // anything since the last rewind
  bool ever_heard_ = false;  // anything from this instance
  bool moving_ = false;      // something is outstanding since `since_`
  bool reconnect_ = false;
  bool finish_ = false;
  std::optional<wire::Slices> slices_;
  TimeNs since_{};  // the last progress
  TimeNs knocked_{};
  DurationNs retry_;
  std::string refused_;
  std::uint64_t refused_acks_ = 0;
  std::uint64_t resends_ = 0;
};

}  // namespace margay::node
