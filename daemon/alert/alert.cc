#include "margay/alert/alert.h"

#include <tuple>

#include "margay/base/text.h"
#include "margay/wire/alert_json.h"

namespace margay::alert {
namespace {

// UNKNOWN, which no alert of ours is, comes before them.
wire::Alert::Kind to_wire(Kind k) {
  return static_cast<wire::Alert::Kind>(static_cast<int>(k) + 1);
}
static_assert(static_cast<int>(Kind::kPerturbation) + 1 == wire::Alert::PERTURBATION &&
              static_cast<int>(Kind::kLoss) + 1 == wire::Alert::LOSS);

void add(const std::vector<std::string>& texts, google::protobuf::RepeatedPtrField<std::string>& out) {
  for (const std::string& t : texts) *out.Add() = clean_utf8(t);
}

Alert from_wire(const wire::Alert& w) {
  Alert a;
  a.id = w.id();
  a.run = w.run();
  a.kind = static_cast<Kind>(w.kind() - 1);
  a.status = w.resolved() ? Status::kResolved : Status::kFiring;
  a.level = DurationNs(w.level_ns());
  a.onset = TimeNs(w.onset_ns());
  a.detected = TimeNs(w.detected_ns());
  if (w.has_end_ns()) a.end = TimeNs(w.end_ns());
  a.emitted_wall = TimeNs(w.emitted_wall_ns());
  a.updates = w.updates();
  if (w.has_updated_ns()) a.updated = TimeNs(w.updated_ns());
  a.persistent = w.persistent();
  a.node = w.node();
  a.resources = {w.resources().begin(), w.resources().end()};
  a.affected = {w.affected().begin(), w.affected().end()};
  a.score_bits = w.score_bits();
  a.p_value = w.p_value();
  a.phase = w.phase();
  for (const auto& s : w.states()) a.states.push_back({s.state(), s.expected(), s.observed()});
  a.likely_cause = {w.likely_cause().begin(), w.likely_cause().end()};
  a.p = w.p();
  a.lost_events = w.lost_events();
  a.message = w.message();
  if (w.has_duration()) {
    const auto& d = w.duration();
    a.duration = {DurationNs(d.lasted_ns()), DurationNs(d.usual_ns()), DurationNs(d.limit_ns()), d.times()};
  }
  for (const auto& t : w.takers())
    a.takers.push_back({t.resource(), t.kind(), t.name(), t.pid(), t.cpu(), t.share()});
  if (w.has_area())
    a.area = {{w.area().nodes().begin(), w.area().nodes().end()},
              SliceIndex(w.area().first_slice()),
              w.area().slices()};
  if (w.has_false_alarms_per_day()) a.false_alarms_per_day = w.false_alarms_per_day();
  if (w.has_cost_s()) a.cost_s = w.cost_s();
  for (const auto& c : w.candidates()) a.candidates.push_back({c.name(), c.kind(), c.pid(), c.probability()});
  return a;
}

}  // namespace

const char* to_string(Kind k) {
  return wire::name_of(to_wire(k));
}
const char* to_string(Status s) {
  return s == Status::kFiring ? "firing" : "resolved";
}

std::string update_of(const Alert& a) {
  return a.status == Status::kFiring && a.updates > 0 ? a.id : "";
}
std::string step(const Alert& a) {
  const std::string status = to_string(a.status);
  return update_of(a).empty() ? status : status + "#" + std::to_string(a.updates);
}

bool earlier(const Alert& a, const Alert& b) {
  return std::tie(a.detected, a.id) < std::tie(b.detected, b.id);
}

wire::Alert to_wire(const Alert& a) {
  wire::Alert w;
  w.set_id(clean_utf8(a.id));
  w.set_run(clean_utf8(a.run));
  w.set_kind(to_wire(a.kind));
  w.set_resolved(a.status == Status::kResolved);
  w.set_level_ns(a.level.value);
  w.set_onset_ns(a.onset.value);
  w.set_detected_ns(a.detected.value);
  if (a.end) w.set_end_ns(a.end->value);
  w.set_emitted_wall_ns(a.emitted_wall.value);
  w.set_updates(a.updates);
  if (a.updated) w.set_updated_ns(a.updated->value);
  w.set_persistent(a.persistent);
  w.set_node(clean_utf8(a.node));
  add(a.resources, *w.mutable_resources());
  add(a.affected, *w.mutable_affected());
  w.set_score_bits(a.score_bits);
  w.set_p_value(a.p_value);
  w.set_phase(clean_utf8(a.phase));
  for (const StateChange& s : a.states) {
    auto& out = *w.add_states();
    out.set_state(clean_utf8(s.state));
    out.set_expected(s.expected);
    out.set_observed(s.observed);
  }
  add(a.likely_cause, *w.mutable_likely_cause());
  w.set_p(a.p);
  w.set_lost_events(a.lost_events);
  w.set_message(clean_utf8(a.message));
  if (a.duration) {
    auto& out = *w.mutable_duration();
    out.set_lasted_ns(a.duration->lasted.value);
    out.set_usual_ns(a.duration->usual.value);
    out.set_limit_ns(a.duration->limit.value);
    out.set_times(a.duration->times);
  }
  for (const Taker& t : a.takers) {
    auto& out = *w.add_takers();
    out.set_resource(clean_utf8(t.resource));
    out.set_kind(clean_utf8(t.kind));
    out.set_name(clean_utf8(t.name));
    out.set_pid(t.pid);
    out.set_cpu(t.cpu);
    out.set_share(t.share);
  }
  if (a.area) {
    auto& out = *w.mutable_area();
    add(a.area->nodes, *out.mutable_nodes());
    out.set_first_slice(a.area->first.value);
    out.set_slices(a.area->slices);
  }
  if (a.false_alarms_per_day) w.set_false_alarms_per_day(*a.false_alarms_per_day);
  if (a.cost_s) w.set_cost_s(*a.cost_s);
  for (const Candidate& c : a.candidates) {
    auto& out = *w.add_candidates();
    out.set_name(clean_utf8(c.name));
    out.set_kind(clean_utf8(c.kind));
    out.set_pid(c.pid);
    out.set_probability(c.probability);
  }
  return w;
}

std::string to_json(const Alert& a) {
  return wire::to_json(to_wire(a));
}

Result<Alert> parse_untrusted(std::string_view json) {
  const auto read = wire::read_alert_untrusted(json);
  if (!read) return tl::unexpected(read.error());
  return from_wire(*read);
}

}  // namespace margay::alert
