// Who may have caused an alert, and how probably: candidates and likely causes. Pure.
//
// Of a departure each node is it as probably as it departs with those who are blamed rather than with the
// others (candidates.h), times how often who is blamed for such a thing was the cause (DETECT.md has the
// table). What a process or the kernel shows leaves no choice. Of those that wait while nobody gets on one is
// the cause, but not which. Who has a CPU that a leaf is not let on took it as probably as its share of what
// was taken. Cost: O(leaves). Thread safety: none.
#pragma once

#include <vector>

#include "margay/detect/detector.h"

namespace margay::detect {

class Causes {
 public:
  // `usual`: what the phase is like. All of these outlive it.
  Causes(const Window& window, const Topology& topology, const Distribution& usual, double min_effect)
      : window_(window), topology_(topology), usual_(usual), min_effect_(min_effect) {}
  // Into the incident's alert. `nodes`: the fewest that hold its culprits and no others; `now`: what leaves
  // have done since its onset; `column`: the newest slice.
  void name(Incident& incident, std::vector<NodeIndex> nodes, const Distribution& now,
            const model::SliceColumn& column) const;

 private:
  std::vector<double> departures_in(StateId state, const Distribution& now) const;
  std::vector<double> departure_probabilities(const Incident& incident, const Distribution& now,
                                              std::vector<std::vector<std::uint32_t>>& groups) const;
  bool nobody_works(const Incident& incident, const model::SliceColumn& column) const;

  const Window& window_;
  const Topology& topology_;
  const Distribution& usual_;
  double min_effect_;
};

}  // namespace margay::detect
