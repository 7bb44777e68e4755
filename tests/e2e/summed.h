// What a captured run's messages would have been, had every process summed its calls
// (collector/probe/SUMS.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "captured.h"

namespace margay::test {

struct Summed {
  std::vector<Message> messages;
  std::uint64_t events = 0;   // that were summed
  std::uint64_t records = 0;  // that are left
};

// The records of each stream go, in order, through the probe's own writer, which is asked to sum from the
// first on, and are taken by the agent's own reader whenever a message of theirs came. False: a record is
// missing, or does not decode; `why` tells.
bool sum_captured(const std::vector<Message>& messages, const store::RunMeta& run, Summed& out,
                  std::string& why);

}  // namespace margay::test
