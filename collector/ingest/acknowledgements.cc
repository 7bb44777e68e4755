#include "margay/ingest/acknowledgements.h"

namespace margay::ingest {
namespace {

constexpr DurationNs kTellTaken = milliseconds(200);

}  // namespace

AckPoint Acknowledgements::point() const {
  AckPoint point;
  for (const auto& [id, source] : sources_.all()) {
    if (source.goodbye_acked) continue;
    for (const auto& [index, stream] : source.streams) {
      wire::StreamAck ack;
      ack.set_source(id.value);
      ack.set_epoch(source.told_epoch);
      ack.set_stream(index);
      ack.set_next(stream.account.next);
      ack.set_goodbye(source.ended);
      point.emplace_back(source.agent, std::move(ack));
    }
    if (source.streams.empty() && source.ended) {
      wire::StreamAck ack;
      ack.set_source(id.value);
      ack.set_epoch(source.told_epoch);
      ack.set_goodbye(true);
      point.emplace_back(source.agent, std::move(ack));
    }
  }
  return point;
}

void Acknowledgements::committed(const AckPoint& point) {
  committed_lately_ = true;
  for (const auto& [agent, ack] : point) {
    wire::StreamAck& said = *replies_.to(agent).add_acks();
    said = ack;
    Source* const source = sources_.find(SourceId(ack.source()));
    if (source == nullptr) continue;
    if (ack.goodbye()) source->goodbye_acked = true;
    const auto stream = source->streams.find(ack.stream());
    if (stream != source->streams.end() && ack.epoch() == source->told_epoch && agent == source->agent)
      said.set_taken(stream->second.account.next);
  }
}

void Acknowledgements::tick(TimeNs now) {
  if (now - told_ < kTellTaken) return;
  if (!committed_lately_) tell_taken();
  committed_lately_ = false;
  told_ = now;
}

void Acknowledgements::tell_taken() {
  for (auto& [id, source] : sources_.all()) {
    if (!source.news) continue;
    source.news = false;
    for (const auto& [index, stream] : source.streams) {
      wire::StreamAck& ack = *replies_.to(source.agent).add_acks();
      ack.set_source(id.value);
      ack.set_epoch(source.told_epoch);
      ack.set_stream(index);
      ack.set_taken(stream.account.next);
    }
  }
}

}  // namespace margay::ingest
