// What the ingest knows as a whole: the watermark, what is acknowledged, accounts, and the way back after a
// restart.
#include <algorithm>

#include "margay/ingest/ingest.h"

namespace margay::ingest {
namespace {
constexpr DurationNs kTellTaken = milliseconds(200);
// An agent that is asked for what waits for room takes so long to send it.
constexpr DurationNs kAskAgain = milliseconds(100);
// What is missing comes by itself as a rule, behind what has overtaken it: asking makes the agent send more.
constexpr DurationNs kAskForMissing = milliseconds(500);
}  // namespace

TimeNs Ingest::latest(TimeNs now) const {
  return now + options_.clock_offset + options_.future;
}

void Ingest::tick(TimeNs now) {
  if (now < catch_up_until_) {
    const TimeNs recent = now + options_.clock_offset - options_.silence_hold;
    const bool caught_up = std::all_of(sources_.begin(), sources_.end(), [&](const auto& s) {
      return s.second.ended || std::all_of(s.second.streams.begin(), s.second.streams.end(),
                                           [&](const auto& x) { return x.second.covered >= recent; });
    });
    if (caught_up) catch_up_until_ = TimeNs();
  }
  if (now - told_ >= kTellTaken) {
    // In order, commits tell. Where they do not come (the disk is full, or slow), agents would wait for them.
    if (!committed_lately_) tell_taken();
    committed_lately_ = false;
    told_ = now;
  }
  listen(now);
  ask_for_records(now);
  ask_clocks(now);
  if (now >= next_look_) {
    next_look_ = now + seconds(1);
    forget_what_is_over(now);
  }
}

// Who is silent? The slices are told. While this process catches up, the silence may be its own.
void Ingest::listen(TimeNs now) {
  for (auto& [id, source] : sources_) {
    const bool silent = !source.ended && now - source.heard > options_.silent_after &&
                        (source.silent || now >= catch_up_until_);
    if (silent == source.silent) continue;
    source.silent = silent;
    ++(silent ? counters_.sources_silenced : counters_.sources_returned);
    for (const auto& [index, stream] : source.streams)
      slicer_.silence(stream.leaf, silent ? source.heard + options_.clock_offset : TimeNs());
  }
}

// The request, or what came of it, may be lost as well: as long as records are missing they are asked for.
void Ingest::ask_for_records(TimeNs now) {
  const TimeNs limit = slicer_.limit();
  for (auto& [id, source] : sources_) {
    if (source.ended) continue;
    bool room = source.end_waits && *source.end_waits < limit, missing = false;
    for (const auto& [index, stream] : source.streams) {
      room = room || (stream.waits && stream.covered < limit);
      missing = missing || (stream.gap_since && !source.silent);
    }
    const bool due =
        (room && now - source.asked >= kAskAgain) || (missing && now - source.asked >= kAskForMissing);
    if (!due) continue;
    source.asked = now;
    wants_hello(source.agent, id);
  }
}

void Ingest::fill_promises(TimeNs until) {
  for (const auto& [id, source] : sources_)
    for (const auto& [index, stream] : source.streams)
      if (!source.ended) slicer_.cover(stream.leaf, std::min(stream.covered, until));
}

TimeNs Ingest::promised() const {
  TimeNs most{};
  for (const auto& [id, source] : sources_)
    for (const auto& [index, stream] : source.streams)
      if (!source.ended) most = std::max(most, stream.covered);
  return most;
}

bool Ingest::is_promised(LeafIndex leaf, TimeNs t) const {
  if (leaf.value >= leaf_owner_.size()) return false;
  const auto source = sources_.find(leaf_owner_[leaf.value].first);
  if (source == sources_.end() || source->second.ended) return false;
  const auto stream = source->second.streams.find(leaf_owner_[leaf.value].second);
  return stream != source->second.streams.end() && stream->second.covered >= t;
}

std::vector<LeafIndex> Ingest::end_former_boot() {
  std::vector<LeafIndex> leaves;
  for (auto& [id, source] : sources_) {
    const auto boot = source.attributes.find("boot_id");
    if (source.ended || options_.former_boot_id.empty() || boot == source.attributes.end() ||
        boot->second != options_.former_boot_id)
      continue;
    TimeNs end{};
    for (auto& [index, stream] : source.streams) {
      Account& account = stream.account;
      account.wire_lost += account.in_flight();
      account.next = std::max(account.next, account.recorded);
      const slicer::LeafState& leaf = slicer_.leaf_state(stream.leaf);
      end = std::max(end, leaf.position);
      if (leaf.base == kAbsent || leaf_owner_[stream.leaf.value].first != id) continue;
      static_cast<void>(slicer_.end(stream.leaf, leaf.position));
      leaves.push_back(stream.leaf);
    }
    source.ended = true;
    source.end = end;
    source.goodbye = static_cast<std::uint32_t>(wire::Goodbye::KILLED);
    source.dirty = true;
  }
  return leaves;
}

TimeNs Ingest::watermark(TimeNs now) const {
  const TimeNs now_trace = now + options_.clock_offset;
  TimeNs least = now_trace;
  const bool catching_up = now < catch_up_until_;
  for (const auto& [id, source] : sources_) {
    if (source.ended) continue;
    for (const auto& [index, stream] : source.streams) {
      TimeNs covered = stream.covered;
      // A stopped process records nothing.
      if (source.process.stopped_since != TimeNs()) covered = std::max(covered, source.process.at);
      // What waits for room here is not to be passed by, as long as somebody has it.
      const bool waits = stream.waits && now - source.heard < options_.behind_hold;
      if (!catching_up && !waits) {
        // Records that are known to be on their way are worth waiting for: without them their slices would
        // close with guesses, and what comes later than can be amended is lost. So is, for a while, the word
        // where dropped ones were: the last records of an overloaded program come before its goodbye, and all
        // that was waited for would close in between.
        const Account& account = stream.account;
        const bool untold = account.next > 0 && account.probe_dropped > stream.told_dropped &&
                            now - stream.moved < options_.untold_hold;
        const bool behind = !source.silent && (account.recorded > account.next || untold);
        covered = std::max(covered, now_trace - (behind ? options_.behind_hold : options_.silence_hold));
      }
      least = std::min(least, covered);
    }
  }
  return least - options_.lateness;
}

AckPoint Ingest::ack_point() const {
  AckPoint point;
  for (const auto& [id, source] : sources_) {
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

void Ingest::committed(const AckPoint& point) {
  committed_lately_ = true;
  for (const auto& [agent, ack] : point) {
    wire::StreamAck& said = *reply(agent).add_acks();
    said = ack;
    const auto it = sources_.find(SourceId(ack.source()));
    if (it == sources_.end()) continue;
    if (ack.goodbye()) it->second.goodbye_acked = true;
    const auto stream = it->second.streams.find(ack.stream());
    if (stream != it->second.streams.end() && ack.epoch() == it->second.told_epoch &&
        agent == it->second.agent)
      said.set_taken(stream->second.account.next);
  }
}

void Ingest::unwatched_committed(std::uint64_t version) {
  for (const auto& [agent, number] : unwatched_.committed(version)) reply(agent).set_node_account(number);
}

void Ingest::tell_taken() {
  for (auto& [id, source] : sources_) {
    if (!source.news) continue;
    source.news = false;
    for (const auto& [index, stream] : source.streams) {
      wire::StreamAck& ack = *reply(source.agent).add_acks();
      ack.set_source(id.value);
      ack.set_epoch(source.told_epoch);
      ack.set_stream(index);
      ack.set_taken(stream.account.next);
    }
  }
}

bool Ingest::all_ended() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const auto& s) { return s.second.ended; });
}

