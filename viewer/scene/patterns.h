// Which states of a legend get a pattern, because another one has nearly the same colour. Private to the
// folder.
//
// Thread safety: pure. Cost: linear in the states, quadratic in the different colours among them.
#pragma once

#include <span>
#include <vector>

#include "margay/scene/palette.h"

namespace margay::scene::internal {

struct LegendColour {
  Rgb colour;
  bool plain = false;  // has no pattern whatever its colour
};

// One for each, in the order of the legend. Of those that are alike() the first is plain and the others have
// patterns, a different one each as long as there are enough. After that those of the same colour differ
// while they are fewer than kPatterns, and each differs from the one before it.
std::vector<Pattern> patterns_of(std::span<const LegendColour> legend);

}  // namespace margay::scene::internal
