// A coarser partition of a bounded number of parts: where there are more than a picture can show, parents are
// drawn instead of their children, and one interval instead of two.
//
// Parts that may be one area (two of a node that follow each other in time; those of all children of a node
// over the same slices) are merged one after the other, always those that cost the fewest bits of pIC for
// each part that there is less: weakest links first (Breiman et al., Classification and Regression Trees,
// 1984, cost-complexity pruning), from below as in Ward's method. What is left is a partition whose parts are
// unions of those before. Everything can become one part, but for what is to be kept.
//
// Pure, deterministic. Errors: none. Thread safety: functions of their arguments; `worth` and `keep` are
// called by the caller's thread. Cost: O(parts log parts), and a call of `worth` for each part and each pair
// or family of parts that could merge; nothing where there are few enough.
#pragma once

#include <cstddef>
#include <functional>

#include "margay/partition/partition.h"
#include "margay/partition/tree_shape.h"

namespace margay::partition {

// pIC of an area at the partition's p, in bits; a constant for each cell may be left out. REQUIRES nothing of
// Part::gain and Part::loss.
using Worth = std::function<double(const Part&)>;
// Whether a part is to stay as it is.
using Keep = std::function<bool(const Part&)>;

// To `most` parts or, where what is kept does not allow that, to as few as can be. REQUIRES parts of the
// spatiotemporal operator over `tree` that cover a window. Gains and losses of new parts are 0: to be
// evaluated.
void coarsen(Partition& partition, const TreeShape& tree, std::size_t most, const Worth& worth,
             const Keep& keep = {});

}  // namespace margay::partition
