// A phase that was recognised before, as plain values: what outlives the slices it was learned from. A value.
#pragma once

#include <string>
#include <vector>

#include "margay/base/ids.h"
#include "margay/detect/distribution.h"
#include "margay/detect/phases.h"

namespace margay::detect {

struct KnownPhase {
  std::string name;             // "A", "10s:A"
  SliceIndex born{};            // the newest slice that was known when this was written down
  std::vector<StateId> states;  // of the signature's columns
  Distribution signature;       // by leaf
};

// What a detector that begins in the middle of a run is told of what came before.
struct PhaseMemory {
  std::vector<KnownPhase> phases;  // any order; columns of all of a level begin alike
  std::vector<PhaseSpan> before;   // stretches that were over, oldest first, level by level
};

}  // namespace margay::detect
