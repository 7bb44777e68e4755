#include "alerts.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "margay/text/text.h"

namespace margay::terminal {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestAlert = std::size_t{256} * 1024;  // bytes of JSON
constexpr std::size_t kLongestText = 2000;                      // columns of a sentence
constexpr std::size_t kMostPaths = 256;
constexpr std::size_t kLongestId = 100;   // columns
constexpr std::size_t kLongestName = 40;  // columns, of who says something

const json* member(const json& j, const char* key) {
  const auto it = j.find(key);
  return it == j.end() ? nullptr : &*it;
}
std::string text(const json& j, const char* key) {
  const json* m = member(j, key);
  return m != nullptr && m->is_string() ? m->get<std::string>() : std::string();
}
double number(const json& j, const char* key) {
  const json* m = member(j, key);
  const double d = m != nullptr && m->is_number() ? m->get<double>() : 0.0;
  return std::isfinite(d) ? d : 0.0;
}
std::optional<std::int64_t> time(const json& j, const char* key) {
  const json* m = member(j, key);
  if (m == nullptr || !m->is_number()) return std::nullopt;
  if (m->is_number_integer()) return m->get<std::int64_t>();
  const double d = m->get<double>();
  if (!(std::abs(d) < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(d);
}
std::vector<std::string> texts(const json& j, const char* key) {
  std::vector<std::string> out;
  const json* m = member(j, key);
  if (m == nullptr || !m->is_array()) return out;
  for (const json& e : *m)
    if (e.is_string() && out.size() < kMostPaths) out.push_back(e.get<std::string>());
  return out;
}
std::size_t count(const json& j, const char* key) {
  const json* m = member(j, key);
  return m != nullptr && m->is_array() ? m->size() : 0;
}

std::string percent(double share) {
  const double p = std::clamp(share, 0.0, 1.0) * 100;
  return std::to_string(static_cast<int>(std::lround(p))) + " %";
}

std::string several(const std::vector<std::string>& paths, std::size_t all, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < paths.size() && i < most; ++i)
    out += (i > 0 ? ", " : "") + resource_text(paths[i]);
  if (all > most) out += " and " + std::to_string(all - most) + " more";
  return out;
}

// "MPI_Wait 31 % (usual 8 %), Compute ..." : the changes, largest first.
std::string changes(const json& j) {
  struct Change {
    std::string state;
    double expected, observed;
  };
  std::vector<Change> list;
  if (const json* states = member(j, "states"); states != nullptr && states->is_array())
    for (const json& s : *states)
      if (s.is_object() && list.size() < 64)
        list.push_back({printable(text(s, "state"), true, 40), number(s, "expected"), number(s, "observed")});
  std::stable_sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
    return std::abs(a.observed - a.expected) > std::abs(b.observed - b.expected);
  });
  std::string out;
  for (std::size_t i = 0; i < list.size() && i < 3; ++i)
    out += (i > 0 ? ", " : "") + list[i].state + " " + percent(list[i].observed) + " (usual " +
           percent(list[i].expected) + ")";
  return out;
}

std::string compose(const json& j, const std::string& kind, const std::string& where) {
  const std::string change = changes(j);
  const std::string phase = printable(text(j, "phase"), true, 20);
  std::string out;
  if (kind == "source_lost") {
    out = "nothing is heard of " + where;
  } else if (kind == "loss") {
    out = grouped(static_cast<std::uint64_t>(std::clamp(number(j, "lost_events"), 0.0, 1e18))) +
          " events were lost; detection on these slices is marked";
  } else if (kind == "phase_change") {
    out = phase.empty() ? "another phase begins" : "phase " + phase + " begins";
  } else if (kind == "phase_duration") {
    out = "phase " + phase + " has an unusual duration";
  } else if (kind == "stall") {
    out = where + " stays in a state far longer than usual";
  } else {
    out = where + " departs from phase " + (phase.empty() ? std::string("?") : phase);
  }
  if (!change.empty()) out += ": " + change;
  const auto cause = texts(j, "likely_cause");
  const std::string causes = several(cause, count(j, "likely_cause"), 3);
  if (!causes.empty() && causes != where) out += "; likely cause: " + causes;
  return out;
}

AlertView unreadable(const std::string& raw, std::int64_t at_ns) {
  AlertView a;
  a.id = "?" + std::to_string(std::hash<std::string_view>{}(raw));
  a.kind = "unreadable";
  a.readable = false;
  a.firing = false;
  a.onset_ns = a.emitted_ns = at_ns;
  a.sentence = "an alert that this version cannot read: " + printable(raw, true, 60);
  return a;
}

AlertView read_one(const std::string& raw, std::int64_t at_ns) {
  if (raw.size() > kLongestAlert) return unreadable(raw.substr(0, 100), at_ns);
  const json j = json::parse(raw, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object()) return unreadable(raw, at_ns);
  AlertView a;
  a.kind = printable(text(j, "kind"), true, 30);
  a.firing = text(j, "status") != "resolved";
  a.onset_ns = time(j, "onset_ns").value_or(at_ns);
  a.end_ns = time(j, "end_ns");
  a.emitted_ns = time(j, "emitted_wall_ns").value_or(a.onset_ns);
  a.score_bits = number(j, "score_bits");
  const std::string node = text(j, "node");
  const auto resources = texts(j, "resources");
  a.where = several(resources, count(j, "resources"), 2);
  if (a.kind == "phase_duration")
    a.where.clear();  // of no part more than of any other
  else if (a.where.empty())
    a.where = node.empty() ? "the run" : resource_text(node);
  a.node = node;
  a.paths = resources;
  if (a.paths.empty()) a.paths.push_back(node);
  a.sentence = printable(text(j, "message"), true, kLongestText);
  if (a.sentence.empty()) a.sentence = printable(compose(j, a.kind, a.where), true, kLongestText);
  a.id = printable(text(j, "id"), true, kLongestId);
  if (a.id.empty()) a.id = a.kind + "@" + printable(node, true, 200) + "@" + std::to_string(a.onset_ns);
  return a;
}

}  // namespace

std::string resource_text(const std::string& path) {
  std::string_view rest(path);
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  if (rest.empty()) return path.empty() ? "" : "all";
  const std::size_t last = rest.rfind('/');
  if (last == std::string_view::npos) return printable(rest, true, 60);
  std::string out = printable(rest.substr(last + 1), true, 60);
  rest = rest.substr(0, last);
  if (const std::size_t above = rest.rfind('/'); above != std::string_view::npos)
    rest = rest.substr(above + 1);
  if (!rest.empty()) out += " on " + printable(rest, true, 60);
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
  std::unordered_map<std::string, const wire::HandledAlert*> handled;
  for (const auto& h : report.handled()) handled.emplace(printable(h.id(), true, kLongestId), &h);
  std::unordered_set<std::string> seen;
  const int first = std::max(0, report.alerts_size() - most);
  for (int i = report.alerts_size() - 1; i >= first; --i) {
    AlertView a = read_one(report.alerts(i), report.watermark_ns());
    if (!seen.insert(a.id).second) continue;
    if (const auto h = handled.find(a.id); h != handled.end()) {
      a.acknowledged = h->second->acknowledged();
      a.acknowledged_by = printable(h->second->by(), true, kLongestName);
      a.comment = printable(h->second->comment(), true, kLongestText);
      a.silenced_by = printable(h->second->silence(), true, kLongestName);
    }
    out.push_back(std::move(a));
  }
  return out;
}

}  // namespace margay::terminal
