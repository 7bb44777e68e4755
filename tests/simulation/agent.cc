#include "agent.h"

#include <algorithm>
#include <span>

#include "margay/wire/columns.h"

namespace margay::simulation {
namespace {

constexpr std::size_t kMostInABatch = 64;

}  // namespace

Agent::Agent(std::uint64_t number, std::string boot, std::vector<Rank*> ranks)
    : number_(number), boot_(std::move(boot)) {
  for (Rank* rank : ranks) rings_.push_back({rank});
  epoch_ = 0;
  restart();
}

void Agent::restart() {
  ++epoch_;
  node::OutboxOptions options;
  options.run = "r";
  options.agent = number_ * 1000 + epoch_;
  outbox_ = std::make_unique<node::Outbox>(options);
  for (Ring& ring : rings_) {
    ring.names = 0;
    ring.goodbye = false;
  }
}

void Agent::drain(Ring& ring, TimeNs now) {
  const Rank& rank = *ring.rank;
  if (ring.goodbye || rank.records().empty()) return;
  if (ring.names != rank.names()) {
    ring.names = rank.names();
    outbox_->put_hello(rank.hello(epoch_, boot_));
  }
  wire::EventBatch batch;
  const auto fill = [&] {
    batch.set_source(rank.source());
    batch.set_epoch(epoch_);
    batch.set_stream(0);
    batch.set_first(ring.drained);
    batch.set_produced(rank.produced());
    batch.set_dropped(rank.dropped());
    batch.set_recorded(rank.records().size());
  };
  while (ring.drained < rank.records().size() && outbox_->has_room()) {
    const std::size_t count = std::min<std::size_t>(kMostInABatch, rank.records().size() - ring.drained);
    batch.Clear();
    fill();
    batch.set_count(static_cast<std::uint32_t>(count));
    wire::encode_columns(std::span(rank.records()).subspan(ring.drained, count), *batch.mutable_columns());
    ring.drained += count;
    const bool all = ring.drained == rank.records().size();
    batch.set_covered_until_ns(all ? now.value : rank.records()[ring.drained].time_ns);
    outbox_->put_batch(batch);
  }
  if (ring.drained < rank.records().size()) return;
  batch.Clear();
  fill();
  batch.set_covered_until_ns(now.value);
  if (epoch_ > 1 && !rank.ended()) batch.set_open_state(rank.open() + 1u);
  outbox_->put_heartbeat(batch);
  if (!rank.ended()) return;
  ring.goodbye = true;
  wire::Goodbye goodbye;
  goodbye.set_source(rank.source());
  goodbye.set_epoch(epoch_);
  goodbye.set_reason(wire::Goodbye::FINALIZED);
  goodbye.set_end_ns(rank.end().value);
  wire::StreamTotal& total = *goodbye.add_streams();
  total.set_stream(0);
  total.set_produced(rank.produced());
  total.set_dropped(rank.dropped());
  total.set_recorded(rank.records().size());
  outbox_->put_goodbye(goodbye);
}

bool Agent::step(TimeNs now, const node::Outbox::Send& send) {
  for (Ring& ring : rings_) drain(ring, now);
  outbox_->flush(now, send);
  return outbox_->take_reconnect();
}

bool Agent::done() const {
  return std::all_of(rings_.begin(), rings_.end(), [&](const Ring& ring) {
    return ring.goodbye && outbox_->goodbye_acked(ring.rank->source());
  });
}

}  // namespace margay::simulation
