// Who of the leaves is the cause, by how long their visits take. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "node_items.h"
#include "surprise_sums.h"

namespace margay::detect {

// What the columns of a job are (contrast.h): the machine's, then the states that have occurred.
struct Columns {
  std::vector<std::uint16_t> state_of;
  std::vector<char> work;
};

struct Blamed {
  std::set<std::uint32_t> leaves;
  std::uint16_t state = 0;  // in which the time goes that is missing, or one of Episode's
  bool works = false;       // that state is work
  double excess = 0;        // share of the time that is not idle that its visits take beyond what is usual
  double log_ratio = 0;     // mean logarithm: times as long as usual
};

// By lengths of visits: the set of nodes with the most evidence (Algorithm 1's recursion over the hierarchy;
// each node named costs `cost` nats), and of these those whose visits take the most times as long as usual,
// as far as their evidence is `least`; where some work longer and others wait longer, those that work. Cost:
// O(nodes * columns).
Blamed blame_lengths(const SurpriseSums& sums, const NodeItems& items, const Columns& columns, float cost,
                     float least);

}  // namespace margay::detect
