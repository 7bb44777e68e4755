#include "alerts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_set>

#include "margay/text/text.h"
#include "margay/wire/alert_json.h"

namespace margay::terminal {
namespace {

using Texts = google::protobuf::RepeatedPtrField<std::string>;

constexpr const char* kWholeRun = "the run";
constexpr std::size_t kLongestText = 2000;  // columns of a sentence
constexpr int kMostPaths = 256;
constexpr int kMostStates = 64;
constexpr std::size_t kLongestId = 100;   // columns
constexpr std::size_t kLongestName = 40;  // columns, of who says something

double finite(double d) {
  return std::isfinite(d) ? d : 0.0;
}

std::string percent(double share) {
  const double p = std::clamp(share, 0.0, 1.0) * 100;
  return std::to_string(static_cast<int>(std::lround(p))) + " %";
}

std::string several(const Texts& paths, int most) {
  std::string out;
  for (int i = 0; i < paths.size() && i < most; ++i) out += (i > 0 ? ", " : "") + resource_text(paths[i]);
  if (paths.size() > most) out += " and " + std::to_string(paths.size() - most) + " more";
  return out;
}

// "MPI_Wait 31 % (usual 8 %), Compute ..." : the changes, largest first.
std::string changes(const wire::Alert& alert) {
  struct Change {
    std::string state;
    double expected, observed;
  };
  std::vector<Change> list;
  for (int i = 0; i < std::min(alert.states_size(), kMostStates); ++i) {
    const auto& s = alert.states(i);
    list.push_back({text::printable(s.state(), true, 40), finite(s.expected()), finite(s.observed())});
  }
  std::stable_sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
    return std::abs(a.observed - a.expected) > std::abs(b.observed - b.expected);
  });
  std::string out;
  for (std::size_t i = 0; i < list.size() && i < 3; ++i)
    out += (i > 0 ? ", " : "") + list[i].state + " " + percent(list[i].observed) + " (usual " +
           percent(list[i].expected) + ")";
  return out;
}

std::string compose(const wire::Alert& alert, const std::string& where) {
  const std::string change = changes(alert);
  const std::string phase = text::printable(alert.phase(), true, 20);
  std::string out;
  switch (alert.kind()) {
    case wire::Alert::SOURCE_LOST:
      out = "no events from " + where;
      break;
    case wire::Alert::LOSS:
      out = grouped(alert.lost_events()) + " events were lost; detection on these slices is marked";
      break;
    case wire::Alert::PHASE_DURATION:
      out = "phase " + phase + " has an unusual duration";
      break;
    case wire::Alert::STALL:
      out = where + " stays in a state far longer than usual";
      break;
    default:
      out = where + " departs from phase " + (phase.empty() ? std::string("?") : phase);
  }
  if (!change.empty()) out += ": " + change;
  const std::string causes = several(alert.likely_cause(), 3);
  if (!causes.empty() && causes != where) out += "; likely cause: " + causes;
  return out;
}

std::string number(double d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", d);
  return text;
}

// "rank3 on h1 (0.97), python3, pid 4242 (0.9)", the most probable.
std::string candidates(const wire::Alert& alert, int most) {
  std::string out;
  for (int i = 0; i < std::min(alert.candidates_size(), most); ++i) {
    const auto& c = alert.candidates(i);
    const bool resource = c.kind() == "resource" || c.kind() == "rank";
    out += (i > 0 ? ", " : "") + (resource ? resource_text(c.name()) : text::printable(c.name(), true, 60));
    if (c.pid() > 0 && !resource) out += ", pid " + std::to_string(c.pid());
    out += " (" + number(finite(c.probability())) + ")";
  }
  if (alert.candidates_size() > most)
    out += " and " + std::to_string(alert.candidates_size() - most) + " more";
  return out;
}

std::string details(const wire::Alert& alert) {
  std::string out;
  const auto add = [&](const std::string& line) { out += (out.empty() ? "" : "\n") + line; };
  if (alert.has_cost_s()) add("cost: " + number(finite(alert.cost_s())) + " s that the job is late");
  if (const std::string who = candidates(alert, 4); !who.empty())
    add((alert.likely_cause().empty() ? "cause unknown; candidates: " : "cause: ") + who);
  if (alert.has_false_alarms_per_day())
    add("false alarms with as much evidence: " + number(finite(alert.false_alarms_per_day())) + " a day");
  return out;
}

// By name, or by how many they are.
bool names_who(const std::string& sentence, const AlertView& a, int resources) {
  const auto says = [&](const std::string& text) { return sentence.find(text) != std::string::npos; };
  return says(a.where) || says(std::to_string(resources) + " resources") ||
         std::any_of(a.paths.begin(), a.paths.end(),
                     [&](const std::string& path) { return says(resource_text(path)); });
}

std::string id_of(const wire::Alert& alert) {
  const std::string id = text::printable(alert.id(), true, kLongestId);
  if (!id.empty()) return id;
  return std::string(wire::name_of(alert.kind())) + "@" + text::printable(alert.node(), true, 200) + "@" +
         std::to_string(alert.onset_ns());
}

// Before the id of what was said live only: a replay may give the same to another one.
const std::string kLive = "live/";

