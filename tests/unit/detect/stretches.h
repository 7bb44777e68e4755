// What stretches of visits of an item have come to, of all columns: for tests.
#pragma once

#include "stretch_sums.h"

namespace margay::detect::test {

inline StretchSums::Score strongest(const StretchSums& stretches, std::size_t item) {
  StretchSums::Score best;
  for (std::size_t x = 0; x <= stretches.columns(); ++x)
    if (stretches.evidence(item, x) > best.score) best = stretches.at(item, x);
  return best;
}

// Of those that the newest slice has ended.
inline StretchSums::Ended ended(const StretchSums& stretches, std::size_t item) {
  StretchSums::Ended most{item, 0, 0, 0};
  for (const StretchSums::Ended& e : stretches.ended())
    if (e.item == item && e.score > most.score) most = e;
  return most;
}

}  // namespace margay::detect::test