std::vector<Account> Ingest::accounts() const {
  std::vector<Account> sums = former_;
  sums.resize(leaves_.size());
  for (const auto& [id, source] : sources_)
    for (const auto& [index, stream] : source.streams) sums[stream.leaf.value] += stream.account;
  return sums;
}

Account Ingest::account(LeafIndex leaf) const {
  return accounts()[leaf.value];
}

std::string Ingest::region() const {
  std::map<std::string, std::size_t> votes;
  std::size_t live = 0;
  for (const auto& [id, source] : sources_) {
    if (source.ended) continue;
    for (const auto& [index, stream] : source.streams) {
      ++live;
      if (!stream.regions.empty()) ++votes[source.names[stream.regions.back()]];
    }
  }
  for (const auto& [name, n] : votes)
    if (n * 2 >= live && live > 0) return name;
  return "";
}

std::vector<AcceptedBatch> Ingest::take_accepted() {
  raw_bytes_ = 0;
  return std::exchange(accepted_, {});
}

void Ingest::restore(std::vector<Source> sources, std::vector<model::Attributes> leaves,
                     std::vector<std::pair<SourceId, std::uint32_t>> leaf_owner, std::vector<Account> former,
                     std::vector<std::string> leaf_keepers) {
  former_ = std::move(former);
  for (Source& s : sources) {
    const SourceId id = s.id;
    // What an archive does not tell of a name is learnt again from the next hello.
    restore_names(s);
    const auto boot = s.attributes.find("boot_id");
    if (boot == s.attributes.end() || boot->second != options_.boot_id) s.clock = clock_of(s);
    ++shares_[s.owner].sources;
    sources_.emplace(id, std::move(s));
  }
  leaves_ = std::move(leaves);
  // What the archive holds is taken, also where it is more than a limit that is lower now.
  for (const model::Attributes& a : leaves_) text_bytes_ += ingest::text_bytes(a);
  for (auto& [id, source] : sources_) {
    source.text_bytes = ingest::text_bytes(source.attributes);
    for (const std::string& name : source.names) source.text_bytes += name.size() + Limits::kTextOverhead;
    text_bytes_ += source.text_bytes;
  }
  leaf_owner_ = std::move(leaf_owner);
  leaf_keepers_ = std::move(leaf_keepers);
  leaf_keepers_.resize(leaves_.size());
  for (const std::string& keeper : leaf_keepers_) ++shares_[keeper].leaves;
  // The archive tells whose a leaf is now; what fed it before that is found by what it was.
  for (auto& [id, source] : sources_)
    for (auto& [index, stream] : source.streams) {
      stream.told_dropped = stream.account.probe_dropped;  // or nobody knows
      if (stream.leaf.value < leaves_.size())
        if (const auto name = leaves_[stream.leaf.value].find("thread");
            name != leaves_[stream.leaf.value].end() && name->second != std::to_string(index))
          stream.name = name->second;
      const std::pair mine(id, index);
      if (stream.leaf.value < leaf_owner_.size() && leaf_owner_[stream.leaf.value] == mine) continue;
      const model::Attributes attributes = leaf_attributes(source.attributes, source.id, index, stream.name);
      for (std::uint32_t i = 0; i < leaves_.size(); ++i)
        if (same_resource(leaves_[i], attributes)) stream.leaf = LeafIndex(i);
    }
  ++topology_version_;
}

}  // namespace margay::ingest
