// Parts of their own: a partition in which areas that somebody wants to see are parts, whatever p.
//
// The optimum at a p shows an area as a part where that is worth it to the criterion (RR-8524, equation 6).
// What an alert is about may be too small for that: a second of one rank among 64 whose shares vary is
// aggregated at every p at which noise is. A lower p shows it and hundreds of parts of noise. So instead the
// partition is refined as little as possible: of each part that the area crosses the pieces before, beside
// and behind it stay, in the fewest nodes, and the area is one part for each of the fewest nodes that hold
// its leaves and no other. All other parts are those of the optimum, and of what is shown gain, loss and pIC
// are exact once it is evaluated (Spatiotemporal::evaluate, Batch::evaluate).
//
// An area that is apart already (is_apart) is left as it is.
//
// At most `most` parts are made in all. Where there are more, parents are drawn elsewhere (coarsen.h). Where
// siblings in flat trees would be too many even so, the parents of the area's nodes are shown instead, up to
// the root, and if even that is too much nothing of the area.
//
// Pure. Thread safety: functions of their arguments. Errors: none; areas outside the partition have no
// effect. Cost: of an area, O(nodes + parts * leaves), and coarsen()'s where there are too many parts; it
// recurses as deep as the tree is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "margay/partition/coarsen.h"
#include "margay/partition/partition.h"
#include "margay/partition/tree_shape.h"

namespace margay::partition {

struct Area {
  std::vector<LeafPosition> leaves;
  SliceIndex first, last;  // both inside
};

inline constexpr std::size_t kMostShown = 60;  // a picture of more parts is no overview
inline constexpr std::size_t kMostAreas = 8;   // that are worth keeping
inline constexpr std::size_t kMostTold = 64;   // alerts that they are made of (join_areas)

// Areas of the same leaves with at most `gap` slices between them are one: what is stopped again and again is
// slow. In the order of the first of each. Of areas, or of what has leaves, first and last as these do. Cost:
// O(areas^2).
template <class Areas>
std::vector<typename Areas::value_type> join_areas(const Areas& areas, std::int64_t gap) {
  std::vector<typename Areas::value_type> out;
  for (const auto& area : areas) {
    const auto before = std::find_if(out.begin(), out.end(), [&](const auto& o) {
      return o.leaves == area.leaves && area.first.value - o.last.value <= gap &&
             o.first.value - area.last.value <= gap;
    });
    if (before == out.end()) {
      out.push_back(area);
    } else {
      before->first = std::min(before->first, area.first);
      before->last = std::max(before->last, area.last);
    }
  }
  return out;
}

// Later areas are cut into what earlier ones leave: one that would take an earlier one apart is left out.
// Without areas the partition is only coarsened. REQUIRES parts of the spatiotemporal operator over `tree`
// that cover it. Gains and losses of new parts are 0: to be evaluated.
void set_apart(Partition& partition, const TreeShape& tree, std::span<const Area> areas, const Worth& worth,
               std::size_t most = kMostShown);

// Whether the area is: for each of its leaves there is a part of none but its leaves that shares at least
// half of its slices with it (intersection over union).
bool is_apart(const Partition& partition, const TreeShape& tree, const Area& area);

}  // namespace margay::partition
