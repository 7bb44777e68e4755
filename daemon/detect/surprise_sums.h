// Whose visits have been surprisingly long of late: bets summed up over nodes and time. Pure.
//
// Of each node and state, and of all its states together, the evidence of visits (visit_surprise.h) of the
// stretch that ends now (stretch_sums.h). What all others show as well, in the same slice, is nobody's.
//
// Cost per slice: O(nodes * columns). Memory: nodes * columns * 48 bytes. Thread safety: none.
#pragma once

#include <vector>

#include "grid.h"
#include "stretch_sums.h"
#include "visit_surprise.h"

namespace margay::detect {

class SurpriseSums {
 public:
  // What happens to many in one slice may be one thing: of a node it counts as four visits at most.
  static constexpr float kMostOfSlice = 24;  // nats

  // Items x columns, sums over the leaves of each item.
  struct Slice : VisitSurprise::Told {
    std::vector<float> busy;   // by item: time that its leaves were not idle, in slices
    std::vector<float> there;  // by item: leaves that there are
  };
  // `items` nodes; leaves come first.
  void lay_out(std::size_t items, std::size_t columns);
  // To be filled before `take`.
  Slice& slice() { return slice_; }
  const Slice& slice() const { return slice_; }
  void take(std::size_t leaves);
  StretchSums& stretches() { return stretches_; }
  const StretchSums& stretches() const { return stretches_; }

 private:
  std::size_t items_ = 0, columns_ = 0;
  Slice slice_;
  StretchSums stretches_;
};

}  // namespace margay::detect
