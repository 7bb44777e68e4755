// replay_check: does a replay say what was said live?
//
//   replay_check [--spoil] ARCHIVE COPY
//
// ARCHIVE is what a daemon wrote; COPY the same, before this program deletes every stored report from it.
// COPY is replayed; the content of each report that ARCHIVE holds is compared, byte by byte, with what the
// replay comes to at the same decision; so are alerts (but for wall times) and phases. --spoil replays with
// another p, which must be noticed. Prints a line of figures; differences (the first 10) are lines of stderr.
// Exit code: 0 equal, 1 not, 2 for a wrong call or files that cannot be read.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "margay/replay/replay.h"

namespace {

using namespace margay;

int complain(const std::string& sentence) {
  std::fprintf(stderr, "replay_check: %s\n", sentence.c_str());
  return 2;
}

std::string bytes_of(const wire::Report& content) {
  std::string bytes;
  static_cast<void>(content.SerializeToString(&bytes));
  return bytes;
}

std::string without_wall(const std::string& json) {
  auto j = nlohmann::ordered_json::parse(json, nullptr, false);
  if (j.is_object()) j.erase("emitted_wall_ns");
  return j.dump();
}

struct Differences {
  int count = 0;
  void tell(const std::string& what) {
    if (++count <= 10) std::fprintf(stderr, "replay_check: %s\n", what.c_str());
  }
};

// Where two contents part, for people.
std::string parting(const wire::Report& a, const wire::Report& b) {
  std::string out;
  const auto side = [&](const char* name, const auto& x, const auto& y) {
    if (x != y) out += std::string(" ") + name;
  };
  side("slice_index", a.slice_index(), b.slice_index());
  side("watermark", a.watermark_ns(), b.watermark_ns());
  side("final", a.final(), b.final());
  side("states", a.states_size(), b.states_size());
  side("nodes", a.nodes_size(), b.nodes_size());
  side("phases", a.phases_size(), b.phases_size());
  side("alerts", a.alerts_size(), b.alerts_size());
  side("partition", a.spatiotemporal().SerializeAsString(), b.spatiotemporal().SerializeAsString());
  side("temporal", a.temporal().SerializeAsString(), b.temporal().SerializeAsString());
  for (int i = 0; i < std::min(a.phases_size(), b.phases_size()); ++i)
    side("a-phase", a.phases(i).SerializeAsString(), b.phases(i).SerializeAsString());
  for (int i = 0; i < std::min(a.nodes_size(), b.nodes_size()); ++i)
    side("a-node", a.nodes(i).SerializeAsString(), b.nodes(i).SerializeAsString());
  for (int i = 0; i < std::min(a.alerts_size(), b.alerts_size()); ++i)
    side("an-alert", a.alerts(i).SerializeAsString(), b.alerts(i).SerializeAsString());
  return out;
}

int run(bool spoil, const std::string& live_path, const std::string& copy_path) {
  constexpr TimeNs kEver(INT64_MAX), kNever(INT64_MIN);
  std::map<std::uint64_t, wire::Report> live;  // by position
  std::map<std::string, std::string> live_alerts;
  std::vector<store::PhaseRecord> live_phases;
  {
    const auto archive = store::Archive::open(live_path, store::Mode::kReadOnly);
    if (!archive) return complain(archive.error().message);
    std::string bad;
    const Status s = (*archive)->read_reports(kNever, kEver, [&](store::ReportRecord&& r) {
      wire::Report report;
      if (!report.ParseFromString(r.bytes)) bad = "a stored report does not parse";
      if (report.position() == 0) bad = "a stored report does not tell its decision";
      live[report.position()] = daemon::content_of(report);
      return bad.empty();
    });
    if (!s) return complain(s.error().message);
    if (!bad.empty()) return complain(bad);
    const auto resume = (*archive)->load();
    if (!resume) return complain(resume.error().message);
    for (const auto& a : resume->alerts) live_alerts[a.id] = without_wall(a.json);
    live_phases = resume->phases;
  }
  {
    const auto archive = store::Archive::open(copy_path, store::Mode::kWrite);
    if (!archive) return complain(archive.error().message);
    if (Status s = (*archive)->drop_reports_before(kEver); !s) return complain(s.error().message);
    int left = 0;
    static_cast<void>(
        (*archive)->read_reports(kNever, kEver, [&](store::ReportRecord&&) { return ++left, true; }));
    if (left != 0) return complain("reports are left in the copy");
  }
  const auto archive = store::Archive::open(copy_path, store::Mode::kReadOnly);
  if (!archive) return complain(archive.error().message);
  const auto resume = (*archive)->load();
  if (!resume) return complain(resume.error().message);
  Differences differences;
  std::map<std::string, std::string> alerts;
  std::size_t compared = 0, bytes = 0;
  daemon::ReplayListener listener;
  listener.alert = [&](const alert::Alert& a) { alerts[a.id] = without_wall(alert::to_json(a)); };
  listener.after = [&](const daemon::Analyst& analyst) {
    const auto at = live.find(analyst.position());
    if (at == live.end()) return;
    const wire::Report content = daemon::content_of(analyst.report());
    ++compared;
    const std::string expected = bytes_of(at->second), got = bytes_of(content);
    bytes += expected.size();
    if (expected != got)
      differences.tell("decision " + std::to_string(at->first) + ": the reports differ in" +
                       parting(at->second, content));
    live.erase(at);
  };
  daemon::Options options;
  std::unique_ptr<daemon::Analyst> analyst;
  daemon::WhatIf what_if;
  if (spoil) what_if.p = std::optional<double>(0.9);
  const auto result = daemon::replay(**archive, *resume, what_if, options, listener, analyst);
  if (!result) return complain(result.error().message);
  for (const auto& [position, report] : live)
    differences.tell("decision " + std::to_string(position) + " was not replayed");
  for (const auto& [id, json] : live_alerts)
    if (!alerts.contains(id))
      differences.tell("alert " + id + " was raised live only");
    else if (alerts[id] != json)
      differences.tell("alert " + id + ": " + json + " became " + alerts[id]);
  for (const auto& [id, json] : alerts)
    if (!live_alerts.contains(id)) differences.tell("alert " + id + " was raised by the replay only");
  const auto& spans = analyst->detector().phases().spans();
  if (spans.size() != live_phases.size())
    differences.tell(std::to_string(live_phases.size()) + " phases became " + std::to_string(spans.size()));
  for (std::size_t i = 0; i < std::min(spans.size(), live_phases.size()); ++i)
    if (spans[i].name != live_phases[i].name || spans[i].begin != live_phases[i].begin ||
        spans[i].end != live_phases[i].end)
      differences.tell("phase " + std::to_string(i) + " differs");
  std::printf(
      "%zu reports of %zu bytes, %zu alerts, %zu phases, %llu slices shown again, %llu decisions of %llu "
      "daemons, %llu lost: %d "
      "differ\n",
      compared, bytes, live_alerts.size(), live_phases.size(),
      static_cast<unsigned long long>(result->amended), static_cast<unsigned long long>(result->decisions),
      static_cast<unsigned long long>(result->starts), static_cast<unsigned long long>(result->missing),
      differences.count);
  if (compared == 0) return complain("nothing was compared");
  return differences.count == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool spoil = argc == 4 && std::string(argv[1]) == "--spoil";
  if (argc != 3 && !spoil) return complain("usage: replay_check [--spoil] ARCHIVE COPY");
  return run(spoil, argv[argc - 2], argv[argc - 1]);
}
