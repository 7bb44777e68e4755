#include "archive_output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/settings/units.h"
#include "margay/text/table.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

using nlohmann::json;
using text::duration_text;
using text::size_text;

constexpr std::size_t kWidest = 60;

std::string safe(const std::string& text, std::size_t columns = kWidest) {
  return text::shortened(text::printable(text, true, 4 * columns), columns);
}

std::string count(std::size_t n, const char* one, const char* more) {
  return grouped(n) + " " + (n == 1 ? one : more);
}

// "ended with 0", "not ended": whether the run came to its end while it was watched.
std::string state_text(const store::RunMeta& run) {
  if (!run.end) return "not ended";
  return run.exit_code ? "ended with " + std::to_string(*run.exit_code) : "ended";
}

TimeNs end_of(const ArchiveFacts& f) {
  return f.run.end ? *f.run.end : f.until;
}

std::size_t alert_count(const ArchiveFacts& f) {
  std::size_t n = 0;
  for (const auto& [status, some] : f.alerts) n += some;
  return n;
}

// Of the slices from the level's oldest to its newest, those that are not there, for nobody watched.
std::int64_t unwatched(const ArchiveFacts& f, const ArchiveFacts::Level& level) {
  std::int64_t sum = 0;
  for (const auto& [from, to] : f.gaps) {
    const std::int64_t first =
        std::max(level.kept->first.value, slice_of(from - DurationNs(1), level.slice).value + 1);
    const std::int64_t end = std::min(level.kept->second.value, slice_of(to, level.slice).value);
    if (first < end) sum = text::plus(sum, text::minus(end, first));
  }
  return sum;
}

json facts_json(const ArchiveFacts& f) {
  json levels = json::array();
  for (const auto& level : f.levels) {
    json one = {{"slice_ns", level.slice.value}};
    if (level.kept) one["first"] = level.kept->first.value, one["last"] = level.kept->second.value;
    levels.push_back(std::move(one));
  }
  const auto op = f.run.settings.find(store::kOperatorSetting);
  json states = json::array(), phases = json::array();
  for (const std::string& s : f.states) states.push_back(clean_utf8(s));
  for (const std::string& p : f.phase_names) phases.push_back(clean_utf8(p));
  json out = {{"path", clean_utf8(f.path)},
              {"run", clean_utf8(f.run.run)},
              {"command", clean_utf8(f.run.command)},
              {"host", clean_utf8(f.run.host)},
              {"margay_version", clean_utf8(f.run.margay_version)},
              {"begin_ns", f.run.begin.value},
              {"until_ns", f.until.value},
              {"levels", levels},
              {"leaves", f.leaves},
              {"sources", f.sources},
              {"operator", op != f.run.settings.end() ? clean_utf8(op->second) : "duration"},
              {"states", states},
              {"phases", f.phases},
              {"phase_names", phases},
              {"alerts", f.alerts},
              {"bytes", f.bytes},
              {"events",
               {{"produced", f.events.produced},
                {"modelled", f.events.modelled},
                {"late_dropped", f.events.late_dropped},
                {"probe_dropped", f.events.probe_dropped},
                {"wire_lost", f.events.wire_lost},
                {"rejected", f.events.rejected}}}};
  out["processes_unwatched"] = f.unwatched;
  out["unwatched_why"] = f.unwatched_why;
  json gaps = json::array();
  for (const auto& [from, to] : f.gaps) gaps.push_back({{"from_ns", from.value}, {"to_ns", to.value}});
  out["not_watched"] = gaps;
  out["cells"] = f.compact ? "compact" : "exact";
  if (f.newest)
    out["newest_cells"] = {
        {"slices", f.newest->slices}, {"cells", f.newest->cells}, {"bytes", f.newest->bytes}};
  if (f.run.end) out["end_ns"] = f.run.end->value;
  if (f.run.exit_code) out["exit_code"] = *f.run.exit_code;
  if (f.raw_from) {
    out["raw_from_ns"] = f.raw_from->value;
    out["raw_resolution_ns"] = f.raw_resolution.value;
  }
  return out;
}

}  // namespace

std::string list_text(const std::vector<ListedArchive>& archives) {
  if (archives.empty()) return "no archives here; margay run makes one, archive ls DIR looks elsewhere\n";
  text::Table table({"archive", "run", "began", ">lasted", ">leaves", ">alerts", ">size", "state"});
  for (const ListedArchive& a : archives) {
    if (!a.facts) {
      table.add({safe(a.path), "", "", "", "", "", "", safe(a.problem, 100)});
      continue;
    }
    const ArchiveFacts& f = *a.facts;
    table.add({safe(a.path), safe(f.run.run, 30), text::date_text(f.run.begin),
               duration_text(text::minus(end_of(f).value, f.run.begin.value)), grouped(f.leaves),
               grouped(alert_count(f)), size_text(f.bytes), state_text(f.run)});
  }
  return table.text();
}

std::string list_json(const std::vector<ListedArchive>& archives) {
  json all = json::array();
  for (const ListedArchive& a : archives)
    all.push_back(a.facts ? facts_json(*a.facts)
                          : json{{"path", clean_utf8(a.path)}, {"problem", clean_utf8(a.problem)}});
  return all.dump(2) + "\n";
}

