#include "margay/ingest/source_table.h"

#include <algorithm>

namespace margay::ingest {
namespace {

constexpr DurationNs kGhostPatience = seconds(1);

}  // namespace

Source* SourceTable::find(SourceId id) {
  const auto it = sources_.find(id);
  return it == sources_.end() ? nullptr : &it->second;
}

const Source* SourceTable::find(SourceId id) const {
  const auto it = sources_.find(id);
  return it == sources_.end() ? nullptr : &it->second;
}

Source* SourceTable::add(SourceId id, const Sender& from) {
  const auto room = [&] {
    return Quota::has_room(from.owner, sources_.size(), options_.limits.sources,
                           quota_.share(from.owner).sources);
  };
  if (!room() && !(make_room(from.now) && room())) {
    ++counters_.refused_by_limit;
    return nullptr;
  }
  Source& source = sources_.emplace(id, Source{}).first->second;
  source.id = id;
  source.met = from.now;
  source.owner = from.owner;
  source.epoch = 1;
  source.speaker = from.number;
  ++quota_.share(from.owner).sources;
  return &source;
}

std::string* SourceTable::owner_of_forgotten(SourceId id) {
  const auto over = over_owner_.find(id);
  return over == over_owner_.end() ? nullptr : &over->second;
}

void SourceTable::forget(std::map<SourceId, Source>::iterator it) {
  const Source& source = it->second;
  std::vector<std::uint32_t>& streams = forgotten_.sources[source.id];
  for (const auto& [index, stream] : source.streams) {
    if (former_.size() <= stream.leaf.value) former_.resize(stream.leaf.value + 1);
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
  if (Quota::Share& share = quota_.share(source.owner); share.sources > 0) --share.sources;
  quota_.take_text(source.text_bytes, 0);
  ++(source.ended ? counters_.sources_forgotten : counters_.ghosts_forgotten);
  sources_.erase(it);
}

void SourceTable::forget_what_is_over(TimeNs now) {
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
bool SourceTable::make_room(TimeNs now) {
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

std::vector<Account> SourceTable::accounts(std::size_t leaves) const {
  std::vector<Account> sums = former_;
  sums.resize(leaves);
  for (const auto& [id, source] : sources_)
    for (const auto& [index, stream] : source.streams) sums[stream.leaf.value] += stream.account;
  return sums;
}

}  // namespace margay::ingest
