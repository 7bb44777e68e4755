#include "margay/ingest/ingest.h"

#include <algorithm>

#include "claims.h"
#include "host_time.h"
#include "margay/base/text.h"
#include "margay/wire/columns.h"
#include "margay/wire/parts.h"

namespace margay::ingest {
namespace {

constexpr std::size_t kLongestText = 256;
constexpr DurationNs kWallClockError = seconds(1);
constexpr std::size_t kMostReplies = 1024;  // between two calls of take_replies()
// Of one message. What a sender can cause must cost in proportion to what it sends: no agent comes near
// these.
constexpr int kMostParts = 65536;  // names, batches, samples, totals
constexpr std::size_t kMostPartsInAll = 2 * kMostParts;
constexpr int kMostAsked = 256;        // sources asked for a hello in one reply; the others' turn comes
constexpr int kMostVainSearches = 64;  // for a leaf, when there is no room for a new one
std::string clipped(std::string_view text) {
  return std::string(cut_utf8(text, kLongestText));
}

}  // namespace

Ingest::Ingest(Options options, slicer::Slicer& slicer, model::StateTable& states)
    : options_(std::move(options)), slicer_(slicer), states_(states) {}

wire::ToAgent& Ingest::reply(const std::string& agent) {
  // Beyond the bound a reply goes nowhere, which is as if it had been lost on the way: the next one tells it.
  const bool room = replies_.size() < kMostReplies || replies_.contains(agent);
  wire::ToAgent& r = room ? replies_[agent] : unsaid_;
  if (!room) r.Clear();
  r.set_version(wire::kWireVersion);
  r.set_instance(options_.instance);
  return r;
}

std::vector<std::pair<std::string, wire::ToAgent>> Ingest::take_replies(TimeNs now) {
  for (auto& [agent, message] : replies_)
    if (const auto it = agents_.find(agent); message.has_ask() && it != agents_.end()) {
      message.mutable_ask()->set_asked_ns(now.value);
      it->second.asked = now;
    }
  std::vector<std::pair<std::string, wire::ToAgent>> out(std::make_move_iterator(replies_.begin()),
                                                         std::make_move_iterator(replies_.end()));
  replies_.clear();
  return out;
}

// Room for text that is `after` bytes now, where it was `before`. False, and counted: there is none.
bool Ingest::take_text(std::uint64_t before, std::uint64_t after) {
  if (after > before && text_bytes_ + (after - before) > options_.limits.text_bytes) {
    ++counters_.refused_by_limit;
    return false;
  }
  text_bytes_ = text_bytes_ + after - std::min(before, text_bytes_ + after);
  return true;
}

void Ingest::finish() {
  finishing_ = true;
  for (const auto& [agent, heard] : agents_) reply(agent).set_finish(true);
}

// False: it threw. What is left undone of the part is for the caller to put right.
template <class Part>
bool Ingest::survive(Part&& part) {
  try {
    part();
    return true;
  } catch (const std::exception& e) {
    if (trouble_.empty()) ++counters_.quarantined;
    try {
      trouble_ = *e.what() == 0 ? "an unknown error" : e.what();
    } catch (const std::bad_alloc&) {
      trouble_ = "no memory";  // no longer than a string holds by itself
    }
  }
  return false;
}

void Ingest::receive(std::string_view bytes, const std::string& agent, TimeNs now, const std::string& owner) {
  ++counters_.messages;
  trouble_.clear();
  records_left_ = options_.limits.records_per_message;
  vain_searches_ = 0;
  bool parsed = false, too_many = false;
  const bool whole = survive([&] {
    owner_ = owner;
    too_many = wire::count_parts_untrusted(bytes, *wire::ToCollector::descriptor(), kMostPartsInAll) >
               kMostPartsInAll;
    if (too_many) return;
    if (!message_) message_ = std::make_unique<wire::ToCollector>();
    parsed = message_->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  });
  // What memory ran out amid whose parsing, the library cannot destroy: it stays, and nobody knows it.
  if (!whole)
    static_cast<void>(message_.release());
  else if (too_many)
    ++counters_.refused_by_limit;
  else if (parsed)
    static_cast<void>(survive([&] { take_message(agent, now); }));
  else
    ++counters_.undecodable;
  counters_.clock_backwards = slicer_.backwards();
  counters_.unbalanced = slicer_.unbalanced();
}

void Ingest::take_message(const std::string& agent, TimeNs now) {
  const wire::ToCollector& m = *message_;
  if (std::max({m.hello().names_size(), m.batches_size(), m.node().processes_size(),
                m.goodbye().streams_size(),
                m.hello().attributes().size() > kMostParts ? kMostParts + 1 : 0}) > kMostParts) {
    ++counters_.refused_by_limit;
    message_.reset();  // nor is the room kept for the next
    return;
  }
  if (m.version() != wire::kWireVersion) {
    ++counters_.wrong_version;
    reply(agent).set_refused("this collector speaks wire version " + std::to_string(wire::kWireVersion) +
                             ", not " + std::to_string(m.version()));
    return;
  }
  if (m.run() != options_.run) {
    ++counters_.wrong_run;
    reply(agent).set_refused("this collector serves run '" + options_.run + "', not '" + clipped(m.run()) +
                             "'");
    return;
  }
  speaker_ = m.agent();
  if (!know_agent(agent, now)) {
    wire::ToAgent& r = reply(agent);  // the agent learns the collector's instance at once
    if (finishing_) r.set_finish(true);
  }
  if (m.has_echo()) on_echo(m.echo(), agent, now);
  if (m.has_account()) on_account(m.account());
  if (m.has_node_account() && !unwatched_.take_untrusted(m.node_account(), agent))
    ++counters_.refused_by_limit;
  // Each part stands alone: what one costs, the others do not pay.
  if (m.has_hello() && !survive([&] { on_hello(m.hello(), agent, now); }))
    if (const auto it = sources_.find(SourceId(m.hello().source())); it != sources_.end())
      keep_whole_names(it->second);
  for (const wire::EventBatch& batch : m.batches())
    if (!survive([&] { on_batch(batch, agent, now); })) reject_rest(batch, now);
  if (m.has_node()) static_cast<void>(survive([&] { on_node_sample(m.node(), agent, now); }));
  if (m.has_goodbye()) static_cast<void>(survive([&] { on_goodbye(m.goodbye(), agent, now); }));
}

// After an exception amid a batch: what of its records has no place yet is rejected, and that time is
// unknown.
void Ingest::reject_rest(const wire::EventBatch& batch, TimeNs now) {
  const auto it = sources_.find(SourceId(batch.source()));
  if (it == sources_.end() || it->second.owner != owner_ || it->second.speaker != speaker_) return;
  Source& source = it->second;
  const auto stream = source.streams.find(batch.stream());
  if (stream == source.streams.end() || !can_be(batch) || batch.count() > wire::kMaxBatchRecords) return;
  Account& account = stream->second.account;
  const std::uint64_t end = batch.first() + batch.count();
  if (batch.first() > account.next || end <= account.next) return;
  // Some of them may have been counted already, though `next` had not moved on.
  const std::uint64_t placed = account.modelled + account.late_dropped + account.wire_lost + account.rejected;
  const std::uint64_t rest = end > placed ? end - placed : 0;
  account.rejected += rest;
  account.next = end;
  account.produced = std::max(account.produced, std::uint64_t{batch.produced()});
  account.probe_dropped = std::max(account.probe_dropped, std::uint64_t{batch.dropped()});
  account.recorded = std::max(account.recorded, std::uint64_t{batch.recorded()});
  source.dirty = source.news = true;
  static_cast<void>(survive([&] {
    const TimeNs covered = std::min(to_trace(batch.covered_until_ns(), source), latest(now));
    static_cast<void>(slicer_.gap(stream->second.leaf, covered, rest));
  }));
}

void Ingest::wants_hello(const std::string& agent, SourceId source) {
  wire::ToAgent& r = reply(agent);
  if (r.need_hello_size() >= kMostAsked) return;
  for (const std::uint64_t asked : r.need_hello())
    if (asked == source.value) return;
  r.add_need_hello(source.value);
}

// A source belongs to who introduced it: what another says in its name changes nothing, is counted and told.
bool Ingest::may_speak_for(SourceId id, std::string& owner, const std::string& agent) {
  if (owner.empty()) owner = owner_;  // an archive did not tell: the first who comes
  if (owner == owner_) return true;
  ++counters_.not_theirs;
  if (impostors_.size() < kMostImpostors) impostors_.push_back({agent, owner_, id, owner});
  wire::ToAgent& r = reply(agent);
  const int told = r.not_yours_size();
  if (told == 0 || (told < kMostAsked && r.not_yours(told - 1) != id.value)) r.add_not_yours(id.value);
  return false;
}

// One that is not is asked for its hello: it may have been taken for replaced by what came late.
bool Ingest::is_speaker(const Source& source, const std::string& agent) {
  if (!source.speaker || *source.speaker == speaker_) return true;
  ++counters_.unknown_source;
  wants_hello(agent, source.id);
  return false;
}

// The last quarter of each table is kept for those who have little in it, so that no key of the network
// crowds out the others.
bool Ingest::has_share(std::uint64_t used, std::uint64_t limit, std::uint64_t own) const {
  return used < limit && (owner_ == kLocalOwner || used < limit - limit / 4 || own < limit / 8);
}
bool Ingest::cells_fit(std::uint64_t leaves, std::uint64_t states, std::uint64_t own,
                       std::uint64_t limit) const {
  const Limits& l = options_.limits;
  return l.cells_fit(leaves, states) &&
         (owner_ == kLocalOwner || own < limit / 8 || l.cells_fit(leaves + leaves / 3, states));
}

void Ingest::on_hello(const wire::Hello& hello, const std::string& agent, TimeNs now) {
  const SourceId id(hello.source());
  auto it = sources_.find(id);
  if (it == sources_.end()) {
    if (answer_for_forgotten(id, hello.epoch(), 0, 0, agent)) return;
    const auto room = [&] {
      return has_share(sources_.size(), options_.limits.sources, shares_[owner_].sources);
    };
    if (!room() && !(make_room_for_source(now) && room())) {
      ++counters_.refused_by_limit;
      return;
    }
    it = sources_.emplace(id, Source{}).first;
    it->second.id = id;
    it->second.met = now;
    it->second.owner = owner_;
    it->second.epoch = 1;
    it->second.speaker = speaker_;
    ++shares_[owner_].sources;
  }
  Source& source = it->second;
  if (!may_speak_for(id, source.owner, agent)) return;
  // Another agent of the same owner has taken over its ring.
  if (source.speaker && *source.speaker != speaker_) ++source.epoch;
  source.speaker = speaker_;
  source.told_epoch = hello.epoch();
  source.agent = agent;
  source.heard = now;
  source.dirty = true;

  model::Attributes attributes;
  for (const auto& [key, value] : hello.attributes())
    if (attributes.size() < 64) attributes[clipped(key)] = clipped(value);
  if (attributes != source.attributes) {
    // Its leaves say the same.
    std::uint64_t before = ingest::text_bytes(source.attributes), after = ingest::text_bytes(attributes);
    for (const auto& [index, stream] : source.streams) {
      before += ingest::text_bytes(leaves_[stream.leaf.value]);
      after += ingest::text_bytes(leaf_attributes(attributes, id, index, stream.name));
    }
    if (take_text(before, after)) {
      source.text_bytes += ingest::text_bytes(attributes) - ingest::text_bytes(source.attributes);
      source.attributes = std::move(attributes);
      for (const auto& [index, stream] : source.streams) {
        leaves_[stream.leaf.value] = leaf_attributes(source.attributes, id, index, stream.name);
        ++topology_version_;
      }
    }
  }

  if (hello.names_size() > static_cast<int>(source.states.size())) source.nameless_since.reset();
  // Name tables only grow; a state keeps its number. Archives of older versions do not keep the names of
  // regions, so that after a restart they are learnt again here.
  for (std::size_t i = 0; i < source.names.size() && i < static_cast<std::size_t>(hello.names_size()); ++i)
    if (hello.names(static_cast<int>(i)).family() == wire::FAMILY_REGION && source.states[i] == kUnknown) {
      source.names[i] = clipped(hello.names(static_cast<int>(i)).name());
      source.kinds[i] = NameKind::kRegion;
    }
  for (int i = static_cast<int>(source.states.size()); i < hello.names_size(); ++i) {
    if (source.states.size() >= options_.limits.names_per_source) {
      ++counters_.refused_by_limit;
      break;
    }
    if (!take_name(source, hello.names(i), clipped(hello.names(i).name()))) break;
  }

  if (const auto boot = source.attributes.find("boot_id");
      boot != source.attributes.end() && boot->second == options_.boot_id) {
    source.clock_offset = options_.clock_offset;
    source.clock_error = DurationNs(0);
  } else if (!source.clock) {
    // What wall clocks say has to do until the first answer.
    source.clock_offset =
        DurationNs(bounded(bounded(hello.clock().realtime_ns()) - bounded(hello.clock().monotonic_ns())));
    source.clock_error = kWallClockError;
    source.clock = clock_of(source);
    next_asking_ = TimeNs();  // at the next tick
  }
  tell_slices(source, agent);
}

// So that its probes can sum what is too much to record. Not before it is known what its clock shows.
void Ingest::tell_slices(const Source& source, const std::string& agent) {
  if (options_.slice.value <= 0 || (source.clock && !source.clock->known())) return;
  wire::Slices& slices = *reply(agent).mutable_slices();
  slices.set_slice_ns(options_.slice.value);
  slices.set_origin_ns(-source.clock_offset.value % options_.slice.value);
  slices.set_budget(options_.record_budget);
}

std::optional<LeafIndex> Ingest::leaf_for(const Source& source, std::uint32_t stream,
                                          const std::string& name) {
  std::uint32_t& own = shares_[source.owner].leaves;
  const bool full = !has_share(leaves_.size(), options_.limits.leaves, own) ||
                    !cells_fit(leaves_.size() + 1, states_.size(), own, options_.limits.leaves);
  if (full && vain_searches_ >= kMostVainSearches) {
    ++counters_.refused_by_limit;
    return std::nullopt;
  }
  model::Attributes attributes = leaf_attributes(source.attributes, source.id, stream, name);
  // A job made of several MPI programs one after the other has each rank several times: the same resource.
  for (std::uint32_t i = 0; i < leaves_.size(); ++i) {
    const auto owner = sources_.find(leaf_owner_[i].first);  // forgotten ones have ended
    if (owner != sources_.end() && (!owner->second.ended || owner->first == source.id)) continue;
    // Nor does anybody go on where another key's process was.
    if (!leaf_keepers_[i].empty() && leaf_keepers_[i] != source.owner) continue;
    if (!same_resource(leaves_[i], attributes)) continue;
    if (!take_text(ingest::text_bytes(leaves_[i]), ingest::text_bytes(attributes))) return std::nullopt;
    leaves_[i] = std::move(attributes);
    leaf_keepers_[i] = source.owner;
    ++topology_version_;
    leaf_owner_[i] = {source.id, stream};
    return LeafIndex(i);
  }
  if (full) {
    ++vain_searches_;
    ++counters_.refused_by_limit;
    return std::nullopt;
  }
  if (!take_text(0, ingest::text_bytes(attributes))) return std::nullopt;
  // The slicer's tables and these go together: nothing can fail once it has taken the leaf.
  const auto make_room = [](auto& table) {
    if (table.size() == table.capacity()) table.reserve(2 * table.size() + 16);
  };
  make_room(leaves_);
  make_room(leaf_owner_);
  make_room(leaf_keepers_);
  std::string keeper = source.owner;
  const LeafIndex leaf = slicer_.add_leaf();
  leaves_.push_back(std::move(attributes));
  leaf_owner_.emplace_back(source.id, stream);
  leaf_keepers_.push_back(std::move(keeper));
  ++own;
  ++topology_version_;
  return leaf;
}

Stream* Ingest::stream_of(Source& source, std::uint32_t index, const std::string& name) {
  const auto it = source.streams.find(index);
  if (it != source.streams.end() && name.empty()) return &it->second;
  const std::string told = clipped(name);
  if (it != source.streams.end()) {
    Stream& stream = it->second;
    if (told != stream.name) {
      model::Attributes named = leaf_attributes(source.attributes, source.id, index, told);
      if (!take_text(ingest::text_bytes(leaves_[stream.leaf.value]), ingest::text_bytes(named)))
        return &stream;
      stream.name = told;
      leaves_[stream.leaf.value] = std::move(named);
      ++topology_version_;
    }
    return &stream;
  }
  if (source.streams.size() >= options_.limits.streams_per_source) {
    ++counters_.refused_by_limit;
    return nullptr;
  }
  Stream fresh;
  fresh.name = told;
  const auto place = source.streams.try_emplace(index, std::move(fresh)).first;
  std::optional<LeafIndex> leaf;
  try {
    leaf = leaf_for(source, index, told);
  } catch (...) {
    source.streams.erase(place);
    throw;
  }
  if (!leaf) {
    source.streams.erase(place);
    return nullptr;
  }
  place->second.leaf = *leaf;
  return &place->second;
}

void Ingest::on_batch(const wire::EventBatch& batch, const std::string& agent, TimeNs now) {
  const auto it = sources_.find(SourceId(batch.source()));
  if (it == sources_.end() && answer_for_forgotten(SourceId(batch.source()), batch.epoch(), batch.stream(),
                                                   batch.first() + batch.count(), agent))
    return;
  if (it != sources_.end() && !may_speak_for(it->first, it->second.owner, agent)) return;
  if (it == sources_.end() || it->second.states.empty()) {
    ++counters_.unknown_source;
    wants_hello(agent, SourceId(batch.source()));
    return;
  }
  Source& source = it->second;
  if (!is_speaker(source, agent)) return;
  if (!can_be(batch)) {
    ++counters_.claims_refused;
    return;
  }
  source.heard = now;
  source.agent = agent;
  source.told_epoch = batch.epoch();
  source.dirty = true;
  source.news = source.news || batch.count() > 0;
  if (source.clock && !source.clock->known() && now - source.met < options_.clock_patience) {
    ++counters_.clock_waits;  // not taken, so not confirmed: it is sent again when the clock is known
    return;
  }
  Stream* stream = stream_of(source, batch.stream(), batch.thread());
  if (stream == nullptr) return;
  // Not taken and not promised: an agent sends them again, and the next message takes them.
  const std::uint32_t records = std::min(batch.count(), wire::kMaxBatchRecords);
  if (records > records_left_) {
    ++counters_.refused_by_limit;
    return;
  }
  records_left_ -= records;
  Account& account = stream->account;
  // A promise reaches no farther than a record may.
  const TimeNs covered = std::min(to_trace(batch.covered_until_ns(), source), latest(now));

  bool gap_ended = false;
  if (stream->waits && *stream->waits != batch.epoch()) stream->waits.reset();  // whoever had it is gone
  if (batch.first() > account.next) {
    if (stream->waits) return;  // what lies between waits for room, and is sent again before this
    gap_ended = true;
    if (stream->epoch != 0 && source.epoch > stream->epoch) {
      // The agent that had the missing records is gone.
      give_up(source, *stream, batch.first(), gap_end(batch, source, covered));
    } else if (!stream->gap_since) {
      stream->gap_since = source.asked = now;
      ++counters_.gaps_pending;
      wants_hello(agent, source.id);
      return;
    } else if (now - *stream->gap_since < options_.give_up_gap) {
      ++counters_.gaps_pending;
      return;
    } else {
      give_up(source, *stream, batch.first(), gap_end(batch, source, covered));
    }
  }

  std::uint64_t skip = 0;
  if (batch.first() < account.next) {
    skip = std::min<std::uint64_t>(batch.count(), account.next - batch.first());
    counters_.repeats += skip;
    if (skip == batch.count() && batch.count() > 0) {
      // Wholly known; what it says of time and counters may be older than what is known.
      return;
    }
  }
  stream->waits.reset();
  const std::uint64_t next_before = account.next;
  if (batch.count() > skip && !take_batch(batch, source, *stream, skip, agent, now)) return;
  stream->gap_since.reset();
  if (account.next > next_before || batch.dropped() > account.probe_dropped) stream->moved = now;
  account.produced = std::max(account.produced, batch.produced());
  account.probe_dropped = std::max(account.probe_dropped, batch.dropped());
  account.recorded = std::max(account.recorded, batch.recorded());
  stream->summed = std::max(stream->summed, batch.summed());
  stream->summing = batch.summing();
  stream->probe_clock_error_ns = std::max(stream->probe_clock_error_ns, batch.clock_error_ns());
  if (!stream->waits) stream->covered = std::max(stream->covered, covered);
  slicer_.cover(stream->leaf, std::min(stream->covered, slicer_.filled_limit()));
  // Drawn out, its last state would pass for what it does while its records are dropped.
  if (batch.untold() > 0 && batch.first() + batch.count() == account.next) slicer_.lose(stream->leaf);
  // After a stretch that nobody knows: what the thread is in now.
  if (gap_ended && batch.count() == 0 && batch.open_state() > 0 &&
      batch.open_state() <= source.states.size()) {
    const std::uint32_t name = batch.open_state() - 1;
    static_cast<void>(slicer_.stack(stream->leaf, name == 0 ? kCompute : source.states[name], covered));
  }
}

// What was lost before this batch ends where its first record begins.
TimeNs Ingest::gap_end(const wire::EventBatch& batch, const Source& source, TimeNs covered) {
  if (batch.count() == 0) return covered;
  const auto decoded = wire::decode_columns_untrusted({batch.columns().data(), batch.columns().size()},
                                                      batch.count(), scratch_);
  return decoded ? std::min(covered, to_trace(scratch_.front().time_ns, source)) : covered;
}

void Ingest::give_up(Source& source, Stream& stream, std::uint64_t next, TimeNs t) {
  const std::uint64_t lost = next - stream.account.next;
  stream.account.wire_lost += lost;
  stream.account.next = next;
  stream.gap_since.reset();
  ++counters_.gaps_given_up;
  source.dirty = true;
  static_cast<void>(slicer_.gap(stream.leaf, t, lost));
}

}  // namespace margay::ingest
