// What comes back by the clock is the program's own: the same leaves do the same every so often. Pure.
//
// Three times it is told; from then on, as long as it keeps its time, it is usual here. What comes back at
// any time is told each time. Cost: O(kinds remembered * leaves) for each episode. Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "margay/base/ids.h"

namespace margay::detect {

class Recurrence {
 public:
  // An episode of these leaves in this state would begin now: is it usual by now? It is remembered.
  bool usual(const std::set<std::uint32_t>& leaves, std::uint16_t state, SliceIndex now);

 private:
  struct Kind {
    std::set<std::uint32_t> leaves;
    std::uint16_t state = 0;
    std::deque<SliceIndex> at;  // the newest last
  };
  std::deque<Kind> kinds_;  // of the newest, the last
};

}  // namespace margay::detect
