#include "margay/node/outbox.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "margay/wire/columns.h"

namespace margay::node {
namespace {
constexpr std::size_t kMostSamples = 64;
// Asked again sooner than this, the collector has not yet seen the hello that is on its way.
constexpr DurationNs kHelloOnItsWay = milliseconds(100);
}  // namespace

void Outbox::put_hello(const wire::Hello& hello) {
  Source& s = sources_[hello.source()];
  s.hello = hello;
  s.hello_due = true;
}

void Outbox::put_batch(wire::EventBatch batch) {
  Stream& stream = sources_[batch.source()].streams[batch.stream()];
  const std::size_t bytes = batch.ByteSizeLong() + sizeof(Batch);
  bytes_ += bytes;
  stream.beat.reset();  // older than the batch
  stream.batches.push_back({std::move(batch), bytes});
}

void Outbox::put_heartbeat(const wire::EventBatch& beat) {
  sources_[beat.source()].streams[beat.stream()].beat = beat;
}

void Outbox::put_goodbye(const wire::Goodbye& goodbye) {
  sources_[goodbye.source()].goodbye = goodbye;
}

void Outbox::put_sample(wire::NodeSample sample) {
  if (samples_.size() == kMostSamples) samples_.pop_front();
  samples_.push_back(std::move(sample));
}

void Outbox::put_account(const wire::ReaderAccount& account) {
  std::string text = account.SerializeAsString();
  if (text == account_) return;
  account_ = std::move(text);
  account_due_ = true;
}

void Outbox::put_node_account(wire::NodeAccount account) {
  account.set_number(node_account_.number());
  if (account.SerializeAsString() == node_account_.SerializeAsString()) return;
  account.set_number(account.number() + 1);
  node_account_ = std::move(account);
  node_account_due_ = true;
}

bool Outbox::outstanding() const {
  if (node_account_waits()) return true;
  if (sources_.empty()) return false;
  if (bytes_ > 0 || !ever_heard_) return true;
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const auto& s) { return s.second.goodbye && !s.second.goodbye_acked; });
}

bool Outbox::goodbye_acked(std::uint64_t source) const {
  const auto it = sources_.find(source);
  return it != sources_.end() && it->second.goodbye_acked;
}

bool Outbox::not_ours(std::uint64_t source) const {
  const auto it = sources_.find(source);
  if (it == sources_.end() || it->second.knock_at == TimeNs()) return false;
  const auto& streams = it->second.streams;
  return std::any_of(streams.begin(), streams.end(), [](const auto& s) { return !s.second.batches.empty(); });
}

void Outbox::forget(std::uint64_t source) {
  const auto it = sources_.find(source);
  if (it == sources_.end()) return;
  for (const auto& [id, stream] : it->second.streams)
    for (std::size_t i = 0; i < stream.batches.size(); ++i) {
      bytes_ -= stream.batches[i].bytes;
      if (i >= stream.taken && i < stream.sent) under_way_ -= stream.batches[i].bytes;
    }
  sources_.erase(it);
}

void Outbox::rewind(Source& source, bool all) {
  source.hello_due = true;
  source.goodbye_sent = false;
  for (auto& [id, stream] : source.streams) {
    for (std::size_t i = stream.taken; i < stream.sent; ++i) under_way_ -= stream.batches[i].bytes;
    if (all) stream.taken = 0;
    stream.sent = stream.taken;
  }
}

void Outbox::rewind_all(bool all) {
  for (auto& [id, source] : sources_) rewind(source, all);
  heard_ = false;
  account_due_ = !account_.empty();
  node_account_due_ = node_account_.number() != 0;
  ++resends_;
}

