// What is left of a perturbation that is over: who waited is late, and makes its neighbours wait in turn,
// through the machine, although nobody is slow any more (Afzal, Hager, Wellein: Propagation and decay of
// injected one-off delays on clusters, 2019). Waits that begin so soon after it, or after such waits, are no
// other perturbation, for so long at most. Pure. Cost: O(1). Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "margay/base/ids.h"

namespace margay::detect {

class IdleWave {
 public:
  // Slices: after which waits are something else, and in all.
  IdleWave(std::int64_t behind, std::int64_t longest)
      : behind_(behind), longest_(longest), end_(-longest - 1), wave_(end_) {}
  // A perturbation goes on until this slice (exclusive), or has ended there.
  void perturbed(SliceIndex until) {
    end_ = std::max(end_, until);
    wave_ = std::max(wave_, end_);
  }
  // Is it no more than the wave if somebody has waited longer from `onset` to now?
  bool explains(SliceIndex onset, SliceIndex now) {
    if (onset > wave_ + behind_ || now > end_ + longest_) return false;
    wave_ = std::max(wave_, now);
    return true;
  }

 private:
  std::int64_t behind_, longest_;
  SliceIndex end_, wave_;
};

}  // namespace margay::detect
