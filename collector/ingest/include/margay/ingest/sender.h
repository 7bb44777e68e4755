// Who says what is being taken, and when. Lives as long as its message is being taken.
#pragma once

#include <cstdint>
#include <string>

#include "margay/base/time.h"

namespace margay::ingest {

struct Sender {
  const std::string& agent;  // routing id
  const std::string& owner;  // whose word it is, as whoever let it in knows
  std::uint64_t number = 0;  // of the agent (ToCollector.agent), as it says
  TimeNs now{};              // host time of the collector
};

}  // namespace margay::ingest