std::string info_text(const ArchiveFacts& f) {
  text::Table table({"", ""});
  const auto line = [&table](const char* what, std::string text) { table.add({what, std::move(text)}); };
  line("run", safe(f.run.run) + ", " + state_text(f.run));
  line("command", safe(f.run.command, 100));
  line("host", safe(f.run.host) + ", Margay " + safe(f.run.margay_version, 20));
  line("began", text::date_text(f.run.begin) + ", lasted " +
                    duration_text(text::minus(end_of(f).value, f.run.begin.value)));
  line("leaves", grouped(f.leaves) + " of " + count(f.sources, "source", "sources"));
  std::string states;
  for (const std::string& s : f.states) states += (states.empty() ? "" : ", ") + s;
  line("states", std::to_string(f.states.size()) + ": " + safe(states, 100));
  std::string names;
  for (const std::string& p : f.phase_names) names += (names.empty() ? "" : ", ") + p;
  if (const auto op = f.run.settings.find(store::kOperatorSetting); op != f.run.settings.end())
    line("operator", safe(op->second, 100));
  line("phases", grouped(f.phases) + (names.empty() ? "" : ": " + safe(names, 100)));
  std::string alerts;
  for (const auto& [status, n] : f.alerts) alerts += ", " + grouped(n) + " " + safe(status, 20);
  line("alerts", grouped(alert_count(f)) + alerts);
  const store::StreamRecord& e = f.events;
  const std::uint64_t lost = e.late_dropped + e.probe_dropped + e.wire_lost + e.rejected;
  line("events", grouped(e.produced) + " produced, " + grouped(e.modelled) + " modelled, " +
                     (lost == 0 ? f.unwatched == 0 ? "none lost" : "none lost of those that were watched"
                                : grouped(lost) + " lost: " + grouped(e.probe_dropped) + " dropped, " +
                                      grouped(e.wire_lost) + " on the way, " + grouped(e.late_dropped) +
                                      " too late, " + grouped(e.rejected) + " rejected"));
  if (f.unwatched > 0)
    line("not watched",
         count(f.unwatched, "process", "processes") + ", or not to the end: " + f.unwatched_why);
  if (!f.gaps.empty()) {
    std::int64_t all = 0;
    for (const auto& [from, to] : f.gaps) all = text::plus(all, text::minus(to.value, from.value));
    const auto& [from, to] = f.gaps.back();
    line("not watched", count(f.gaps.size(), "time", "times") + ", " + duration_text(all) +
                            " in all: " + (f.gaps.size() == 1 ? "from " : "the last from ") +
                            text::date_text(from) + " to " + text::date_text(to) + ", the daemon was away");
  }
  for (std::size_t i = 0; i < f.levels.size(); ++i) {
    const auto& level = f.levels[i];
    std::string text = "slices of " + text::slice_text(level.slice.value) + ": ";
    if (!level.kept) {
      text += "none";
    } else {
      const std::int64_t slices =
          text::plus(text::minus(level.kept->second.value, level.kept->first.value), 1);
      text += grouped(static_cast<std::uint64_t>(text::minus(slices, unwatched(f, level)))) + ", the last " +
              duration_text(text::times(slices, level.slice.value));
    }
    line(("level " + std::to_string(i)).c_str(), text);
  }
  std::string cells =
      f.compact ? "compact: durations to a hundredth of a slice (store.cells)" : "exact to the nanosecond";
  if (f.newest && f.newest->cells != 0) {
    char each[32];
    std::snprintf(each, sizeof each, "%.2f",
                  static_cast<double>(f.newest->bytes) / static_cast<double>(f.newest->cells));
    cells +=
        std::string("; ") + each + " bytes each in the newest " + count(f.newest->slices, "slice", "slices");
  }
  line("cells", cells);
  line("raw events", f.raw_from ? "from " + text::date_text(*f.raw_from) + " on, times " +
                                      (f.raw_resolution > DurationNs(1)
                                           ? "rounded down to " + config::to_text(f.raw_resolution)
                                           : "exact to 1ns")
                                : "none kept");
  line("size", size_text(f.bytes));
  const std::string text = table.text();
  return text.substr(text.find('\n') + 1);  // its head is empty
}

std::string info_json(const ArchiveFacts& facts) {
  return facts_json(facts).dump(2) + "\n";
}

std::string check_text(const std::string& path, const ArchiveCheck& c) {
  std::string out = safe(path) + ": " + grouped(c.slices) + " slices with " + grouped(c.cells) + " cells, " +
                    grouped(c.raw_events) + " raw events, " + grouped(c.reports) +
                    " reports: " + (c.damages == 0 ? "whole" : grouped(c.damages) + " DAMAGED") + "\n";
  for (const std::string& d : c.damaged) out += "  " + safe(d, 200) + "\n";
  if (c.damages > c.damaged.size()) out += "  and " + grouped(c.damages - c.damaged.size()) + " more\n";
  return out;
}

std::string check_json(const std::string& path, const ArchiveCheck& c) {
  json damaged = json::array();
  for (const std::string& d : c.damaged) damaged.push_back(clean_utf8(d));
  return json{{"path", clean_utf8(path)},   {"slices", c.slices},         {"cells", c.cells},
              {"raw_blocks", c.raw_blocks}, {"raw_events", c.raw_events}, {"reports", c.reports},
              {"damages", c.damages},       {"damaged", damaged}}
             .dump(2) +
         "\n";
}

}  // namespace margay::daemon