void Outbox::apply(const wire::StreamAck& ack, TimeNs now) {
  const auto it = sources_.find(ack.source());
  if (it == sources_.end() || it->second.hello.epoch() != ack.epoch()) {
    ++refused_acks_;  // of a source we have let go, or of our predecessor
    return;
  }
  Source& source = it->second;
  source.knock_at = TimeNs();
  const auto found = source.streams.find(ack.stream());
  if (found != source.streams.end()) {
    Stream& stream = found->second;
    if (std::max(ack.next(), ack.taken()) > stream.most_sent) {
      ++refused_acks_;
    } else {
      while (!stream.batches.empty()) {
        const Batch& first = stream.batches.front();
        if (first.message.first() + first.message.count() > ack.next()) break;
        bytes_ -= first.bytes;
        if (stream.taken > 0)
          --stream.taken;
        else if (stream.sent > 0)
          under_way_ -= first.bytes;
        if (stream.sent > 0) --stream.sent;
        stream.batches.pop_front();
        since_ = now;
        retry_ = options_.first_retry;
      }
      stream.acked = std::max(stream.acked, ack.next());
      while (stream.taken < stream.sent) {
        const Batch& first = stream.batches[stream.taken];
        if (first.message.first() + first.message.count() > ack.taken()) break;
        under_way_ -= first.bytes;
        ++stream.taken;
        since_ = now;
        retry_ = options_.first_retry;
      }
    }
  } else if (ack.next() != 0) {
    ++refused_acks_;
  }
  if (ack.goodbye() && source.goodbye && source.goodbye_sent && !source.goodbye_acked) {
    source.goodbye_acked = true;
    since_ = now;
    retry_ = options_.first_retry;
  }
}

void Outbox::on_reply_untrusted(const wire::ToAgent& reply, TimeNs now) {
  if (reply.instance() != instance_) {
    const bool other = instance_ != 0;
    instance_ = reply.instance();
    refused_.clear();
    if (other) {
      rewind_all(true);
      since_ = now;
      retry_ = options_.first_retry;
    }
  }
  heard_ = ever_heard_ = true;
  refused_ = reply.refused();
  finish_ = finish_ || reply.finish();
  if (reply.has_slices() && reply.slices().slice_ns() > 0 && reply.slices().budget() >= 0)
    slices_ = reply.slices();
  if (reply.has_ask()) {
    echo_.emplace();
    echo_->set_asked_ns(reply.ask().asked_ns());
    echo_->set_received_ns(now.value);
  }
  for (const wire::StreamAck& ack : reply.acks()) apply(ack, now);
  // Of an earlier one it says nothing about what has changed since.
  if (reply.node_account() != 0 && reply.node_account() == node_account_.number() && node_account_waits()) {
    node_account_acked_ = reply.node_account();
    since_ = now;
    retry_ = options_.first_retry;
  }
  for (const std::uint64_t id : reply.need_hello()) {
    const auto it = sources_.find(id);
    if (it == sources_.end() || it->second.hello_due || now - it->second.hello_sent < kHelloOnItsWay)
      continue;
    rewind(it->second, false);
  }
  for (const std::uint64_t id : reply.not_yours()) {
    const auto it = sources_.find(id);
    if (it == sources_.end()) continue;
    rewind(it->second, false);
    it->second.knock_at = now + options_.last_retry;
  }
}

bool Outbox::take_reconnect() {
  return std::exchange(reconnect_, false);
}

bool Outbox::transmit(wire::ToCollector& message, const Send& send) {
  message.set_version(wire::kWireVersion);
  message.set_run(options_.run);
  message.set_agent(options_.agent);
  message.set_sequence(sequence_);
  if (!send(message)) return false;
  ++sequence_;
  return true;
}

bool Outbox::send_hellos(TimeNs now, const Send& send) {
  for (auto& [id, source] : sources_) {
    if (!source.hello_due || now < source.knock_at) continue;
    wire::ToCollector message;
    *message.mutable_hello() = source.hello;
    if (!transmit(message, send)) return false;
    source.hello_due = false;
    source.hello_sent = now;
  }
  return true;
}

