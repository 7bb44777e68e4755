#include "margay/analysis/report_builder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/wire/report_version.h"
#include "report_measured.h"
#include "report_partition.h"

namespace margay::daemon {
namespace {

// The newest slices that a node's bar pools: one second, but at least one slice.
constexpr std::int64_t kBarNs = 1'000'000'000;

std::int64_t bar_slices(const ReportInput& in) {
  return std::max<std::int64_t>(1, kBarNs / in.options.levels[0].value);
}

// How the sources of leaves are.
void add_conditions(const ReportInput& in, wire::Report& report) {
  if (in.status == nullptr) return;
  const model::Hierarchy& h = in.topology.hierarchy;
  for (int n = 0; n < report.nodes_size(); ++n)
    if (const NodeIndex node(static_cast<std::uint32_t>(n)); h[node].children.empty())
      for (const LeafIndex l : h.leaves_below(node))
        if (l.value < in.status->conditions.size())
          report.mutable_nodes(n)->set_condition(in.status->conditions[l.value]);
}

void add_nodes(const ReportInput& in, wire::Report& report) {
  const model::Hierarchy& h = in.topology.hierarchy;
  const detect::Window& window = in.levels.detector().window();
  const std::size_t count = std::min(h.node_count(), kMostReportedNodes);
  if (window.size() == 0) return;
  const std::int64_t slices = bar_slices(in);
  const SliceIndex from = std::max(window.first(), window.last() + 1 - slices);
  // Leaves first; a node is the sum of its leaves.
  std::vector<std::vector<double>> leaf(h.leaf_count());
  std::vector<double> weight(h.leaf_count(), 0.0), unknown(h.leaf_count(), 0.0);
  for (std::uint32_t l = 0; l < h.leaf_count() && l < window.leaves(); ++l) {
    leaf[l].assign(window.columns(), 0.0);
    for (SliceIndex s = from; s <= window.last(); ++s) {
      const auto row = window.row(s, LeafIndex(l));
      for (std::size_t x = 0; x < row.size(); ++x) leaf[l][x] += row[x];
      weight[l] += window.weight(s, LeafIndex(l));
      unknown[l] += window.unknown(s, LeafIndex(l));
    }
  }
  for (std::size_t n = 0; n < count; ++n) {
    const auto& node = h.nodes()[n];
    wire::NodeBar* bar = add_bar(node, report);
    std::vector<double> sum(window.columns(), 0.0);
    double present = 0, lost = 0;
    for (const LeafIndex l : h.leaves_below(NodeIndex(static_cast<std::uint32_t>(n)))) {
      if (l.value >= leaf.size() || leaf[l.value].empty()) continue;
      for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += leaf[l.value][x];
      present += weight[l.value];
      lost += unknown[l.value];
    }
    const double whole =
        static_cast<double>(node.leaf_count) * static_cast<double>(window.last().value + 1 - from.value);
    std::vector<std::pair<double, std::uint16_t>> shares;
    for (std::size_t x = 0; x < sum.size(); ++x)
      if (sum[x] > 0.0005 * whole) shares.emplace_back(sum[x] / whole, window.state_of(x).value);
    if (lost > 0.0005 * whole) shares.emplace_back(lost / whole, kUnknown.value);
    if (whole - present - lost > 0.0005 * whole)
      shares.emplace_back((whole - present - lost) / whole, kAbsent.value);
    std::sort(shares.rbegin(), shares.rend());
    for (std::size_t i = 0; i < shares.size() && i < 12; ++i) {
      auto* share = bar->add_shares();
      share->set_share(static_cast<float>(shares[i].first));
      share->set_state(shares[i].second);
    }
  }
}

// The newest stretches of a level.
void add_phases(const ReportInput& in, std::size_t level, std::size_t most,
                google::protobuf::RepeatedPtrField<wire::PhaseSpan>& out) {
  const auto& spans = in.levels.detector(level).phases().spans();
  // A stretch that has just begun may still turn out to be a transition: it is not shown yet.
  const DurationNs sure = in.levels.slice(level) * (2 * detect::PhaseOptions{}.shortest + 2);
  for (std::size_t i = spans.size() > most ? spans.size() - most : 0; i < spans.size(); ++i) {
    if (spans[i].current && spans[i].end - spans[i].begin < sure && !in.final) break;
    auto* phase = out.Add();
    phase->set_name(spans[i].name);
    phase->set_label(spans[i].label);
    phase->set_begin_ns(spans[i].begin.value);
    phase->set_end_ns(spans[i].end.value);
    phase->set_occurrence(spans[i].occurrence);
    phase->set_current(spans[i].current);
    if (level == 0) continue;
    phase->set_told(in.levels.told(level, spans[i]));
    for (const auto& part : in.levels.made_of(spans[i])) {
      if (phase->made_of_size() == static_cast<int>(kMostReportedParts)) break;
      auto* of = phase->add_made_of();
      of->set_name(part.name);
      of->set_share(part.share);
    }
  }
}

void add_durations(const ReportInput& in, wire::Report& report) {
  for (const auto& [name, known] : in.levels.detector().durations().statistics()) {
    if (report.phase_durations_size() >= static_cast<int>(kMostReportedPhases)) break;
    auto* d = report.add_phase_durations();
    d->set_name(name);
    d->set_times(known.times);
    d->set_usual_ns(known.usual.value);
    d->set_low_ns(known.low.value);
    d->set_high_ns(known.high.value);
    d->set_last_ns(known.last.value);
  }
  const auto forecast = in.levels.detector().durations().forecast();
  if (!forecast || in.final) return;
  auto* f = report.mutable_forecast();
  f->set_phase(forecast->phase);
  f->set_end_ns(forecast->end.value);
  f->set_earliest_ns(forecast->earliest.value);
  f->set_latest_ns(forecast->latest.value);
  f->set_confidence(detect::PhaseForecast::kConfidence);
  f->set_times(forecast->times);
  f->set_next(forecast->next);
  f->set_next_share(forecast->next_share);
  f->set_overdue(forecast->overdue);
}

void add_health(const ReportInput& in, wire::Report& report) {
  auto* health = report.mutable_health();
  health->set_lag_ns((in.now_trace - in.watermark).value);
  health->set_restarts(in.options.restarts);
  health->set_daemon_version(MARGAY_VERSION);
  if (in.values != nullptr) observe::write_counters(*in.values, *health);
  if (in.verdict != nullptr) observe::write_verdict(*in.verdict, *health);
  if (in.status == nullptr) return;
  health->set_sources_live(in.status->live);
  health->set_sources_ended(in.status->ended);
  health->set_processes(in.status->processes);
  health->set_processes_unwatched(in.status->unwatched);
  health->set_unwatched_why(in.status->unwatched_why);
  health->set_archive_trouble(in.status->archive_trouble);
  health->set_archive_trouble_since_ns(in.status->archive_trouble_since.value);
  health->set_retention(in.status->retention);
  const model::Hierarchy& h = in.topology.hierarchy;
  std::uint64_t lost = 0;
  for (const LeafIndex leaf : h.leaf_order()) {
    if (leaf.value >= in.status->accounts.size()) continue;
    const ingest::Account& a = in.status->accounts[leaf.value];
    lost += a.probe_dropped + a.wire_lost + a.rejected + a.late_dropped;
    if (health->sources_size() >= static_cast<int>(kMostReportedNodes)) {
      health->set_sources_left_out(health->sources_left_out() + 1);
      continue;
    }
    auto* s = health->add_sources();
    s->set_resource(h.path_of(leaf));
    s->set_produced(a.produced);
    s->set_modelled(a.modelled);
    s->set_late_dropped(a.late_dropped);
    s->set_probe_dropped(a.probe_dropped);
    s->set_wire_lost(a.wire_lost);
    s->set_rejected(a.rejected);
    s->set_in_flight(a.in_flight());
    s->set_condition(in.status->conditions[leaf.value]);
  }
  health->set_lost_events(lost);
}

}  // namespace

wire::Report build_report(const ReportInput& in) {
  wire::Report report;
  report.set_version(wire::kReportVersion);
  // A command line may hold any bytes.
  report.set_run(clean_utf8(in.options.run));
  report.set_command(clean_utf8(in.options.command));
  report.set_sequence(in.sequence);
  report.set_slice_ns(in.options.levels[0].value);
  if (in.levels.detector().window().size() > 0)
    report.set_slice_index(in.levels.detector().window().last().value);
  report.set_watermark_ns(in.watermark.value);
  report.set_emitted_wall_ns(in.now_wall.value);
  report.set_run_begin_ns(in.run_begin.value);
  report.set_final(in.final);
  report.set_position(in.position);
  for (const auto& s : in.topology.states) {
    auto* name = report.add_states();
    name->set_name(s.name);
    name->set_family(static_cast<std::uint32_t>(s.family));
  }
  if (in.measured != nullptr)
    add_measured(in, bar_slices(in), report);
  else
    add_nodes(in, report);
  add_conditions(in, report);
  add_phases(in, 0, kMostReportedPhases, *report.mutable_phases());
  for (std::size_t level = 1; level < in.levels.count(); ++level) {
    auto* of = report.add_levels();
    of->set_slice_ns(in.levels.slice(level).value);
    add_phases(in, level, kMostReportedCoarserPhases, *of->mutable_phases());
  }
  add_durations(in, report);
  for (const alert::Alert& a : in.alerts) *report.add_alerts() = alert::to_wire(a);
  add_health(in, report);
  if (in.partitions) {
    const detect::Window& shown = in.measured != nullptr ? *in.measured : in.levels.detector().window();
    PartitionContext context{shown, in.topology.hierarchy, static_cast<std::size_t>(report.nodes_size()), {}};
    for (std::size_t x = 0; x < shown.columns(); ++x)
      context.states.push_back(in.measured != nullptr ? measured_state(in, x) : shown.state_of(x).value);
    add_partition(context, shown.spatiotemporal(), report.mutable_spatiotemporal());
    add_partition(context, shown.temporal(), report.mutable_temporal());
  }
  return report;
}

wire::Report content_of(const wire::Report& report) {
  wire::Report content = report;
  content.clear_sequence();
  content.clear_emitted_wall_ns();
  content.clear_health();
  for (auto& node : *content.mutable_nodes()) node.clear_condition();
  for (wire::Alert& alert : *content.mutable_alerts()) {
    alert.clear_emitted_wall_ns();
    alert.clear_handled();
  }
  return content;
}

nlohmann::ordered_json phases_json(const detect::Levels& levels, std::size_t level) {
  auto all = nlohmann::ordered_json::array();
  for (const detect::PhaseSpan& p : levels.detector(level).phases().spans()) {
    nlohmann::ordered_json phase;
    phase["name"] = p.name;
    if (!p.label.empty()) phase["label"] = p.label;
    phase["begin_ns"] = p.begin.value;
    phase["end_ns"] = p.end.value;
    phase["occurrence"] = p.occurrence;
    if (level > 0) {
      phase["made_of"] = nlohmann::ordered_json::array();
      for (const auto& part : levels.made_of(p))
        phase["made_of"].push_back({{"name", part.name}, {"share", part.share}});
    }
    all.push_back(std::move(phase));
  }
  return all;
}

nlohmann::ordered_json coarser_phases_json(const detect::Levels& levels) {
  auto all = nlohmann::ordered_json::array();
  for (std::size_t level = 1; level < levels.count(); ++level)
    all.push_back({{"slice_ns", levels.slice(level).value}, {"phases", phases_json(levels, level)}});
  return all;
}

std::string build_summary(const SummaryInput& in) {
  using Json = nlohmann::ordered_json;
  const auto account = [](const ingest::Account& a, Json& j) {
    j["produced"] = a.produced;
    j["modelled"] = a.modelled;
    j["late_dropped"] = a.late_dropped;
    j["probe_dropped"] = a.probe_dropped;
    j["wire_lost"] = a.wire_lost;
    j["rejected"] = a.rejected;
    j["in_flight"] = a.in_flight();
  };
  Json j;
  j["exit_code"] = in.exit_code;
  j["duration_ns"] = (in.end - in.begin).value;
  // Sums of the terms as they were counted, not of what they should add up to.
  ingest::Account sum;
  std::uint64_t in_flight = 0;
  Json sources = Json::array();
  const model::Hierarchy& h = in.topology.hierarchy;
  for (const LeafIndex leaf : h.leaf_order()) {
    if (in.status == nullptr || leaf.value >= in.status->accounts.size()) continue;
    const ingest::Account& a = in.status->accounts[leaf.value];
    Json s;
    s["resource"] = h.path_of(leaf);
    account(a, s);
    sources.push_back(std::move(s));
    sum += a;
    in_flight += a.in_flight();
  }
  Json events;
  account(sum, events);
  events["in_flight"] = in_flight;
  j["events"] = std::move(events);
  j["summed"] = in.status == nullptr ? 0 : in.status->values[observe::Id::events_summed];
  // What no account of a source has: processes of which nothing is known.
  j["processes"] = {{"there", in.status == nullptr ? 0 : in.status->processes},
                    {"unwatched", in.status == nullptr ? 0 : in.status->unwatched},
                    {"why", in.status == nullptr ? "" : in.status->unwatched_why}};
  j["sources"] = std::move(sources);
  j["phases"] = phases_json(in.levels, 0);
  j["levels"] = coarser_phases_json(in.levels);
  j["phase_durations"] = Json::array();
  for (const auto& [name, d] : in.levels.detector().durations().statistics())
    j["phase_durations"].push_back({{"name", name},
                                    {"times", d.times},
                                    {"usual_ns", d.usual.value},
                                    {"low_ns", d.low.value},
                                    {"high_ns", d.high.value},
                                    {"last_ns", d.last.value}});
  j["alerts"] = in.alerts;
  if (!in.archive_error.empty()) j["archive_error"] = in.archive_error;
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace margay::daemon
