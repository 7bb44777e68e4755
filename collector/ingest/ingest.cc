#include "margay/ingest/ingest.h"

#include <algorithm>

#include "clipped.h"
#include "margay/wire/parts.h"

namespace margay::ingest {
namespace {

// Of one message. What a sender can cause must cost in proportion to what it sends: no agent comes near
// these.
constexpr int kMostParts = 65536;  // names, batches, samples, totals
constexpr std::size_t kMostPartsInAll = std::size_t{2} * kMostParts;

}  // namespace

Ingest::Ingest(Options options, slicer::Slicer& slicer, model::StateTable& states)
    : options_(std::move(options)),
      slicer_(slicer),
      quota_(options_.limits, counters_),
      sources_(options_, quota_, counters_),
      leaves_(options_, sources_, quota_, slicer, states, counters_),
      replies_(options_.instance),
      agents_(counters_),
      authority_(sources_, replies_, counters_),
      clocks_(options_, sources_, agents_, replies_, counters_),
      names_(options_, states, leaves_, quota_, counters_),
      hellos_(options_, sources_, authority_, leaves_, names_, clocks_, counters_),
      records_(options_, slicer, raw_, counters_),
      delivery_(options_, sources_, authority_, leaves_, records_, slicer, replies_, counters_),
      goodbyes_(options_, sources_, authority_, leaves_, delivery_, slicer, replies_, counters_),
      samples_(options_, sources_, authority_, slicer, counters_),
      readers_(counters_),
      coverage_(options_, sources_, leaves_, slicer, counters_),
      acknowledgements_(sources_, replies_),
      quarantine_(counters_) {}

std::vector<std::pair<std::string, wire::ToAgent>> Ingest::take_replies(TimeNs now) {
  auto replies = replies_.take();
  clocks_.stamp(replies, now);
  return replies;
}

void Ingest::finish() {
  finishing_ = true;
  for (const auto& [agent, heard] : agents_.all()) replies_.to(agent).set_finish(true);
}

void Ingest::receive(std::string_view bytes, const std::string& agent, TimeNs now, const std::string& owner) {
  ++counters_.messages;
  quarantine_.begin_message();
  delivery_.begin_message();
  leaves_.begin_message();
  bool parsed = false, too_many = false;
  const bool whole = quarantine_.survives([&] {
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
    static_cast<void>(quarantine_.survives([&] { take_message({agent, owner, message_->agent(), now}); }));
  else
    ++counters_.undecodable;
  counters_.clock_backwards = slicer_.backwards();
  counters_.unbalanced = slicer_.unbalanced();
}

void Ingest::take_message(const Sender& from) {
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
    replies_.to(from.agent)
        .set_refused("this collector speaks wire version " + std::to_string(wire::kWireVersion) + ", not " +
                     std::to_string(m.version()));
    return;
  }
  if (m.run() != options_.run) {
    ++counters_.wrong_run;
    replies_.to(from.agent)
        .set_refused("this collector serves run '" + options_.run + "', not '" + clipped(m.run()) + "'");
    return;
  }
  if (!agents_.hear(from.agent, from.now)) {
    wire::ToAgent& r = replies_.to(from.agent);  // the agent learns the collector's instance at once
    if (finishing_) r.set_finish(true);
  }
  if (m.has_echo()) clocks_.on_echo(m.echo(), from);
  if (m.has_account()) readers_.receive(m.account(), from);
  if (m.has_node_account() && !unwatched_.take_untrusted(m.node_account(), from.agent))
    ++counters_.refused_by_limit;
  // Each part stands alone: what one costs, the others do not pay.
  if (m.has_hello() && !quarantine_.survives([&] { hellos_.receive(m.hello(), from); }))
    if (Source* const source = sources_.find(SourceId(m.hello().source()))) Names::keep_whole(*source);
  for (const wire::EventBatch& batch : m.batches()) take_batch(batch, from);
  if (m.has_node()) static_cast<void>(quarantine_.survives([&] { samples_.receive(m.node(), from); }));
  if (m.has_goodbye()) static_cast<void>(quarantine_.survives([&] { goodbyes_.receive(m.goodbye(), from); }));
}

void Ingest::take_batch(const wire::EventBatch& batch, const Sender& from) {
  if (quarantine_.survives([&] { delivery_.receive(batch, from); })) return;
  // What of its records has no place yet is rejected, and that time is unknown.
  if (const auto rest = delivery_.reject_rest(batch, from))
    static_cast<void>(quarantine_.survives(
        [&] { static_cast<void>(slicer_.gap(rest->leaf, rest->covered, rest->records)); }));
}

void Ingest::tick(TimeNs now) {
  coverage_.check_caught_up(now);
  acknowledgements_.tick(now);
  coverage_.listen(now);
  delivery_.ask_again(now);
  clocks_.ask(now);
  if (now < next_look_) return;
  next_look_ = now + seconds(1);
  agents_.forget_silent(now, options_.forget_after);
  sources_.forget_what_is_over(now);
}

std::vector<LeafIndex> Ingest::end_former_boot() {
  std::vector<LeafIndex> leaves;
  for (auto& [id, source] : sources_.all()) {
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
      if (leaf.base == kAbsent || leaves_.feeders()[stream.leaf.value].first != id) continue;
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

void Ingest::unwatched_committed(std::uint64_t version) {
  for (const auto& [agent, number] : unwatched_.committed(version))
    replies_.to(agent).set_node_account(number);
}

bool Ingest::all_ended() const {
  return std::all_of(sources_.all().begin(), sources_.all().end(),
                     [](const auto& s) { return s.second.ended; });
}

std::string Ingest::region() const {
  std::map<std::string, std::size_t> votes;
  std::size_t live = 0;
  for (const auto& [id, source] : sources_.all()) {
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

void Ingest::restore(std::vector<Source> sources, std::vector<model::Attributes> leaves,
                     std::vector<LeafTable::Feeder> leaf_owner, std::vector<Account> former,
                     std::vector<std::string> leaf_keepers) {
  sources_.restore(std::move(former));
  for (Source& s : sources) {
    names_.restore(s);
    clocks_.restore(s);
    ++quota_.share(s.owner).sources;
    s.text_bytes = ingest::text_bytes(s.attributes);
    for (const std::string& name : s.names) s.text_bytes += name.size() + Limits::kTextOverhead;
    quota_.restore_text(s.text_bytes);
    for (auto& [index, stream] : s.streams)
      stream.told_dropped = stream.account.probe_dropped;  // or nobody knows
    const SourceId id = s.id;
    sources_.all().emplace(id, std::move(s));
  }
  leaves_.restore(sources_, std::move(leaves), std::move(leaf_owner), std::move(leaf_keepers));
}

}  // namespace margay::ingest