bool Outbox::send_batches(const Send& send) {
  wire::ToCollector message;
  std::size_t size = 0;
  // What the message holds, to be marked as sent only when the transport has taken it.
  struct Part {
    Stream* stream;
    std::size_t batches;
    std::size_t bytes;
    bool beat;
  };
  std::vector<Part> parts;
  const auto go = [&] {
    if (parts.empty() && !message.has_node()) return true;
    if (!transmit(message, send)) return false;
    for (const Part& part : parts) {
      Stream& stream = *part.stream;
      stream.sent += part.batches;
      under_way_ += part.bytes;
      if (part.batches > 0) {
        const wire::EventBatch& last = stream.batches[stream.sent - 1].message;
        stream.most_sent = std::max<std::uint64_t>(stream.most_sent, last.first() + last.count());
      }
      if (part.beat) {
        stream.most_sent = std::max<std::uint64_t>(stream.most_sent, stream.beat->first());
        stream.beat.reset();
      }
    }
    if (message.has_node()) samples_.pop_front();
    message.Clear();
    parts.clear();
    size = 0;
    return true;
  };
  std::optional<std::uint64_t> waits;  // the first of which the window took nothing
  auto next = sources_.lower_bound(turn_);
  for (std::size_t i = 0; i < sources_.size(); ++i, ++next) {
    if (next == sources_.end()) next = sources_.begin();
    auto& [id, source] = *next;
    if (source.hello_due) continue;
    for (auto& [number, stream] : source.streams) {
      std::size_t at = stream.sent;
      const std::size_t from = at;
      while (at < stream.batches.size()) {
        Part part{&stream, 0, 0, false};
        while (at < stream.batches.size() && size < options_.message_bytes &&
               under_way_ + size < options_.window_bytes) {
          *message.add_batches() = stream.batches[at].message;
          part.bytes += stream.batches[at].bytes;
          size += stream.batches[at].bytes;
          ++part.batches;
          ++at;
        }
        if (part.batches > 0) parts.push_back(part);
        if (size >= options_.message_bytes && !go()) return false;
        if (under_way_ + size >= options_.window_bytes) break;
      }
      if (at == from && at < stream.batches.size() && !waits) waits = id;
      if (at == stream.batches.size() && stream.beat) {
        *message.add_batches() = *stream.beat;
        parts.push_back({&stream, 0, 0, true});
        size += 64;
      }
    }
  }
  turn_ = waits.value_or(0);
  while (!samples_.empty()) {
    *message.mutable_node() = samples_.front();
    if (!go()) return false;
  }
  return go();
}

bool Outbox::send_goodbyes(const Send& send) {
  for (auto& [id, source] : sources_) {
    if (!source.goodbye || source.goodbye_sent || source.hello_due) continue;
    const bool all_sent = std::all_of(source.streams.begin(), source.streams.end(),
                                      [](const auto& s) { return s.second.sent == s.second.batches.size(); });
    if (!all_sent) continue;
    wire::ToCollector message;
    *message.mutable_goodbye() = *source.goodbye;
    if (!transmit(message, send)) return false;
    source.goodbye_sent = true;
  }
  return true;
}

void Outbox::knock(TimeNs now, const Send& send) {
  if (!sources_.empty() || !refused_.empty() || now - knocked_ < options_.first_retry) return;
  wire::ToCollector message;
  if (transmit(message, send)) knocked_ = now;
}

void Outbox::flush(TimeNs now, const Send& send) {
  if (echo_) {
    wire::ToCollector message;
    *message.mutable_echo() = *echo_;
    message.mutable_echo()->set_answered_ns(now.value);
    if (transmit(message, send)) echo_.reset();
  }
  if (account_due_ && refused_.empty()) {
    wire::ToCollector message;
    if (!message.mutable_account()->ParseFromString(account_) || transmit(message, send))
      account_due_ = false;
  }
  if (node_account_due_ && refused_.empty()) {
    wire::ToCollector message;
    *message.mutable_node_account() = node_account_;
    if (transmit(message, send)) node_account_due_ = false;
  }
  if (!outstanding()) {
    moving_ = false;
  } else if (!moving_) {
    moving_ = true;
    since_ = now;
    retry_ = options_.first_retry;
  } else if (now - since_ >= retry_) {
    // Not a word, either: the queue to the collector holds what is about to be sent again.
    reconnect_ = reconnect_ || !heard_;
    rewind_all(false);
    since_ = now;
    retry_ = std::min(retry_ * 2, options_.last_retry);
  }
  if (!refused_.empty()) {
    // One knock: another collector may have taken its place.
    if (sources_.empty() || now - sources_.begin()->second.hello_sent < options_.last_retry) return;
    wire::ToCollector message;
    *message.mutable_hello() = sources_.begin()->second.hello;
    if (transmit(message, send)) sources_.begin()->second.hello_sent = now;
    return;
  }
  if (reconnect_) return;  // first the new connection
  if (send_hellos(now, send) && send_batches(send)) send_goodbyes(send);
}

}  // namespace margay::node
