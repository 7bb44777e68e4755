#include "margay/alert/alert.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace margay::alert {

const char* to_string(Kind k) {
  switch (k) {
    case Kind::kPerturbation:
      return "perturbation";
    case Kind::kStall:
      return "stall";
    case Kind::kPhaseDuration:
      return "phase_duration";
    case Kind::kSourceLost:
      return "source_lost";
    case Kind::kLoss:
      return "loss";
  }
  return "";
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

std::string to_json(const Alert& a) {
  nlohmann::ordered_json j;
  j["id"] = a.id;
  j["run"] = a.run;
  j["kind"] = to_string(a.kind);
  j["status"] = to_string(a.status);
  j["level_ns"] = a.level.value;
  j["onset_ns"] = a.onset.value;
  j["detected_ns"] = a.detected.value;
  j["end_ns"] = a.end ? nlohmann::ordered_json(a.end->value) : nlohmann::ordered_json(nullptr);
  j["emitted_wall_ns"] = a.emitted_wall.value;
  j["updates"] = a.updates;
  j["updated_ns"] = a.updated ? nlohmann::ordered_json(a.updated->value) : nlohmann::ordered_json(nullptr);
  j["persistent"] = a.persistent;
  j["node"] = a.node;
  j["resources"] = a.resources;
  j["affected"] = a.affected;
  j["score_bits"] = a.score_bits;
  j["p_value"] = a.p_value;
  j["phase"] = a.phase;
  j["states"] = nlohmann::ordered_json::array();
  for (const StateChange& s : a.states)
    j["states"].push_back({{"state", s.state}, {"expected", s.expected}, {"observed", s.observed}});
  j["likely_cause"] = a.likely_cause;
  j["p"] = a.p;
  j["lost_events"] = a.lost_events;
  if (a.duration)
    j["duration"] = {{"lasted_ns", a.duration->lasted.value},
                     {"usual_ns", a.duration->usual.value},
                     {"limit_ns", a.duration->limit.value},
                     {"times", a.duration->times}};
  for (const Taker& t : a.takers)
    j["takers"].push_back({{"resource", t.resource},
                           {"kind", t.kind},
                           {"name", t.name},
                           {"pid", t.pid},
                           {"cpu", t.cpu},
                           {"share", t.share}});
  j["message"] = a.message;
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string id_of(const std::string& json) {
  const auto j = nlohmann::json::parse(json, nullptr, false);
  if (!j.is_object()) return "";
  const auto at = j.find("id");
  return at != j.end() && at->is_string() ? at->get<std::string>() : "";
}

std::int64_t detected_ns(const std::string& json) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  const auto j = nlohmann::json::parse(json, nullptr, false);
  if (!j.is_object()) return kNone;
  const auto at = j.find("detected_ns");
  return at != j.end() && at->is_number_integer() ? at->get<std::int64_t>() : kNone;
}

}  // namespace margay::alert
