// Who of the leaves is the cause, by what all have done since the onset. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "contrast.h"
#include "node_items.h"
#include "node_means.h"
#include "state_kind.h"
#include "stretch_sums.h"

namespace margay::detect {

// Of fewer leaves it cannot be said what many or nearly all do.
constexpr std::size_t kLeastLeaves = 4;
// Of so many leaves one: many.
constexpr std::size_t kMany = 4;
// Waits that nobody's work explains have to exceed so many times the limit: most that are long are somebody
// else's doing.
constexpr double kWaits = 1.5;
// Of the strongest's way, to be blamed with it.
constexpr float kBelongs = 0.5f;
// Share of the time that the machine takes, to be a cause.
constexpr float kTaken = 0.1f;
// Slices that look like a perturbation are not learned from, but not for ever.
constexpr std::uint32_t kMostSuspicious = 24;

// What leaves have done since the onset.
struct Since {
  Grid departure;                // leaves x cells, sums
  Grid time_in;                  // leaves x columns, in slices
  float slices = 0;              // so many
  bool taken_by_others = false;  // those not of the job were seen on the CPUs of all leaves
};

struct Blamed {
  std::set<std::uint32_t> leaves;
  std::set<std::uint32_t>
      depart;               // who goes the way: the same, or those that wait for them; empty without one
  std::uint16_t state = 0;  // in which the time goes that is missing, or one of Episode's
  bool works = false;       // that state is work
  double excess = 0;        // share of the time that its visits take longer than usual
  double log_ratio = 0;     // mean logarithm: times as long as usual; by lengths only
  std::vector<float> way;   // cells: what they do more than usual; empty where lengths of visits tell it
  bool everybody = false;   // nearly all leaves go that way: the job does something else now
};

// By departures: all leaves that go at least half as far the way of the strongest. From whom the machine
// takes time is to blame before all others; who works longer comes before who waits longer, and so does who
// no longer waits while these do. Work that comes in visits hurts a leaf only while it is at it: where of a
// node's leaves those that could show it do, the whole node is blamed. Cost: O(leaves * cells).
Blamed blame_departures(const Since& since, const NodeMeans& means, const NodeItems& items,
                        const Columns& columns);

// By lengths of visits: the set of nodes with the most evidence (Algorithm 1's recursion over the hierarchy;
// each node named costs `cost` nats), and of these those whose visits take the most times as long as usual,
// as far as their evidence is `least`; where some work longer and others wait longer, those that work, if
// that takes `least_effect` of the time. Cost: O(nodes * columns).
Blamed blame_lengths(const StretchSums& sums, const NodeItems& items, const Columns& columns, float cost,
                     float least, double least_effect);

}  // namespace margay::detect
