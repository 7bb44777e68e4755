// Names for what the model numbers: the tree of resources and the states of the run. Immutable once shared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "margay/model/hierarchy.h"
#include "margay/model/state_table.h"

namespace margay::detect {

struct Topology {
  std::uint64_t version = 0;
  model::Hierarchy hierarchy;
  // Of its leaves; null: nothing is known of them.
  std::shared_ptr<const std::vector<model::Attributes>> attributes;
  std::vector<model::StateInfo> states;
};

}  // namespace margay::detect
