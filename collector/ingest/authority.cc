#include "margay/ingest/authority.h"

namespace margay::ingest {
namespace {

constexpr int kMostToldAgain = 4096;  // in one reply; the others' turn comes

}  // namespace

bool Authority::may_speak_for(SourceId id, std::string& owner, const Sender& from) {
  if (owner.empty()) owner = from.owner;
  if (owner == from.owner) return true;
  ++counters_.not_theirs;
  if (impostors_.size() < kMostImpostors) impostors_.push_back({from.agent, from.owner, id, owner});
  replies_.refuse_source(from.agent, id);
  return false;
}

bool Authority::is_speaker(const Source& source, const Sender& from) {
  if (!source.speaker || *source.speaker == from.number) return true;
  ++counters_.unknown_source;
  replies_.ask_for_hello(from.agent, source.id);
  return false;
}

bool Authority::answer_for_forgotten(SourceId id, std::uint32_t epoch, std::uint32_t stream,
                                     std::uint64_t next, const Sender& from) {
  std::string* const owner = sources_.owner_of_forgotten(id);
  if (owner == nullptr) return false;
  if (!may_speak_for(id, *owner, from)) return true;
  wire::ToAgent& answer = replies_.to(from.agent);
  if (answer.acks_size() >= kMostToldAgain) return true;
  wire::StreamAck& ack = *answer.add_acks();
  ack.set_source(id.value);
  ack.set_epoch(epoch);
  ack.set_stream(stream);
  ack.set_next(next);
  ack.set_goodbye(true);
  return true;
}

}  // namespace margay::ingest
