#include "alerts_output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "margay/alert/picture_link.h"
#include "margay/base/text.h"
#include "margay/terminal/alert_facts.h"
#include "margay/text/table.h"
#include "margay/text/text.h"
#include "margay/wire/alert_json.h"

namespace margay::daemon {
namespace {

using nlohmann::ordered_json;
using text::duration_text;

constexpr std::size_t kWidest = 60;
constexpr std::size_t kSentence = 400;
constexpr std::size_t kMostStates = 3;  // of a cell of the table

std::string safe(const std::string& text, std::size_t columns = kWidest) {
  return text::shortened(text::printable(text, true, 4 * columns), columns);
}

std::string format(const char* pattern, double v) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, v);
  return text;
}
// "13.92 s": since the begin of the run.
std::string moment(TimeNs t, TimeNs begin) {
  const double s = 1e-9 * static_cast<double>(text::minus(t.value, begin.value));
  return format("%.2f s", s);
}

std::string lasted(const alert::Alert& a) {
  return a.end ? duration_text(text::minus(a.end->value, a.onset.value)) : "-";
}

// "firing", "firing, persistent", "firing, acknowledged by ann, silenced by s1".
std::string status_text(const alert::Alert& a, const alert::HandledAlert& h) {
  std::string text = alert::to_string(a.status);
  if (h.ack)
    text += ", acknowledged by " + safe(h.ack->by, 20);
  else if (a.persistent && a.status == alert::Status::kFiring)
    text += ", persistent";
  if (!h.silenced_by.empty()) text += ", silenced by " + safe(h.silenced_by, 20);
  return text;
}

// "Compute 92 %, MPI_Send 8 %".
std::string shares_text(const SliceShares& s) {
  std::string text;
  for (std::size_t i = 0; i < s.states.size() && i < kMostStates; ++i)
    text +=
        (i > 0 ? ", " : "") + safe(s.states[i].first, 24) + " " + terminal::share_text(s.states[i].second);
  if (s.states.size() > kMostStates) text += ", ...";
  if (s.unknown > 0)
    text += (text.empty() ? "" : ", ") + std::string("unknown ") + terminal::share_text(s.unknown);
  return text.empty() ? "-" : text;
}

void line(std::string& out, const std::string& name, const std::string& value) {
  out += "  " + name + std::string(14 - std::min<std::size_t>(name.size(), 13), ' ') + value + "\n";
}

std::string cells_text(const Evidence& e, TimeNs begin) {
  if (e.cells.blamed.empty()) return "the slices around it are not kept any more\n";
  const bool blames = !e.cells.leaves.empty();
  std::vector<std::string> head = {"slice from", ""};
  if (blames) head.push_back(e.alert.likely_cause.empty() ? "those blamed" : "the cause");
  head.push_back(blames ? "all others" : "all");
  text::Table table(head);
  const SliceIndex onset = slice_of(e.alert.onset, e.alert.level);
  for (std::size_t i = 0; i < e.cells.blamed.size(); ++i) {
    const SliceIndex slice = e.cells.blamed[i].slice;
    std::vector<std::string> row = {moment(slice_begin(slice, e.alert.level), begin),
                                    slice == onset ? "onset" : ""};
    if (blames) row.push_back(shares_text(e.cells.blamed[i]));
    row.push_back(shares_text(e.cells.others[i]));
    table.add(std::move(row));
  }
  return table.text();
}

std::string again_text(const Evidence& e) {
  const DerivedAgain& again = e.again;
  if (again.same)
    return again.exact ? "computed again from the archive: identical"
                       : "computed again from what is left of the archive: identical";
  if (!again.alert)
    return again.exact ? "NOT CONFIRMED: computed again from the archive, there is no such alert"
                       : "cannot be computed again: the archive does not have all of its data any more";
  return (again.exact ? std::string("NOT CONFIRMED: computed again from the archive, it differs")
                      : std::string("computed again from what is left of the archive, it differs")) +
         ": score " + format("%.4g", again.alert->score_bits) + " bits, p-value " +
         format("%.2g", again.alert->p_value);
}

ordered_json shares_json(const std::vector<SliceShares>& slices) {
  ordered_json list = ordered_json::array();
  for (const SliceShares& s : slices) {
    ordered_json states = ordered_json::object();
    for (const auto& [state, share] : s.states) states[clean_utf8(state)] = share;
    list.push_back({{"slice", s.slice.value}, {"states", std::move(states)}, {"unknown", s.unknown}});
  }
  return list;
}

