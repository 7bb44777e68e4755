#include "margay/wire/alert_json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace margay::wire {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kKinds[] = {"", "perturbation", "stall", "phase_duration", "source_lost", "loss"};
constexpr const char *kFiring = "firing", *kResolved = "resolved";

// Reads members of one object; the first that is not what it should be is remembered.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}

  template <class T>
  T value(const char* name, bool (json::*is)() const noexcept, T otherwise = {}) {
    const json* m = find(name, is, false);
    return m != nullptr ? m->get<T>() : otherwise;
  }
  template <class T>
  T needed(const char* name, bool (json::*is)() const noexcept) {
    const json* m = find(name, is, true);
    return m != nullptr ? m->get<T>() : T{};
  }
  std::string text(const char* name) { return value<std::string>(name, &json::is_string); }
  std::string needed_text(const char* name) { return needed<std::string>(name, &json::is_string); }
  std::int64_t integer(const char* name, std::int64_t otherwise = 0) {
    return value(name, &json::is_number_integer, otherwise);
  }
  std::int64_t needed_integer(const char* name) {
    return needed<std::int64_t>(name, &json::is_number_integer);
  }
  std::uint64_t count(const char* name) { return value<std::uint64_t>(name, &json::is_number_unsigned); }
  double number(const char* name, double otherwise = 0) { return value(name, &json::is_number, otherwise); }
  // nullptr also where it is null.
  const json* maybe(const char* name, bool (json::*is)() const noexcept) {
    const auto at = object_.find(name);
    return at == object_.end() || at->is_null() ? nullptr : find(name, is, false);
  }
  void texts(const char* name, google::protobuf::RepeatedPtrField<std::string>& values) {
    const json* m = find(name, &json::is_array, false);
    if (m == nullptr) return;
    for (const json& one : *m) {
      if (!one.is_string()) return refuse(name);
      *values.Add() = one.get<std::string>();
    }
  }
  // `read` is called with the members of each object of a list.
  template <class Read>
  void objects(const char* name, Read read) {
    const json* list = find(name, &json::is_array, false);
    if (list == nullptr) return;
    for (const json& one : *list) {
      if (!one.is_object()) return refuse(name);
      Members m(one);
      read(m);
      if (!m.wrong().empty()) return refuse(name);
    }
  }
  void refuse(const char* name) {
    if (wrong_.empty()) wrong_ = name;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const json* find(const char* name, bool (json::*is)() const noexcept, bool needed) {
    const auto at = object_.find(name);
    if (at != object_.end() && ((*at).*is)()) return &*at;
    if (at != object_.end() || needed) refuse(name);
    return nullptr;
  }
  const json& object_;
  std::string wrong_;
};

void read_duration(Members& in, Alert& a) {
  const json* object = in.maybe("duration", &json::is_object);
  if (object == nullptr) return;
  Members m(*object);
  Alert::Duration& d = *a.mutable_duration();
  d.set_lasted_ns(m.needed_integer("lasted_ns"));
  d.set_usual_ns(m.needed_integer("usual_ns"));
  d.set_limit_ns(m.integer("limit_ns"));
  d.set_times(m.count("times"));
  if (!m.wrong().empty()) in.refuse("duration");
}

void read_area(Members& in, Alert& a) {
  const json* object = in.maybe("area", &json::is_object);
  if (object == nullptr) return;
  Members m(*object);
  Alert::Area& area = *a.mutable_area();
  m.texts("nodes", *area.mutable_nodes());
  area.set_first_slice(m.needed_integer("first_slice"));
  area.set_slices(m.count("slices"));
  if (!m.wrong().empty()) in.refuse("area");
}

void read_lists(Members& in, Alert& a) {
  in.texts("resources", *a.mutable_resources());
  in.texts("affected", *a.mutable_affected());
  in.texts("likely_cause", *a.mutable_likely_cause());
  in.objects("states", [&](Members& m) {
    Alert::StateChange& s = *a.add_states();
    s.set_state(m.needed_text("state"));
    s.set_expected(m.number("expected"));
    s.set_observed(m.number("observed"));
  });
  in.objects("takers", [&](Members& m) {
    Alert::Taker& t = *a.add_takers();
    t.set_resource(m.needed_text("resource"));
    t.set_kind(m.needed_text("kind"));
    t.set_name(m.text("name"));
    t.set_pid(m.integer("pid"));
    t.set_cpu(static_cast<std::int32_t>(std::clamp<std::int64_t>(m.integer("cpu", -1), -1, 1 << 20)));
    t.set_share(m.number("share"));
  });
  in.objects("candidates", [&](Members& m) {
    Alert::Candidate& c = *a.add_candidates();
    c.set_name(m.text("name"));
    c.set_kind(m.needed_text("kind"));
    c.set_pid(m.integer("pid"));
    c.set_probability(m.number("probability"));
  });
}

}  // namespace

const char* name_of(Alert::Kind kind) {
  return kind >= 0 && static_cast<std::size_t>(kind) < std::size(kKinds) ? kKinds[kind] : "";
}

