#include "compare/compare_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/text/table.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

using compare::Change;

constexpr std::size_t kWidestName = 60;
constexpr std::size_t kMostOfMachine = 4;
constexpr std::size_t kMostLines = 40;  // of what changed

std::string safe(const std::string& text) {
  return text::shortened(text::printable(text, true, 4 * kWidestName), kWidestName);
}

std::string number(double x, const char* format) {
  char out[48];
  std::snprintf(out, sizeof out, format, x);
  return out;
}

// Three digits, and no more than a millisecond.
std::string seconds_of(double s, bool sign = false) {
  const double size = std::fabs(s);
  const char* const format = size >= 100  ? (sign ? "%+.0f s" : "%.0f s")
                             : size >= 10 ? (sign ? "%+.1f s" : "%.1f s")
                             : size >= 1  ? (sign ? "%+.2f s" : "%.2f s")
                                          : (sign ? "%+.3f s" : "%.3f s");
  return number(s, format);
}

std::string percent_of(double part) {
  return number(100 * part, std::fabs(part) < 0.0995 ? "%+.1f %%" : "%+.0f %%");
}

class Words {
 public:
  explicit Words(const ComparedRuns& c) : c_(c) {}

  std::string measure(const Change& c) const {
    return c.state < 0 ? "time" : safe(c_.states[static_cast<std::size_t>(c.state)]);
  }
  std::string amount(double x) const {
    return c_.per == compare::Per::kRun ? seconds_of(x) : number(100 * x, "%.2f %%");
  }
  // "+5.0 % (+4.4 to +5.6)"; of what there was none of, in seconds or points.
  std::string typical(const Change& c) const {
    if (c.of > 0)
      return percent_of(c.part(c.typical)) + " (" + number(100 * c.part(c.low), "%+.1f") + " to " +
             number(100 * c.part(c.high), "%+.1f") + ")";
    return c_.per == compare::Per::kRun ? seconds_of(c.typical, true)
                                        : number(100 * c.typical, "%+.2f points");
  }
  // ", +5.0 % beside the others", of some.
  std::string beside(const Change& c) const {
    if (c.resources.empty() || c.apart == 0 || !(c.of > 0)) return "";
    return ", " + percent_of(c.part(c.apart)) + " beside the others";
  }
  bool is_told(const Change& c) const {
    return std::any_of(c_.changes.told.begin(), c_.changes.told.end(), [&](const Change& t) {
      return t.phase == c.phase && t.state == c.state && t.resources == c.resources;
    });
  }
  // "phase B: Compute of rank3: 15.1 s, then 15.9 s: +5.0 % (+4.4 to +5.6)".
  std::string sentence(const Change& c) const {
    const std::string where = c_.where(c.resources);
    return (c.phase == 0 ? "the run" : "phase " + safe(c_.phases[c.phase])) + ": " + measure(c) +
           (where.empty() ? "" : " of " + where) + ": " + amount(c.a) + ", then " + amount(c.b) +
           (c.known ? ": " + typical(c) : "") + beside(c);
  }

 private:
  const ComparedRuns& c_;
};

std::string heads(const ComparedRuns& c) {
  text::Table table({"", "run", ">duration", ">resources", ">calls"});
  for (std::size_t r = 0; r < c.runs.size(); ++r) {
    const ComparedRuns::OfRun& run = c.runs[r];
    const std::string letter = r + 1 == c.runs.size() ? "B"
                               : c.runs.size() == 2   ? "A"
                                                      : "A" + std::to_string(r + 1);
    table.add({letter, safe(run.name), seconds_of(run.seconds), grouped(run.resources),
               grouped(static_cast<std::uint64_t>(run.calls))});
  }
  return table.text();
}

std::string phases_table(const ComparedRuns& c, const Words& words) {
  text::Table table({"phase", ">A", ">B", ">B - A", "typically (95 % within)", ""});
  for (const Change& change : c.changes.overall) {
    if (change.state >= 0) continue;
    const bool only_a = change.b <= 0 && change.a > 0, only_b = change.a <= 0 && change.b > 0;
    table.add({safe(c.phases[change.phase]), seconds_of(change.a), seconds_of(change.b),
               seconds_of(change.change(), true), change.known ? words.typical(change) : "",
               only_a                  ? "only in A"
               : only_b                ? "only in B"
               : !change.known         ? "too short to say"
               : words.is_told(change) ? "sure"
                                       : "as usual"});
  }
  return table.text();
}

std::string silence(const ComparedRuns& c, const Words& words) {
  std::string out = "Nothing differs for sure.";
  for (const Change& change : c.changes.overall) {
    if (change.phase != 0 || !change.known || change.a <= 0) continue;
    if (change.state >= 0 && c.per == compare::Per::kRun) continue;
    const double least = std::max({change.least_told, c.options.least_of_phase * change.a,
                                   c.options.least_of_itself * std::max(change.a, change.b)});
    out += " A change of " + words.measure(change) + " by " + number(100 * change.part(least), "%.1f") +
           " % would have been reported.";
    break;
  }
  return out + "\n";
}

nlohmann::json json_of(const ComparedRuns& c, const Change& change) {
  nlohmann::json out = {
      {"phase", c.phases[change.phase]},
      {"measure", change.state < 0 ? "time" : c.states[static_cast<std::size_t>(change.state)]},
      {"a", change.a},
      {"b", change.b},
      {"change", change.change()}};
  if (change.known) {
    out["typical"] = change.typical, out["of"] = change.of;
    out["low"] = change.low, out["high"] = change.high;
    out["chance"] = change.chance;
    out["least_told"] = change.least_told;
  }
  if (change.resources.empty()) return out;
  nlohmann::json resources = nlohmann::json::array();
  for (const std::uint32_t r : change.resources) resources.push_back(c.resources[r]);
  out["resources"] = std::move(resources);
  out["where"] = c.where(change.resources);
  out["apart"] = change.apart;
  return out;
}

