// What the resources of a part do in it: the sums of its states, for people to read. Private to the folder.
#pragma once

#include <cstddef>
#include <vector>

#include "margay/partition/partition.h"
#include "model_file.h"

namespace margay::daemon::internal {

struct StateShare {
  std::size_t state = 0;
  double share = 0;  // of the part's total
  double mean = 0;   // of a cell, in the model's units
};

// The largest states of the part, largest first, at most `most`; none if the part has no mass.
std::vector<StateShare> largest_states(const Model& model, const partition::Part& part, std::size_t most);
// The node that a part is about: the temporal operator's parts are those of the root.
inline NodeIndex node_of(const Model& model, const partition::Part& part) {
  return part.node == partition::kAllLeaves ? model.tree.root() : part.node;
}

}  // namespace margay::daemon::internal
