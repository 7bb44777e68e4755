// What is over makes room: a run of weeks sees more processes than are ever there at once.
//
// A source is forgotten when it has ended, its goodbye is confirmed, and its agent has not spoken of it
// since; its counters stay with its leaves. One that said hello and never sent anything (a ghost) is
// forgotten when it has been silent for as long, or at once when its place is needed. Nothing is lost by it:
// one that comes back is asked for its hello again.
#include <algorithm>

#include "margay/ingest/ingest.h"

namespace margay::ingest {
namespace {

constexpr std::size_t kMostAgents = 1024;
// Ended sources that are still answered for, should their agent not have heard that they are confirmed.
constexpr std::size_t kMostOver = 8192;
constexpr int kMostToldAgain = 4096;  // in one reply; the others' turn comes
constexpr DurationNs kGhostPatience = seconds(1);

}  // namespace

// True if it was known.
bool Ingest::know_agent(const std::string& agent, TimeNs now) {
  if (const auto it = agents_.find(agent); it != agents_.end()) {
    it->second.heard = now;
    return true;
  }
  if (agents_.size() >= kMostAgents) {
    // One that is still there is known again with its next message.
    agents_.erase(std::min_element(agents_.begin(), agents_.end(), [](const auto& a, const auto& b) {
      return a.second.heard < b.second.heard;
    }));
    ++counters_.agents_forgotten;
  }
  agents_[agent].heard = now;
  return false;
}

void Ingest::forget(std::map<SourceId, Source>::iterator it) {
  const Source& source = it->second;
  std::vector<std::uint32_t>& streams = forgotten_.sources[source.id];
  former_.resize(leaves_.size());
  for (const auto& [index, stream] : source.streams) {
    Account& former = former_[stream.leaf.value];
    former += stream.account;
    counters_.summed_before += stream.summed;
    forgotten_.former[stream.leaf] = former;
    streams.push_back(index);
  }
  if (source.ended && over_owner_.emplace(source.id, source.owner).second) {
    over_.push_back(source.id);
    if (over_.size() > kMostOver) {
      over_owner_.erase(over_.front());
      over_.pop_front();
    }
  }
  if (auto share = shares_.find(source.owner); share != shares_.end() && share->second.sources > 0)
    --share->second.sources;
  take_text(source.text_bytes, 0);
  ++(source.ended ? counters_.sources_forgotten : counters_.ghosts_forgotten);
  sources_.erase(it);
}

void Ingest::forget_what_is_over(TimeNs now) {
  const auto agents =
      std::erase_if(agents_, [&](const auto& a) { return now - a.second.heard > options_.forget_after; });
  counters_.agents_forgotten += agents;
  for (auto it = sources_.begin(); it != sources_.end();) {
    const auto at = it++;
    const Source& source = at->second;
    // What an ended one said last must be in a cut.
    const bool over = source.ended ? source.goodbye_acked && !source.dirty : source.streams.empty();
    if (over && now - source.heard > options_.forget_after) forget(at);
  }
}

// Places for other sources, if some are wasted. All that are go at once, and where none are it is not looked
// again for a while: a storm of hellos must not cost a look through the table each.
bool Ingest::make_room_for_source(TimeNs now) {
  if (now < no_room_until_) return false;
  const std::size_t before = sources_.size();
  for (auto it = sources_.begin(); it != sources_.end();) {
    const auto at = it++;
    const Source& source = at->second;
    const bool wasted =
        source.ended ? source.goodbye_acked && !source.dirty && now - source.heard > options_.lost_after
                     : source.streams.empty() && now - source.heard > kGhostPatience;
    if (wasted) forget(at);
  }
  if (sources_.size() < before) return true;
  no_room_until_ = now + milliseconds(100);
  return false;
}

// Its agent has not heard that everything is confirmed: it is told again. True if that is all there is to
// say.
bool Ingest::answer_for_forgotten(SourceId id, std::uint32_t epoch, std::uint32_t stream, std::uint64_t next,
                                  const std::string& agent) {
  const auto over = over_owner_.find(id);
  if (over == over_owner_.end()) return false;
  if (!may_speak_for(id, over->second, agent)) return true;
  wire::ToAgent& answer = reply(agent);
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