const char* verdict_word(compare::Verdict v) {
  return v == compare::Verdict::kYes ? "yes" : v == compare::Verdict::kPerhaps ? "perhaps" : "no";
}

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : clean_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string comparison_text(const ComparedRuns& c, const std::vector<JudgedRule>& rules) {
  const Words words(c);
  std::string out = heads(c);
  out += c.same_work ? "They make the same calls: compared is the time that the same work took.\n"
                     : "They do not make the same calls: phases that are alike are compared.\n";
  for (const std::string& n : c.notes) out += text::printable(n) + "\n";
  if (c.per == compare::Per::kRun) out += "\n" + phases_table(c, words);
  out += "\n";
  if (c.changes.told.empty()) {
    out += silence(c, words);
  } else {
    out += c.per == compare::Per::kRun
               ? "What changed, for sure; seconds of each resource, the most costly first:\n"
               : "What changed, for sure; parts of each resource's time, the greatest first:\n";
    for (std::size_t i = 0; i < c.changes.told.size() && i < kMostLines; ++i)
      out += "  " + words.sentence(c.changes.told[i]) + "\n";
    if (c.changes.told.size() > kMostLines)
      out += "  and " + grouped(c.changes.told.size() - kMostLines) + " more: --json has all\n";
  }
  if (!c.changes.machine.empty()) {
    out += "The machine was not the same: how long resources were ready and did not get a CPU:\n";
    for (std::size_t i = 0; i < c.changes.machine.size() && i < kMostOfMachine; ++i)
      out += "  " + words.sentence(c.changes.machine[i]) + "\n";
    if (c.changes.machine.size() > kMostOfMachine)
      out += "  and " + grouped(c.changes.machine.size() - kMostOfMachine) + " more: --json has all\n";
  }
  for (const JudgedRule& r : rules) {
    out += std::string(r.judged.verdict == compare::Verdict::kYes ? "FAILED" : "ok") + "  --fail-if '" +
           text::printable(r.rule.text) + "'";
    if (r.judged.verdict == compare::Verdict::kPerhaps) out += ", though it may be";
    if (!r.judged.because.empty() && r.judged.verdict != compare::Verdict::kNo)
      out += ": " + words.sentence(r.judged.because.front());
    out += "\n";
  }
  return out;
}

std::string comparison_json(const ComparedRuns& c, const std::vector<JudgedRule>& rules) {
  nlohmann::json runs = nlohmann::json::array(), phases = nlohmann::json::array(),
                 measures = nlohmann::json::array(), told = nlohmann::json::array(),
                 machine = nlohmann::json::array(), judged = nlohmann::json::array();
  for (const ComparedRuns::OfRun& run : c.runs)
    runs.push_back({{"run", run.name},
                    {"seconds", run.seconds},
                    {"calls", run.calls},
                    {"resources", run.resources},
                    {"unknown", run.unknown},
                    {"live", run.live},
                    {"phase_seconds", run.phase_seconds}});
  for (const Change& change : c.changes.overall) measures.push_back(json_of(c, change));
  for (const Change& change : c.changes.told) told.push_back(json_of(c, change));
  for (const Change& change : c.changes.machine) machine.push_back(json_of(c, change));
  for (const JudgedRule& r : rules) {
    nlohmann::json because = nlohmann::json::array();
    for (const Change& change : r.judged.because) because.push_back(json_of(c, change));
    judged.push_back(
        {{"rule", r.rule.text}, {"holds", verdict_word(r.judged.verdict)}, {"because", because}});
  }
  const nlohmann::json out = {{"version", 1},
                              {"runs", std::move(runs)},
                              {"aligned_by", c.same_work ? "work" : "likeness"},
                              {"per", c.per == compare::Per::kRun ? "run" : "second"},
                              {"phases", c.phases},
                              {"notes", c.notes},
                              {"looked_at", c.changes.looked_at},
                              {"measures", std::move(measures)},
                              {"changes", std::move(told)},
                              {"machine", std::move(machine)},
                              {"rules", std::move(judged)}};
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string comparison_junit(const ComparedRuns& c, const std::vector<JudgedRule>& rules) {
  const Words words(c);
  const auto failures = std::count_if(rules.begin(), rules.end(), [](const JudgedRule& r) {
    return r.judged.verdict == compare::Verdict::kYes;
  });
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"margay compare\" tests=\"" +
      std::to_string(rules.size()) + "\" failures=\"" + std::to_string(failures) + "\">\n";
  for (const JudgedRule& r : rules) {
    out += "  <testcase classname=\"" + xml(c.runs.back().name) + "\" name=\"" + xml(r.rule.text) + "\">\n";
    std::string because;
    for (const Change& change : r.judged.because) because += words.sentence(change) + "\n";
    if (r.judged.verdict == compare::Verdict::kYes)
      out += "    <failure message=\"" + xml(because.substr(0, because.find('\n'))) + "\">" + xml(because) +
             "</failure>\n";
    else if (!because.empty())
      out += "    <system-out>" + xml(because) + "</system-out>\n";
    out += "  </testcase>\n";
  }
  return out + "</testsuite>\n";
}

}  // namespace margay::daemon
