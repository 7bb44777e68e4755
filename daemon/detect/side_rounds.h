// Work beside the job's own that ranks do now and then all together, files that are written: how long it took
// those of this round that have done with it, which says how long it should take the others. Pure.
//
// A round lasts as long as somebody is at it. Its length is the median of the visits that have ended, from
// when they are half of those that have been at it, and as many as siblings count (UsualLengths::kSiblings):
// what is common to all, a file system that others load, is in it, and so in nobody's evidence.
//
// Cost per slice: O(leaves * such columns). Memory: 4 bytes a leaf and column. Thread safety: none.
#pragma once

#include <vector>

#include "grid.h"
#include "margay/base/ids.h"
#include "visits_seen.h"

namespace margay::detect {

class SideRounds {
 public:
  // What was seen of slice `now`, of these columns (not 0) alone. A slice that is left out ends the rounds.
  void take(const VisitsSeen& seen, const std::vector<char>& columns, SliceIndex now);
  // By column: somebody was at it in the newest slice.
  const std::vector<char>& going_on() const { return going_on_; }
  // By column: as many have been at it in this round as siblings count. Who does it alone has nobody to be
  // compared with.
  const std::vector<char>& shared() const { return shared_; }
  // By column, the length of the round in slices; 0 while it is not known. At the end of the newest slice,
  // and of the one before.
  const std::vector<float>& lengths() const { return now_; }
  const std::vector<float>& lengths_before() const { return before_; }

 private:
  void end(std::size_t column);

  std::vector<char> going_on_, shared_;
  std::vector<float> now_, before_;
  Grid took_;  // by leaf: the longest visit of this round that has ended, slices; 0: none
  std::vector<float> done_;
  SliceIndex last_{};
};

}  // namespace margay::detect