Alert::Kind kind_of(std::string_view name) {
  const auto at = std::find(std::begin(kKinds), std::end(kKinds), name);
  return at == std::end(kKinds) ? Alert::UNKNOWN : static_cast<Alert::Kind>(at - std::begin(kKinds));
}

ordered_json json_of(const Alert& a) {
  ordered_json j;
  j["id"] = a.id();
  j["run"] = a.run();
  j["kind"] = name_of(a.kind());
  j["status"] = a.resolved() ? kResolved : kFiring;
  j["level_ns"] = a.level_ns();
  j["onset_ns"] = a.onset_ns();
  j["detected_ns"] = a.detected_ns();
  j["end_ns"] = a.has_end_ns() ? ordered_json(a.end_ns()) : ordered_json(nullptr);
  j["emitted_wall_ns"] = a.emitted_wall_ns();
  j["updates"] = a.updates();
  j["updated_ns"] = a.has_updated_ns() ? ordered_json(a.updated_ns()) : ordered_json(nullptr);
  j["persistent"] = a.persistent();
  j["node"] = a.node();
  j["resources"] = a.resources();
  j["affected"] = a.affected();
  if (a.has_area())
    j["area"] = {
        {"nodes", a.area().nodes()}, {"first_slice", a.area().first_slice()}, {"slices", a.area().slices()}};
  j["score_bits"] = a.score_bits();
  j["p_value"] = a.p_value();
  if (a.has_false_alarms_per_day()) j["false_alarms_per_day"] = a.false_alarms_per_day();
  if (a.has_cost_s()) j["cost_s"] = a.cost_s();
  j["phase"] = a.phase();
  j["states"] = ordered_json::array();
  for (const Alert::StateChange& s : a.states())
    j["states"].push_back({{"state", s.state()}, {"expected", s.expected()}, {"observed", s.observed()}});
  j["likely_cause"] = a.likely_cause();
  for (const Alert::Candidate& c : a.candidates()) {
    ordered_json& one = j["candidates"].emplace_back();
    one = {{"name", c.name()}, {"kind", c.kind()}};
    if (c.pid() != 0) one["pid"] = c.pid();
    one["probability"] = c.probability();
  }
  j["p"] = a.p();
  j["lost_events"] = a.lost_events();
  if (a.has_duration())
    j["duration"] = {{"lasted_ns", a.duration().lasted_ns()},
                     {"usual_ns", a.duration().usual_ns()},
                     {"limit_ns", a.duration().limit_ns()},
                     {"times", a.duration().times()}};
  for (const Alert::Taker& t : a.takers())
    j["takers"].push_back({{"resource", t.resource()},
                           {"kind", t.kind()},
                           {"name", t.name()},
                           {"pid", t.pid()},
                           {"cpu", t.cpu()},
                           {"share", t.share()}});
  j["message"] = a.message();
  return j;
}

ordered_json json_of(const Handled& h) {
  ordered_json j = ordered_json::object();
  if (h.acknowledged()) j["acknowledged"] = {{"by", h.by()}, {"at_ns", h.at_ns()}, {"comment", h.comment()}};
  if (!h.silence().empty()) j["silenced_by"] = h.silence();
  return j;
}

std::string to_json(const Alert& a) {
  return json_of(a).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Alert> read_alert_untrusted(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return fail(ErrorCode::kCorrupt, "an alert is not a JSON object");
  Members in(object);
  Alert a;
  a.set_id(in.needed_text("id"));
  a.set_run(in.text("run"));
  a.set_kind(kind_of(in.needed_text("kind")));
  if (a.kind() == Alert::UNKNOWN) in.refuse("kind");
  const std::string status = in.needed_text("status");
  if (status != kFiring && status != kResolved) in.refuse("status");
  a.set_resolved(status == kResolved);
  a.set_level_ns(in.integer("level_ns"));
  a.set_onset_ns(in.needed_integer("onset_ns"));
  a.set_detected_ns(in.integer("detected_ns"));
  if (const json* end = in.maybe("end_ns", &json::is_number_integer)) a.set_end_ns(end->get<std::int64_t>());
  a.set_emitted_wall_ns(in.integer("emitted_wall_ns"));
  a.set_updates(in.count("updates"));
  if (const json* updated = in.maybe("updated_ns", &json::is_number_integer))
    a.set_updated_ns(updated->get<std::int64_t>());
  a.set_persistent(in.value<bool>("persistent", &json::is_boolean));
  a.set_node(in.text("node"));
  a.set_score_bits(in.number("score_bits"));
  a.set_p_value(in.number("p_value", 1));
  a.set_phase(in.text("phase"));
  a.set_p(in.number("p"));
  a.set_lost_events(in.count("lost_events"));
  a.set_message(in.text("message"));
  if (const json* rate = in.maybe("false_alarms_per_day", &json::is_number))
    a.set_false_alarms_per_day(rate->get<double>());
  if (const json* cost = in.maybe("cost_s", &json::is_number)) a.set_cost_s(cost->get<double>());
  read_lists(in, a);
  read_duration(in, a);
  read_area(in, a);
  if (!in.wrong().empty())
    return fail(ErrorCode::kCorrupt, "an alert's '" + in.wrong() + "' is missing or not what it should be");
  return a;
}

}  // namespace margay::wire