AlertView read_one(const wire::Alert& alert) {
  AlertView a;
  a.kind = wire::name_of(alert.kind());
  a.firing = !alert.resolved();
  a.onset_ns = alert.onset_ns();
  if (alert.has_end_ns()) a.end_ns = alert.end_ns();
  a.emitted_ns = alert.emitted_wall_ns();
  a.score_bits = finite(alert.score_bits());
  const auto& resources = alert.resources();
  if (alert.kind() != wire::Alert::PHASE_DURATION) {  // of no part more than of any other
    a.where = several(resources, 2);
    if (a.where.empty()) a.where = alert.node().empty() ? kWholeRun : resource_text(alert.node());
  }
  a.node = alert.node();
  a.paths.assign(resources.begin(), resources.begin() + std::min(resources.size(), kMostPaths));
  if (a.paths.empty()) a.paths.push_back(a.node);
  a.sentence = text::printable(alert.message(), true, kLongestText);
  if (a.sentence.empty()) a.sentence = text::printable(compose(alert, a.where), true, kLongestText);
  a.names_who = a.where.empty() || a.where == kWholeRun || names_who(a.sentence, a, resources.size());
  a.details = details(alert);
  a.id = id_of(alert);
  const wire::Handled& handled = alert.handled();
  a.acknowledged = handled.acknowledged();
  a.acknowledged_by = text::printable(handled.by(), true, kLongestName);
  a.comment = text::printable(handled.comment(), true, kLongestText);
  a.silenced_by = text::printable(handled.silence(), true, kLongestName);
  return a;
}

void add_said_live(const wire::WhatIf& what_if, int most, std::vector<AlertView>& out) {
  const std::unordered_set<std::string> now(what_if.only_now().begin(), what_if.only_now().end());
  for (AlertView& a : out)
    if (now.contains(a.id)) a.beside = "now only";
  for (int i = std::max(0, what_if.only_live_size() - most); i < what_if.only_live_size(); ++i) {
    AlertView a = read_one(what_if.only_live(i));
    a.id = kLive + a.id;
    a.beside = "live only";
    const auto at =
        std::find_if(out.begin(), out.end(), [&](const AlertView& o) { return o.onset_ns <= a.onset_ns; });
    out.insert(at, std::move(a));
  }
}

}  // namespace

const wire::Alert* find_alert(const wire::Report& report, const std::string& id) {
  if (id.starts_with(kLive))
    for (const wire::Alert& a : report.replay().what_if().only_live())
      if (kLive + id_of(a) == id) return &a;
  for (int i = report.alerts_size() - 1; i >= 0; --i)
    if (id_of(report.alerts(i)) == id) return &report.alerts(i);
  return nullptr;
}

std::string told_text(const AlertView& alert) {
  return alert.names_who ? alert.sentence : alert.where + ": " + alert.sentence;
}

std::string resource_text(const std::string& path) {
  std::string_view rest(path);
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  if (rest.empty()) return path.empty() ? "" : "all";
  const std::size_t last = rest.rfind('/');
  if (last == std::string_view::npos) return text::printable(rest, true, 60);
  std::string out = text::printable(rest.substr(last + 1), true, 60);
  rest = rest.substr(0, last);
  if (const std::size_t above = rest.rfind('/'); above != std::string_view::npos)
    rest = rest.substr(above + 1);
  if (!rest.empty()) out += " on " + text::printable(rest, true, 60);
  return out;
}

std::string handled_text(const AlertView& a) {
  std::string out;
  if (a.acknowledged) {
    out = "acknowledged";
    if (!a.acknowledged_by.empty()) out += " by " + a.acknowledged_by;
    if (!a.comment.empty()) out += ": " + a.comment;
  }
  if (!a.silenced_by.empty()) out += (out.empty() ? "silenced by " : "; silenced by ") + a.silenced_by;
  if (!a.beside.empty()) out += (out.empty() ? "" : "; ") + a.beside;
  return out;
}

std::string count_text(const std::vector<AlertView>& alerts, const std::string& firing) {
  std::size_t fire = 0, acknowledged = 0, silenced = 0;
  for (const AlertView& a : alerts) {
    if (!a.firing) continue;
    ++fire;
    acknowledged += a.acknowledged;
    silenced += !a.silenced_by.empty();
  }
  std::string of;
  if (acknowledged > 0) of = std::to_string(acknowledged) + " acknowledged";
  if (silenced > 0) of += (of.empty() ? "" : ", ") + std::to_string(silenced) + " silenced";
  return std::to_string(fire) + " " + firing + (of.empty() ? "" : " (" + of + ")") + ", " +
         std::to_string(alerts.size() - fire) + " resolved";
}

std::vector<AlertView> read_alerts(const wire::Report& report, int most) {
  std::vector<AlertView> out;
  std::unordered_set<std::string> seen;
  const int first = std::max(0, report.alerts_size() - most);
  for (int i = report.alerts_size() - 1; i >= first; --i)
    if (AlertView a = read_one(report.alerts(i)); seen.insert(a.id).second) out.push_back(std::move(a));
  if (report.replay().has_what_if()) add_said_live(report.replay().what_if(), most, out);
  return out;
}

}  // namespace margay::terminal
