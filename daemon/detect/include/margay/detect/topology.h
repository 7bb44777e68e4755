// Names for what the model numbers: the tree of resources and the states of the run. Immutable once shared.
#pragma once

#include <string>
#include <vector>

#include "margay/model/hierarchy.h"
#include "margay/model/state_table.h"

namespace margay::detect {

struct Topology {
  std::uint64_t version = 0;
  model::Hierarchy hierarchy;
  std::vector<model::StateInfo> states;
};

}  // namespace margay::detect
