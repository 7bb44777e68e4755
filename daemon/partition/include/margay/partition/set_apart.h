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
// Where siblings in flat trees would make more than `most` parts in all, the parents of the area's nodes are
// shown instead, up to the root, and if even that is too much nothing of the area. Of an optimum that has as
// many already kRoom more are made.
//
// Pure. Thread safety: functions of their arguments. Errors: none; areas outside the partition have no
// effect. Cost: of an area, O(nodes + parts * leaves); it recurses as deep as the tree is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "margay/partition/partition.h"
#include "margay/partition/tree_shape.h"

namespace margay::partition {

struct Area {
  std::vector<LeafPosition> leaves;
  SliceIndex first, last;  // both inside
};

inline constexpr std::size_t kMostShown = 60;  // a picture of more parts is no overview
inline constexpr std::size_t kRoom = 24;
inline constexpr std::size_t kMostAreas = 8;  // that are worth keeping

// Later areas are cut into earlier ones where they overlap, and have what room those leave. REQUIRES parts of
// the spatiotemporal operator over `tree` that cover it. Gains and losses of new parts are 0: to be
// evaluated.
void set_apart(Partition& partition, const TreeShape& tree, std::span<const Area> areas,
               std::size_t most = kMostShown);

// Whether the area is: for each of its leaves there is a part of none but its leaves that shares at least
// half of its slices with it (intersection over union).
bool is_apart(const Partition& partition, const TreeShape& tree, const Area& area);

}  // namespace margay::partition
