#include "margay/alert/parse.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace margay::alert {
namespace {

using nlohmann::json;

// Reads members of one object; the first that is not what it should be is remembered.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}

  void text(const char* name, std::string& value, bool needed = false) {
    if (const json* m = find(name, needed, &json::is_string)) value = m->get<std::string>();
  }
  void integer(const char* name, std::int64_t& value, bool needed = false) {
    if (const json* m = find(name, needed, &json::is_number_integer)) value = m->get<std::int64_t>();
  }
  void count(const char* name, std::uint64_t& value) {
    if (const json* m = find(name, false, &json::is_number_unsigned)) value = m->get<std::uint64_t>();
  }
  void number(const char* name, double& value) {
    if (const json* m = find(name, false, &json::is_number)) value = m->get<double>();
  }
  void yes_or_no(const char* name, bool& value) {
    if (const json* m = find(name, false, &json::is_boolean)) value = m->get<bool>();
  }
  void texts(const char* name, std::vector<std::string>& values) {
    const json* m = find(name, false, &json::is_array);
    if (m == nullptr) return;
    for (const json& one : *m) {
      if (!one.is_string()) return refuse(name);
      values.push_back(one.get<std::string>());
    }
  }
  const json* array(const char* name) { return find(name, false, &json::is_array); }
  const json* object(const char* name) { return find(name, false, &json::is_object); }
  const json* maybe_integer(const char* name) {
    const auto at = object_.find(name);
    if (at == object_.end() || at->is_null()) return nullptr;
    return find(name, false, &json::is_number_integer);
  }
  void refuse(const char* name) {
    if (wrong_.empty()) wrong_ = name;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const json* find(const char* name, bool needed, bool (json::*is)() const noexcept) {
    const auto at = object_.find(name);
    if (at != object_.end() && ((*at).*is)()) return &*at;
    if (at != object_.end() || needed) refuse(name);
    return nullptr;
  }
  const json& object_;
  std::string wrong_;
};

void read_states(Members& in, std::vector<StateChange>& states) {
  const json* list = in.array("states");
  if (list == nullptr) return;
  for (const json& one : *list) {
    if (!one.is_object()) return in.refuse("states");
    Members m(one);
    StateChange change;
    m.text("state", change.state, true);
    m.number("expected", change.expected);
    m.number("observed", change.observed);
    if (!m.wrong().empty()) return in.refuse("states");
    states.push_back(std::move(change));
  }
}

void read_takers(Members& in, std::vector<Taker>& takers) {
  const json* list = in.array("takers");
  if (list == nullptr) return;
  for (const json& one : *list) {
    if (!one.is_object()) return in.refuse("takers");
    Members m(one);
    Taker t;
    std::int64_t cpu = -1;
    m.text("resource", t.resource, true);
    m.text("kind", t.kind, true);
    m.text("name", t.name);
    m.integer("pid", t.pid);
    m.integer("cpu", cpu);
    m.number("share", t.share);
    if (!m.wrong().empty()) return in.refuse("takers");
    t.cpu = static_cast<std::int32_t>(std::clamp<std::int64_t>(cpu, -1, 1 << 20));
    takers.push_back(std::move(t));
  }
}

void read_duration(Members& in, std::optional<PhaseDuration>& duration) {
  const json* object = in.object("duration");
  if (object == nullptr) return;
  Members m(*object);
  PhaseDuration d;
  m.integer("lasted_ns", d.lasted.value, true);
  m.integer("usual_ns", d.usual.value, true);
  m.integer("limit_ns", d.limit.value);
  m.count("times", d.times);
  if (!m.wrong().empty()) return in.refuse("duration");
  duration = d;
}

}  // namespace

Result<Alert> parse_untrusted(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return fail(ErrorCode::kCorrupt, "an alert is not a JSON object");
  Members in(object);
  Alert a;
  std::string kind, status;
  in.text("id", a.id, true);
  in.text("run", a.run);
  in.text("kind", kind, true);
  in.text("status", status, true);
  bool known = false;
  for (const Kind k :
       {Kind::kPerturbation, Kind::kStall, Kind::kPhaseDuration, Kind::kSourceLost, Kind::kLoss})
    if (kind == to_string(k)) a.kind = k, known = true;
  if (!known) in.refuse("kind");
  if (status != to_string(Status::kFiring) && status != to_string(Status::kResolved)) in.refuse("status");
  a.status = status == to_string(Status::kResolved) ? Status::kResolved : Status::kFiring;
  in.integer("level_ns", a.level.value);
  in.integer("onset_ns", a.onset.value, true);
  in.integer("detected_ns", a.detected.value);
  if (const json* end = in.maybe_integer("end_ns")) a.end = TimeNs(end->get<std::int64_t>());
  in.integer("emitted_wall_ns", a.emitted_wall.value);
  in.count("updates", a.updates);
  if (const json* updated = in.maybe_integer("updated_ns")) a.updated = TimeNs(updated->get<std::int64_t>());
  in.yes_or_no("persistent", a.persistent);
  in.text("node", a.node);
  in.texts("resources", a.resources);
  in.texts("affected", a.affected);
  in.number("score_bits", a.score_bits);
  in.number("p_value", a.p_value);
  in.text("phase", a.phase);
  read_states(in, a.states);
  in.texts("likely_cause", a.likely_cause);
  in.number("p", a.p);
  in.count("lost_events", a.lost_events);
  read_duration(in, a.duration);
  read_takers(in, a.takers);
  in.text("message", a.message);
  if (!in.wrong().empty())
    return fail(ErrorCode::kCorrupt, "an alert's '" + in.wrong() + "' is missing or not what it should be");
  return a;
}

}  // namespace margay::alert
