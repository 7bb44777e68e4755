// The agents that were heard of lately, and what is open of questions for their clocks.
//
// Bounded: beyond kMostAgents the one heard of longest ago makes way; one that is still there is known again
// with its next message. Thread safety: none. Cost: O(log agents).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "margay/base/time.h"
#include "margay/ingest/message_counters.h"

namespace margay::ingest {

struct Agent {
  TimeNs heard{};
  TimeNs asked{};  // for its clock; 0: nothing is to be answered
  TimeNs next_ask{};
  std::uint32_t answers = 0;
};

class AgentTable {
 public:
  static constexpr std::size_t kMostAgents = 1024;

  explicit AgentTable(MessageCounters& counters) : counters_(counters) {}
  // One has spoken. True if it was known.
  bool hear(const std::string& agent, TimeNs now);
  void forget_silent(TimeNs now, DurationNs after);
  // nullptr: not heard of lately.
  Agent* find(const std::string& agent);
  const std::map<std::string, Agent>& all() const { return agents_; }  // by routing id

 private:
  MessageCounters& counters_;
  std::map<std::string, Agent> agents_;
};

}  // namespace margay::ingest
