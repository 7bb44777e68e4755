#include "run_account.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/model/hierarchy.h"
#include "margay/store/archive.h"
#include "margay/terminal/unwatched.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

using Json = nlohmann::ordered_json;

// What an archive holds is not trusted.
void add(std::uint64_t& sum, std::uint64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = ~std::uint64_t{0};
}

std::uint64_t lost_of(const store::StreamRecord& s) {
  std::uint64_t lost = 0;
  for (const std::uint64_t term : {s.late_dropped, s.probe_dropped, s.wire_lost, s.rejected}) add(lost, term);
  return lost;
}

void add(store::StreamRecord& sum, const store::StreamRecord& s) {
  add(sum.produced, s.produced);
  add(sum.modelled, s.modelled);
  add(sum.late_dropped, s.late_dropped);
  add(sum.probe_dropped, s.probe_dropped);
  add(sum.wire_lost, s.wire_lost);
  add(sum.rejected, s.rejected);
}

std::uint64_t in_flight_of(const store::StreamRecord& s) {
  std::uint64_t arrived = lost_of(s);
  add(arrived, s.modelled);
  return s.produced - std::min(s.produced, arrived);
}

Json terms_of(const store::StreamRecord& s, std::uint64_t in_flight) {
  return {{"produced", s.produced},         {"modelled", s.modelled},
          {"late_dropped", s.late_dropped}, {"probe_dropped", s.probe_dropped},
          {"wire_lost", s.wire_lost},       {"rejected", s.rejected},
          {"in_flight", in_flight}};
}

Json phases_of(const std::vector<store::PhaseRecord>& all, std::size_t level) {
  Json phases = Json::array();
  for (const store::PhaseRecord& p : all) {
    if (p.level.value != level) continue;
    Json phase{{"name", p.name}};
    if (!p.label.empty()) phase["label"] = p.label;
    phase["begin_ns"] = p.begin.value;
    phase["end_ns"] = p.end.value;
    phase["occurrence"] = p.occurrence;
    phases.push_back(std::move(phase));
  }
  return phases;
}

}  // namespace

RunAccount account_of(const wire::ControlReply& reply) {
  RunAccount a;
  a.json = reply.summary_json();
  const auto j = Json::parse(a.json, nullptr, false);
  if (!j.is_object()) {
    a.json.clear();
    return a;
  }
  const wire::Health& h = reply.report().health();
  a.from = RunAccount::From::kDaemon;
  a.closed = true;
  const auto events = j.value("events", Json::object());
  a.produced = events.value("produced", std::uint64_t{0});
  a.modelled = events.value("modelled", std::uint64_t{0});
  a.in_flight = events.value("in_flight", std::uint64_t{0});
  a.lost = h.lost_events();
  a.unwatched = terminal::unwatched_text(h);
  a.summed = j.value("summed", std::uint64_t{0});
  a.resources = j.value("sources", Json::array()).size();
  a.unended = h.sources_live();
  a.phases = static_cast<std::size_t>(reply.report().phases_size());
  a.alerts = j.value("alerts", std::uint64_t{0});
  a.archive_trouble = j.value("archive_error", std::string());
  return a;
}