// As a daemon reports it.
wire::Alert wire_alert(const Evidence& e) {
  wire::Alert out = alert::to_wire(e.alert);
  *out.mutable_handled() = alert::to_wire(e.handled);
  return out;
}

terminal::AlertContext context_of(const Evidence& e) {
  terminal::AlertContext out;
  out.moment = [begin = e.run_begin](TimeNs t) { return moment(t, begin); };
  if (e.phase) {
    wire::PhaseSpan& phase = out.phase.emplace();
    phase.set_name(clean_utf8(e.phase->name));
    phase.set_label(clean_utf8(e.phase->label));
    phase.set_begin_ns(e.phase->begin.value);
    phase.set_occurrence(e.phase->occurrence);
  }
  if (e.waits.waited.value <= 0) return out;
  for (const WaitedFor& w : e.waits.partners) out.waited_for.emplace_back(w.resource, w.share);
  out.waited_for_unknown = e.waits.unknown;
  return out;
}

ordered_json alert_json(const alert::Alert& a) {
  return wire::json_of(alert::to_wire(a));
}
ordered_json handled_json(const alert::HandledAlert& h) {
  return wire::json_of(alert::to_wire(h));
}

std::string dump(const ordered_json& j) {
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string alerts_text(const std::vector<ListedAlert>& alerts, bool archives) {
  if (alerts.empty()) return "no alerts\n";
  std::vector<std::string> head = {"alert", "status", ">since", ">lasted", ">cost", ">bits", "why"};
  if (archives) head.insert(head.begin(), "archive");
  text::Table table(head);
  for (const ListedAlert& l : alerts) {
    const alert::Alert& a = l.alert;
    std::vector<std::string> row = {safe(a.id, 80),
                                    status_text(a, l.handled),
                                    moment(a.onset, l.run_begin),
                                    lasted(a),
                                    a.cost_s ? format("%.1f s", *a.cost_s) : "-",
                                    format("%.3g", a.score_bits),
                                    safe(a.message, 2 * kWidest)};
    if (archives) row.insert(row.begin(), safe(l.archive));
    table.add(std::move(row));
  }
  return table.text();
}

std::string alerts_json(const std::vector<ListedAlert>& alerts) {
  ordered_json list = ordered_json::array();
  for (const ListedAlert& l : alerts) {
    ordered_json one = alert_json(l.alert);
    one.update(handled_json(l.handled));
    one["archive"] = clean_utf8(l.archive);
    list.push_back(std::move(one));
  }
  return dump(list);
}

std::string evidence_text(const Evidence& e) {
  const TimeNs begin = e.run_begin;
  std::string out = safe(e.alert.message, kSentence) + "\n\n";
  for (const terminal::AlertFact& f : terminal::alert_facts(wire_alert(e), context_of(e)))
    line(out, f.name, f.value);
  out += "\nThe cells around its onset:\n\n" + cells_text(e, begin) + "\n";
  out += "Detection was set to:";
  for (const auto& [key, value] : e.settings) out += " " + safe(key) + "=" + safe(value);
  out += "\n" + again_text(e) + "\n";
  return out;
}

std::string evidence_json(const Evidence& e) {
  ordered_json j;
  j["alert"] = alert_json(e.alert);
  j.update(handled_json(e.handled));
  if (e.phase)
    j["phase"] = {{"name", clean_utf8(e.phase->name)},
                  {"label", clean_utf8(e.phase->label)},
                  {"begin_ns", e.phase->begin.value},
                  {"end_ns", e.phase->end.value},
                  {"occurrence", e.phase->occurrence}};
  j["cells"] = {{"cause", e.cells.leaves},
                {"of_cause", shares_json(e.cells.blamed)},
                {"of_others", shares_json(e.cells.others)}};
  j["waits_for"] = ordered_json::array();
  for (const WaitedFor& w : e.waits.partners)
    j["waits_for"].push_back(
        {{"resource", clean_utf8(w.resource)}, {"for_ns", w.time.value}, {"share", w.share}});
  j["waited"] = {{"leaves", e.waits.leaves}, {"ns", e.waits.waited.value}, {"untold_share", e.waits.unknown}};
  j["settings"] = e.settings;
  j["again"] = {{"exact", e.again.exact}, {"same", e.again.same}};
  j["again"]["alert"] = e.again.alert ? alert_json(*e.again.alert) : ordered_json(nullptr);
  return dump(j);
}

std::string picture_link(const Evidence& e, const std::string& archive) {
  return alert::picture_link(e.alert, {archive, e.run_begin});
}

}  // namespace margay::daemon
