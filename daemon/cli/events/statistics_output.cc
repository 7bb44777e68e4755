#include "statistics_output.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/text/table.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kLongestColumn = 120;
constexpr double kQuantiles[] = {0.5, 0.9, 0.99};

std::string cell(const std::string& text) {
  return text::printable(text, true, kLongestColumn);
}
std::string duration(double ns) {
  return text::short_duration_text(std::llround(ns));
}

}  // namespace

std::string statistics_table(const EventStatistics& statistics, bool messages, TimeNs zero, double seconds) {
  const std::vector<EventSummary> all = statistics.summaries();
  if (all.empty()) return "";
  const bool names = !all.front().name.empty(), resources = !all.front().resource.empty();
  std::vector<std::string> head;
  if (names) head.emplace_back(messages ? "from" : "what");
  if (resources) head.emplace_back(messages ? "to" : "resource");
  head.emplace_back(">count");
  if (!messages) head.emplace_back(">total");
  if (seconds > 0) head.emplace_back(">share");
  for (const char* h : {">bytes", ">mean", ">median", ">99 %", ">longest", ">from s"}) head.emplace_back(h);
  if (!resources) head.emplace_back("of");
  text::Table table(head);
  // Of all who are listed, or of the one that the row is about.
  const double of = seconds * (resources ? 1 : static_cast<double>(statistics.resources()));
  for (const EventSummary& s : all) {
    std::vector<std::string> row;
    if (names) row.push_back(cell(s.name));
    if (resources) row.push_back(cell(s.resource));
    row.push_back(grouped(s.lengths.count() + s.untimed));
    if (!messages) row.push_back(duration(static_cast<double>(s.total.value)));
    if (seconds > 0) {
      char share[32];
      std::snprintf(share, sizeof share, "%.1f %%", 100 * static_cast<double>(s.total.value) * 1e-9 / of);
      row.emplace_back(share);
    }
    const bool timed = s.lengths.count() > 0, single = s.lengths.single() > 0;
    row.push_back(s.bytes > 0 ? text::size_text(s.bytes) : "");
    row.push_back(timed ? duration(s.lengths.mean()) : "?");
    for (const double q : {0.5, 0.99})
      row.push_back(single ? duration(static_cast<double>(s.lengths.quantile(q))) : "?");
    row.push_back(timed ? duration(static_cast<double>(s.longest.value)) : "?");
    row.push_back(timed ? text::seconds_text(text::minus(s.longest_begin.value, zero.value)) : "");
    if (!resources) row.push_back(cell(s.longest_resource));
    table.add(row);
  }
  return table.text();
}

const Table& statistics_columns() {
  using Kind = Column::Kind;
  static const Table table = {"statistics",
                              {{"name", Kind::kText},
                               {"resource", Kind::kText},
                               {"count", Kind::kInteger},
                               {"total_ns", Kind::kInteger},
                               {"bytes", Kind::kInteger},
                               {"mean_ns", Kind::kReal},
                               {"deviation_ns", Kind::kReal},
                               {"median_ns", Kind::kInteger},
                               {"q90_ns", Kind::kInteger},
                               {"q99_ns", Kind::kInteger},
                               {"longest_ns", Kind::kInteger},
                               {"longest_begin_s", Kind::kMoment},
                               {"longest_resource", Kind::kText},
                               {"single", Kind::kInteger},
                               {"untimed", Kind::kInteger},
                               {"shortest_ns", Kind::kInteger}},
                              {"resource", "name"}};
  return table;
}

void statistics_fields(const EventSummary& s, Row& to) {
  to.clear();
  to.emplace_back(s.name);
  to.emplace_back(s.resource);
  to.emplace_back(s.lengths.count() + s.untimed);
  to.emplace_back(s.total.value);
  to.emplace_back(s.bytes);
  to.emplace_back(s.lengths.mean());
  to.emplace_back(s.lengths.deviation());
  for (const double q : kQuantiles) to.emplace_back(s.lengths.quantile(q));
  to.emplace_back(s.longest.value);
  to.emplace_back(s.longest_begin);
  to.emplace_back(s.longest_resource);
  to.emplace_back(s.lengths.single());
  to.emplace_back(s.untimed);
  to.push_back(field_if(s.lengths.single() > 0, s.lengths.quantile(0)));
}

std::string statistics_csv(const std::vector<EventSummary>& summaries, TimeNs zero) {
  std::string out = csv_head(statistics_columns());
  Row row;
  for (const EventSummary& s : summaries) {
    statistics_fields(s, row);
    out += csv_line(statistics_columns(), row, zero);
  }
  return out;
}

std::string statistics_json(const std::vector<EventSummary>& summaries, TimeNs zero) {
  std::string out;
  for (const EventSummary& s : summaries) {
    nlohmann::ordered_json j;
    if (!s.name.empty()) j["name"] = clean_utf8(s.name);
    if (!s.resource.empty()) j["resource"] = clean_utf8(s.resource);
    j["count"] = s.lengths.count() + s.untimed;
    j["total_ns"] = s.total.value;
    j["bytes"] = s.bytes;
    j["mean_ns"] = s.lengths.mean();
    j["deviation_ns"] = s.lengths.deviation();
    j["median_ns"] = s.lengths.quantile(0.5);
    j["q90_ns"] = s.lengths.quantile(0.9);
    j["q99_ns"] = s.lengths.quantile(0.99);
    j["longest_ns"] = s.longest.value;
    j["longest_begin_ns"] = text::minus(s.longest_begin.value, zero.value);
    j["longest_resource"] = clean_utf8(s.longest_resource);
    j["single"] = s.lengths.single();
    if (s.untimed > 0) j["untimed"] = s.untimed;
    out += j.dump() + "\n";
  }
  return out;
}

}  // namespace margay::daemon
