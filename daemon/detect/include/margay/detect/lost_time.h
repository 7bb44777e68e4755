// How much later a job is because of what goes on: by what those who are not to blame get done. Pure.
//
// In a coupled job the others wait for whoever is slow, so how far the job has come shows in them: where they
// work v of a slice's time, and in this phase usually u, the job has come v / u of a slice further, and lost
// 1 - v / u of it. (Where each step takes the others as much work as ever, v / u is the steps that the slice
// has had, of those that it usually has: progress against the baseline, but counted in time, so that it is
// known also where a step takes longer than a slice.) Summed up since the onset; a slice in which they catch
// up counts as well, with the other sign.
//
// Each slice is counted once, with who was blamed then. Cost of a slice: O(leaves * columns).
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "margay/detect/distribution.h"

namespace margay::detect {

class LostTime {
 public:
  // By column of the window; a state is one of them, or idle.
  struct Kinds {
    std::vector<char> work, waits;
  };
  // The slices of the window from `first` on that have not been counted yet. `usual`: what the phase is like.
  void take(const Window& window, SliceIndex first, const Distribution& usual,
            const std::set<std::uint32_t>& blamed, const Kinds& kinds);

  // Slices that the job has lost; nothing where it does not show: all are blamed, the others never wait, or
  // what they usually do is not known.
  std::optional<double> by_others() const;
  // Slices in which the blamed were not idle, in the mean over them.
  double busy() const { return busy_; }

 private:
  std::optional<SliceIndex> next_;
  double lost_ = 0, waited_ = 0, counted_ = 0;
  double busy_ = 0;
};

}  // namespace margay::detect