Result<RunAccount> account_of_archive(const std::string& path) {
  const auto archive = store::Archive::open(path, store::Mode::kBeside);
  if (!archive) return tl::unexpected(archive.error());
  const auto all = (*archive)->load();
  if (!all) return tl::unexpected(all.error());
  std::map<std::pair<std::uint64_t, std::uint32_t>, const store::StreamRecord*> streams;
  for (const auto& s : all->streams) streams[{s.source.value, s.stream}] = &s;
  std::vector<store::StreamRecord> by_leaf(all->leaves.size());
  std::vector<model::Attributes> attributes;
  for (std::size_t i = 0; i < all->leaves.size(); ++i) {
    const store::LeafRecord& l = all->leaves[i];
    attributes.push_back(l.attributes);
    if (const auto s = streams.find({l.source.value, l.stream}); s != streams.end())
      add(by_leaf[i], *s->second);
  }
  for (const auto& s : all->former)
    if (s.stream < by_leaf.size()) add(by_leaf[s.stream], s);

  RunAccount a;
  a.from = RunAccount::From::kArchive;
  a.closed = all->run.end.has_value();
  a.resources = by_leaf.size();
  a.unended = static_cast<std::uint64_t>(
      std::count_if(all->sources.begin(), all->sources.end(), [](const auto& s) { return !s.end; }));
  a.alerts = all->alerts.size();
  const model::Hierarchy hierarchy(attributes);
  store::StreamRecord sum;
  Json sources = Json::array();
  for (const LeafIndex leaf : hierarchy.leaf_order()) {
    const store::StreamRecord& s = by_leaf[leaf.value];
    const std::uint64_t in_flight = in_flight_of(s);
    Json source{{"resource", hierarchy.path_of(leaf)}};
    source.update(terms_of(s, in_flight));
    sources.push_back(std::move(source));
    add(sum, s);
    add(a.in_flight, in_flight);
  }
  a.produced = sum.produced;
  a.modelled = sum.modelled;
  a.lost = lost_of(sum);
  Json j;
  j["exit_code"] = 0;
  j["duration_ns"] = 0;
  j["events"] = terms_of(sum, a.in_flight);
  j["sources"] = std::move(sources);
  j["phases"] = phases_of(all->phases, 0);
  a.phases = j["phases"].size();
  j["levels"] = Json::array();
  for (std::size_t level = 1; level < all->run.levels.size(); ++level)
    j["levels"].push_back(
        {{"slice_ns", all->run.levels[level].value}, {"phases", phases_of(all->coarser_phases, level)}});
  j["alerts"] = a.alerts;
  a.json = j.dump(-1, ' ', false, Json::error_handler_t::replace);
  return a;
}

std::string sentence_of(const RunAccount& a) {
  const std::string of = grouped(a.produced) + " events of " + std::to_string(a.resources) +
                         (a.resources == 1 ? " resource" : " resources");
  const std::string lost = a.lost == 0 ? std::string("none") : grouped(a.lost);
  const std::string rest = "; " +
                           (a.summed == 0 ? "" : grouped(a.summed) + " more were summed in the process; ") +
                           std::to_string(a.phases) + " phase stretches, " + std::to_string(a.alerts) +
                           (a.alerts == 1 ? " alert" : " alerts");
  if (!a.closed)
    return "the archive has " + grouped(a.modelled) + " events of " + std::to_string(a.resources) +
           (a.resources == 1 ? " resource" : " resources") + ", " + lost +
           " known to be lost; what came after that, and whether any of it was lost, is unknown" + rest;
  if (a.complete())
    return of + ", " + lost +
           (a.lost != 0 || a.unwatched.empty() ? " lost" : " lost of those that were watched") + rest;
  std::string unknown;
  if (a.in_flight > 0) unknown = grouped(a.in_flight) + " never arrived";
  if (a.unended > 0)
    unknown += (unknown.empty() ? "" : ", and ") + std::string("of ") + grouped(a.unended) +
               (a.unended == 1 ? " source that had not ended" : " sources that had not ended") +
               " it is unknown what came last";
  return of + ", " + lost + " known to be lost, but " + unknown + rest;
}

// What is recorded of a command: an argument of the daemon's, and the kernel takes none of more than 128 KiB.
std::string command_text(const std::vector<std::string>& arguments) {
  constexpr std::size_t kMostBytes = 4096;
  std::string text;
  for (const auto& a : arguments) {
    if (!text.empty()) text += ' ';
    text.append(a, 0, kMostBytes + 1);
    if (text.size() > kMostBytes) return clean_utf8(text, kMostBytes) + "...";
  }
  return text;
}

}  // namespace margay::daemon
