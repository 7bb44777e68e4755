#include "events_output.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "margay/base/text.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

using trace::Occurrence;

constexpr std::size_t kLongestName = 120;  // columns

const char* kind_name(Occurrence::Kind kind) {
  switch (kind) {
    case Occurrence::Kind::kState:
      return "state";
    case Occurrence::Kind::kRegion:
      return "region";
    case Occurrence::Kind::kVariable:
      return "variable";
    case Occurrence::Kind::kMark:
      return "mark";
    case Occurrence::Kind::kLinkBegin:
      return "link_begin";
    case Occurrence::Kind::kLinkEnd:
      return "link_end";
  }
  return "?";
}

bool lasts(const Occurrence& o) {
  return o.kind == Occurrence::Kind::kState || o.kind == Occurrence::Kind::kRegion;
}

std::optional<double> value_of(const Occurrence& o) {
  if (o.kind != Occurrence::Kind::kVariable) return {};
  const auto value = std::bit_cast<double>(o.bytes);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool carries(const Occurrence& o) {
  return o.kind != Occurrence::Kind::kVariable && o.bytes != 0;
}

// With whom, how much, how many: what a person wants to know of it.
std::string details(const Occurrence& o) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (const auto value = value_of(o)) {
    char text[32];
    std::snprintf(text, sizeof text, "= %.6g", *value);
    add(text);
  }
  if (o.kind == Occurrence::Kind::kState && o.name == kUnknown.value) add("events are missing");
  if (o.peer != MARGAY_NO_PEER)
    add("rank " + std::to_string(o.peer) + (o.comm != 0 ? " of communicator " + std::to_string(o.comm) : ""));
  if (carries(o)) add(text::size_text(o.bytes));
  if (o.tag != MARGAY_NO_TAG) add((lasts(o) ? "tag " : "link ") + std::to_string(o.tag));
  if (o.calls != 1)
    add(grouped(o.calls) + " calls, the longest " + text::short_duration_text(o.longest.value));
  if (o.begun_before) add("began before");
  if (o.goes_on) add("goes on");
  return out;
}

}  // namespace

EventsTable::EventsTable(TimeNs zero)
    : zero_(zero), table_({">begin s", ">duration", "resource", "what", "details"}) {}

void EventsTable::add(const EventRow& row) {
  const Occurrence& o = row.what;
  table_.add(
      {text::seconds_text(text::minus(o.begin.value, zero_.value)),
       lasts(o) ? text::short_duration_text((o.end - o.begin).value) : "",
       text::printable(row.resource, true, kLongestName),
       std::string(2 * std::size_t{o.depth}, ' ') + text::printable(row.name.shown(), true, kLongestName),
       details(o)});
}

const Table& events_columns() {
  using Kind = Column::Kind;
  static const Table table = {"events",
                              {{"begin_s", Kind::kMoment},
                               {"duration_ns", Kind::kInteger},
                               {"kind", Kind::kText},
                               {"resource", Kind::kText},
                               {"name", Kind::kText},
                               {"depth", Kind::kInteger},
                               {"calls", Kind::kInteger},
                               {"longest_ns", Kind::kInteger},
                               {"bytes", Kind::kInteger},
                               {"peer", Kind::kInteger},
                               {"tag", Kind::kInteger},
                               {"communicator", Kind::kInteger},
                               {"value", Kind::kReal},
                               {"began_before", Kind::kYesNo},
                               {"goes_on", Kind::kYesNo}},
                              {"begin_s", "resource, begin_s"}};
  return table;
}

void event_fields(const EventRow& row, Row& to) {
  const Occurrence& o = row.what;
  const auto value = value_of(o);
  const bool peer = o.peer != MARGAY_NO_PEER;
  to.clear();
  to.emplace_back(o.begin);
  to.emplace_back((o.end - o.begin).value);
  to.emplace_back(std::string(kind_name(o.kind)));
  to.emplace_back(row.resource);
  to.emplace_back(row.name.shown());
  to.emplace_back(std::int64_t{o.depth});
  to.emplace_back(o.calls);
  to.push_back(field_if(o.calls != 1, o.longest.value));
  to.push_back(field_if(carries(o), o.bytes));
  to.push_back(field_if(peer, std::int64_t{o.peer}));
  to.push_back(field_if(o.tag != MARGAY_NO_TAG, std::int64_t{o.tag}));
  to.push_back(field_if(peer, std::int64_t{o.comm}));
  to.push_back(field_if(value.has_value(), value.value_or(0)));
  to.emplace_back(o.begun_before);
  to.emplace_back(o.goes_on);
}

std::string event_json(const EventRow& row, TimeNs zero) {
  const Occurrence& o = row.what;
  nlohmann::ordered_json j;
  j["begin_ns"] = text::minus(o.begin.value, zero.value);
  if (lasts(o)) j["duration_ns"] = (o.end - o.begin).value;
  j["kind"] = kind_name(o.kind);
  j["resource"] = clean_utf8(row.resource);
  j["name"] = clean_utf8(row.name.shown());
  j["depth"] = o.depth;
  if (o.calls != 1) j["calls"] = o.calls, j["longest_ns"] = o.longest.value;
  if (carries(o)) j["bytes"] = o.bytes;
  if (o.peer != MARGAY_NO_PEER) j["peer"] = o.peer, j["communicator"] = o.comm;
  if (o.tag != MARGAY_NO_TAG) j["tag"] = o.tag;
  if (const auto value = value_of(o)) j["value"] = *value;
  if (o.begun_before) j["began_before"] = true;
  if (o.goes_on) j["goes_on"] = true;
  return j.dump() + "\n";
}

}  // namespace margay::daemon
