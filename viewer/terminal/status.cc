#include "margay/terminal/status.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "alerts.h"
#include "json_array.h"
#include "margay/terminal/unwatched.h"
#include "margay/text/table.h"
#include "margay/text/text.h"
#include "margay/wire/alert_json.h"
#include "measured.h"
#include "palette.h"
#include "picture.h"
#include "status_counters.h"
#include "strips.h"

namespace margay::terminal {
namespace {

constexpr int kMostListed = 200;
constexpr int kMostOfALevel = 32;
constexpr int kMostAlerts = 1000;

bool balanced(const wire::SourceAccount& s) {
  return s.produced() ==
         s.modelled() + s.late_dropped() + s.probe_dropped() + s.wire_lost() + s.rejected() + s.in_flight();
}

// What the picture of the newest slices is made of, in the window and in the terminal.
std::string partition_text(const wire::Report& r) {
  const wire::PartitionView& parts = r.spatiotemporal();
  if (parts.part_count() == 0) return {};
  char bits[96];
  std::snprintf(bits, sizeof bits, "gain %.4g bits, loss %.4g bits", parts.gain(), parts.loss());
  return "optimal partition of the newest slices: " + grouped(parts.part_count()) +
         (parts.part_count() == 1 ? " part" : " parts") + " at p " + p_of(r) + "; " + bits + "\n";
}

std::string head_text(const wire::Report& r) {
  const auto& h = r.health();
  std::string out = "run " + text::printable(r.run(), true, 200) + ": ";
  out += r.final() ? "finished" : "live, " + text::duration_text(h.lag_ns()) + " behind";
  if (r.run_begin_ns() != 0)
    out += ", " + text::duration_text(text::minus(r.watermark_ns(), r.run_begin_ns())) + " so far";
  out += "\n";
  if (!r.command().empty()) out += "command: " + text::printable(r.command(), true, 1000) + "\n";
  out += "slice " + text::slice_text(r.slice_ns()) + "; " + std::to_string(h.sources_live()) +
         " sources live, " + std::to_string(h.sources_ended()) + " ended; daemon restarts " +
         std::to_string(h.restarts()) + "\n";
  if (!h.archive_trouble().empty())
    out += "!! THE ARCHIVE IS NOT WRITTEN since " +
           text::duration_text(text::minus(h.archive_trouble_since_ns(), r.run_begin_ns())) + ": " +
           text::printable(h.archive_trouble(), true, 400) + "\n";
  const std::string unwatched = unwatched_text(h);
  if (!unwatched.empty()) out += "!! NOT WATCHED: " + text::printable(unwatched, true, 500) + "\n";
  std::string absence;  // when the daemon itself was away last
  for (const auto& c : h.counters())
    if (c.name() == "absences" && c.value() > 0)
      absence = text::printable(c.detail(), true, 400) +
                (c.value() > 1 ? "; " + grouped(c.value()) + " such times in all" : "");
  out += h.lost_events() != 0 ? "!! LOST " + grouped(h.lost_events()) + " EVENTS\n"
         : !unwatched.empty() ? "no event of the watched processes was lost\n"
         : !absence.empty()   ? "no event was lost while the daemon ran\n"
                              : "no event was lost\n";
  if (!absence.empty()) out += "!! " + absence + "\n";
  out += measured_text(r) + partition_text(r);
  if (!h.retention().empty()) out += "the archive " + text::printable(h.retention(), true, 500) + "\n";
  return out;
}

// Of coarser levels that tell more than finer ones.
std::string levels_text(const wire::Report& r) {
  std::string out;
  for (int l = 0; l < std::min(r.levels_size(), kMostLevels); ++l) {
    const auto& level = r.levels(l);
    if (!tells_more(level)) continue;
    out += "\nphases in slices of " + text::slice_text(level.slice_ns()) + "\n";
    text::Table t({"phase", ">time", ">began", ">lasted", "made of"});
    const int first = std::max(0, level.phases_size() - kMostOfALevel);
    for (int i = first; i < level.phases_size(); ++i) {
      const auto& p = level.phases(i);
      t.add({phase_name(p) + (p.label().empty() ? "" : " (" + text::printable(p.label(), true, 30) + ")"),
             text::ordinal(p.occurrence()), text::duration_text(text::minus(p.begin_ns(), r.run_begin_ns())),
             text::duration_text(text::minus(p.end_ns(), p.begin_ns())) +
                 (p.current() && !r.final() ? "+" : ""),
             made_of_text(p)});
    }
    out += t.text();
  }
  return out;
}

std::string phases_text(const wire::Report& r) {
  if (r.phases().empty()) return "\nphases: none recognised yet\n";
  text::Table t({"phase", ">time", ">began", ">lasted", ">usual"});
  const int first = std::max(0, r.phases_size() - kMostListed);
  for (int i = first; i < r.phases_size(); ++i) {
    const auto& p = r.phases(i);
    const auto usual = usual_duration_ns(r, p.name());
    t.add(
        {phase_name(p) + (p.label().empty() ? "" : " (" + text::printable(p.label(), true, 30) + ")"),
         text::ordinal(p.occurrence()), text::duration_text(text::minus(p.begin_ns(), r.run_begin_ns())),
         text::duration_text(text::minus(p.end_ns(), p.begin_ns())) + (p.current() && !r.final() ? "+" : ""),
         usual ? text::duration_text(*usual) : ""});
  }
  std::string out = "\nphases (+: still going on)\n";
  if (first > 0) out += "  " + std::to_string(first) + " older ones are not listed\n";
  out += t.text();
  const auto* now = current_phase(r);
  if (const std::string ahead = forecast_text(r); now != nullptr && !ahead.empty()) {
    out += "  phase " + phase_name(*now) + ": " + ahead;
    if (const std::string range = usual_range(r, now->name()); !range.empty()) out += "; " + range;
    out += "\n";
  }
  return out + levels_text(r);
}

std::string alerts_text(const wire::Report& r, std::int64_t utc_offset_s) {
  const std::vector<AlertView> alerts = read_alerts(r, kMostAlerts);
  std::string open;
  int firing = 0;
  bool silenced = false;
  for (const AlertView& a : alerts) {
    if (!a.firing) continue;
    silenced = silenced || !a.silenced_by.empty();
    if (++firing > kMostListed) continue;
    open += "  " + text::clock_text(a.onset_ns, utc_offset_s) + "  " + a.kind + "  ";
    open += told_text(a);
    if (const std::string handled = handled_text(a); !handled.empty()) open += " (" + handled + ")";
    open += "\n";
  }
  if (silenced) open += "  what is silenced is sent nowhere: margay alerts silences\n";
  return "\nalerts: " + count_text(alerts, "open") + "\n" + open;
}

std::string sources_text(const wire::Report& r) {
  const auto& list = r.health().sources();
  if (list.empty()) return {};
  text::Table t(
      {"source", ">produced", ">modelled", ">late", ">dropped", ">lost", ">rejected", ">in flight", ""});
  wire::SourceAccount sum;
  int n = 0;
  const auto row = [&t](const std::string& name, const wire::SourceAccount& s) {
    std::string mark = text::printable(s.condition(), true, 20);
    if (!balanced(s)) mark += (mark.empty() ? "" : ", ") + std::string("!! DOES NOT ADD UP");
    t.add({name, grouped(s.produced()), grouped(s.modelled()), grouped(s.late_dropped()),
           grouped(s.probe_dropped()), grouped(s.wire_lost()), grouped(s.rejected()), grouped(s.in_flight()),
           mark});
  };
  for (const auto& s : list) {
    if (n++ < kMostListed) row(text::printable(s.resource(), true, 60), s);
    sum.set_produced(sum.produced() + s.produced());
    sum.set_modelled(sum.modelled() + s.modelled());
    sum.set_late_dropped(sum.late_dropped() + s.late_dropped());
    sum.set_probe_dropped(sum.probe_dropped() + s.probe_dropped());
    sum.set_wire_lost(sum.wire_lost() + s.wire_lost());
    sum.set_rejected(sum.rejected() + s.rejected());
    sum.set_in_flight(sum.in_flight() + s.in_flight());
  }
  if (n > kMostListed) t.add({"... " + std::to_string(n - kMostListed) + " more"});
  row("all", sum);
  return "\nevents: produced = modelled + late + dropped + lost + rejected + in flight\n" + t.text();
}

nlohmann::json finite(double d) {
  return std::isfinite(d) ? d : 0.0;
}

nlohmann::json shares_json(const Palette& palette,
                           const google::protobuf::RepeatedPtrField<wire::StateShare>& shares) {
  auto out = nlohmann::json::array();
  for (const Share& s : clean_shares(shares)) {
    out.push_back({{"state", palette.look(s.state).name}, {"share", finite(s.share)}});
    if (s.value > 0) out.back()["value"] = finite(s.value);
  }
  return out;
}

nlohmann::json phases_json(const google::protobuf::RepeatedPtrField<wire::PhaseSpan>& phases, bool coarser) {
  auto out = nlohmann::json::array();
  for (const auto& p : phases) {
    out.push_back({{"name", p.name()},
                   {"label", p.label()},
                   {"occurrence", p.occurrence()},
                   {"begin_ns", p.begin_ns()},
                   {"end_ns", p.end_ns()},
                   {"current", p.current()}});
    if (!coarser) continue;
    auto& phase = out.back();
    phase["told"] = p.told();
    phase["made_of"] = nlohmann::json::array();
    for (const auto& part : p.made_of())
      phase["made_of"].push_back({{"name", part.name()}, {"share", finite(part.share())}});
  }
  return out;
}

nlohmann::json levels_json(const wire::Report& r) {
  auto out = nlohmann::json::array();
  for (int l = 0; l < std::min(r.levels_size(), kMostLevels); ++l)
    out.push_back(
        {{"slice_ns", r.levels(l).slice_ns()}, {"phases", phases_json(r.levels(l).phases(), true)}});
  return out;
}

nlohmann::json durations_json(const wire::Report& r) {
  return json_array(r.phase_durations(), [](const auto& d) -> nlohmann::json {
    return {{"name", d.name()},     {"times", d.times()},     {"usual_ns", d.usual_ns()},
            {"low_ns", d.low_ns()}, {"high_ns", d.high_ns()}, {"last_ns", d.last_ns()}};
  });
}

nlohmann::json forecast_json(const wire::Report& r) {
  if (!r.has_forecast()) return nullptr;
  const auto& f = r.forecast();
  return {{"phase", f.phase()},
          {"end_ns", f.end_ns()},
          {"earliest_ns", f.earliest_ns()},
          {"latest_ns", f.latest_ns()},
          {"confidence", finite(f.confidence())},
          {"times", f.times()},
          {"next", f.next()},
          {"next_share", finite(f.next_share())},
          {"overdue", f.overdue()}};
}

nlohmann::json alerts_json(const wire::Report& r) {
  return json_array(r.alerts(), [](const auto& a) {
    nlohmann::ordered_json alert = wire::json_of(a);
    alert.update(wire::json_of(a.handled()));
    return nlohmann::json(alert);
  });
}

nlohmann::json nodes_json(const wire::Report& r) {
  const Palette palette(r, true);
  return json_array(r.nodes(), [&](const auto& n) -> nlohmann::json {
    return {{"path", n.path()},
            {"depth", n.depth()},
            {"leaves", n.leaves()},
            {"condition", n.condition()},
            {"shares", shares_json(palette, n.shares())}};
  });
}

nlohmann::json sources_json(const wire::Health& h) {
  return json_array(h.sources(), [](const auto& s) -> nlohmann::json {
    return {{"resource", s.resource()},           {"produced", s.produced()},
            {"modelled", s.modelled()},           {"late_dropped", s.late_dropped()},
            {"probe_dropped", s.probe_dropped()}, {"wire_lost", s.wire_lost()},
            {"rejected", s.rejected()},           {"in_flight", s.in_flight()},
            {"condition", s.condition()},         {"balanced", balanced(s)}};
  });
}

}  // namespace

std::string status_text(const wire::Report& report, std::int64_t utc_offset_s) {
  return verdict_text(report.health()) + head_text(report) + phases_text(report) +
         alerts_text(report, utc_offset_s) + sources_text(report) + counters_text(report.health());
}

std::string status_json(const wire::Report& r) {
  using nlohmann::json;
  const auto& h = r.health();
  json j = {{"run", r.run()},
            {"command", r.command()},
            {"final", r.final()},
            {"sequence", r.sequence()},
            {"slice_ns", r.slice_ns()},
            {"watermark_ns", r.watermark_ns()},
            {"run_begin_ns", r.run_begin_ns()},
            {"emitted_wall_ns", r.emitted_wall_ns()},
            {"lag_ns", h.lag_ns()},
            {"lost_events", h.lost_events()},
            {"processes", h.processes()},
            {"processes_unwatched", h.processes_unwatched()},
            {"unwatched_why", h.unwatched_why()},
            {"sources_live", h.sources_live()},
            {"sources_ended", h.sources_ended()},
            {"restarts", h.restarts()},
            {"archive_trouble", h.archive_trouble()},
            {"archive_trouble_since_ns", h.archive_trouble_since_ns()},
            {"retention", h.retention()},
            {"phases", phases_json(r.phases(), false)},
            {"levels", levels_json(r)},
            {"phase_durations", durations_json(r)},
            {"forecast", forecast_json(r)},
            {"alerts", alerts_json(r)},
            {"nodes", nodes_json(r)},
            {"sources", sources_json(h)},
            {"partition",
             {{"p", finite(r.spatiotemporal().p())},
              {"parts", r.spatiotemporal().part_count()},
              {"gain_bits", finite(r.spatiotemporal().gain())},
              {"loss_bits", finite(r.spatiotemporal().loss())}}}};
  if (r.has_measured())
    j["measured"] = {{"operator", r.measured().operator_()},
                     {"unit", r.measured().unit()},
                     {"full", finite(r.measured().full())},
                     {"note", r.measured().note()}};
  j["counters"] = counters_json(h);
  j["health"] = health_json(h);
  return j.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace margay::terminal
