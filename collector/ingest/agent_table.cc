#include "margay/ingest/agent_table.h"

#include <algorithm>

namespace margay::ingest {

bool AgentTable::hear(const std::string& agent, TimeNs now) {
  if (Agent* const known = find(agent)) {
    known->heard = now;
    return true;
  }
  if (agents_.size() >= kMostAgents) {
    agents_.erase(std::min_element(agents_.begin(), agents_.end(), [](const auto& a, const auto& b) {
      return a.second.heard < b.second.heard;
    }));
    ++counters_.agents_forgotten;
  }
  agents_[agent].heard = now;
  return false;
}

void AgentTable::forget_silent(TimeNs now, DurationNs after) {
  counters_.agents_forgotten +=
      std::erase_if(agents_, [&](const auto& a) { return now - a.second.heard > after; });
}

Agent* AgentTable::find(const std::string& agent) {
  const auto it = agents_.find(agent);
  return it == agents_.end() ? nullptr : &it->second;
}

}  // namespace margay::ingest
