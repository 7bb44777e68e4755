// What a slice shows of visits to states. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "grid.h"

namespace margay::detect {

// Less of a visit is where one ends and another begins.
inline constexpr float kOpenFrom = 1e-4f;  // slices

// A visit that is open at an edge of a slice.
struct OpenVisit {
  std::uint16_t state = 0xfffe;  // none
  float age = 0;                 // slices
};

// Leaves x columns, lengths in slices.
struct VisitsSeen {
  const Grid& spent;
  const Grid& ended;    // visits that ended in it
  const Grid& longest;  // from the begin of the visit on; also of one that goes on
  const std::vector<OpenVisit>&before, &after;
  const std::vector<char>&there, &counted;     // by leaf; by column
  const std::vector<std::uint16_t>& state_of;  // by column
};

}  // namespace margay::detect
