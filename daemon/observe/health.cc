#include "margay/observe/health.h"

#include "margay/base/text.h"

namespace margay::observe {

void HealthWatch::begin(const Values& values, TimeNs now) {
  past_.clear();
  past_.emplace_back(now, values);
}

Verdict HealthWatch::judge(const Values& values, TimeNs now) {
  if (past_.empty()) begin({}, now);
  if (now - past_.back().first >= kStep) past_.emplace_back(now, values);
  while (past_.size() > 1 && now - past_[1].first >= kMemory) past_.pop_front();
  const Values& before = past_.front().second;

  Verdict v;
  for (std::size_t i = 0; i < kCounters; ++i) {
    const Id id = static_cast<Id>(i);
    const Row& r = row(id);
    if (r.severity != Severity::error || values[id] == 0) continue;
    const bool level = r.kind == Kind::gauge || r.kind == Kind::condition;
    // One that fell began anew.
    const std::uint64_t grown = values[id] < before[id] ? values[id] : values[id] - before[id];
    if (!level && grown == 0) continue;
    const std::string& why = values.why(id);
    if (r.kind == Kind::condition)
      v.reasons.push_back(why.empty() ? r.meaning : why);
    else
      v.reasons.push_back(grouped(level ? values[id] : grown) + " " + r.meaning +
                          (level ? "" : " (in the last minute)") + (why.empty() ? "" : "; " + why));
  }
  v.healthy = v.reasons.empty();
  if (v.healthy) return v;
  // What holds now goes before what has happened.
  for (std::size_t i = 0, conditions = 0; i < v.reasons.size(); ++i)
    if (v.reasons[i].empty() || v.reasons[i][0] < '0' || v.reasons[i][0] > '9')
      std::swap(v.reasons[i], v.reasons[conditions++]);
  v.sentence = "degraded: " + v.reasons.front();
  if (v.reasons.size() > 1) v.sentence += "; and " + std::to_string(v.reasons.size() - 1) + " more";
  return v;
}

void write_verdict(const Verdict& v, wire::Health& health) {
  health.set_state(v.healthy ? wire::Health::HEALTHY : wire::Health::DEGRADED);
  health.set_verdict(v.sentence);
  for (const std::string& r : v.reasons) health.add_reasons(r);
}

}  // namespace margay::observe
