// How many independent tests several tests of the same slices are worth. Pure.
//
// What is odd in a slice shows in the score of the slice and of the last eight, in that of a leaf and of its
// node, and so in several slices in a row. A rate of false alarms that is divided among so many tests
// (Bonferroni) is kept, but not reached: where ten exceed their limits by one cause, there is one alarm and
// not ten. So it is counted how often any does, for the first time in a while, where the tests alone do it in
// all (the extremal index: Leadbetter, Extremes and local dependence in stationary sequences, 1983; over
// tests as well as over time). That is known of scores that are seen often. Of those that are as seldom as
// what is asked for, tests may well be apart, and until so many have been seen it is believed as far as they
// have been.
//
// Cost: none to speak of. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace margay::detect {

class Overlap {
 public:
  // Of slice `slice`, which grows: so many tests are beyond a score that each exceeds about as often.
  void add(std::uint64_t slice, std::size_t beyond) {
    if (beyond == 0) return;
    if (last_ == 0 || slice > last_ + kTogether) clusters_ += 1;
    last_ = slice;
    beyond_ += static_cast<double>(beyond);
  }
  // What `tests`, of which `live` ever come near what is asked for, are worth; at least one. `expected`:
  // alarms that were asked for in the slices seen.
  double independent(double tests, double live, double expected) const {
    const double apart = (clusters_ + kPrior) / (beyond_ + kPrior);
    const double seen = std::min(1.0, expected / kSeen);
    return std::max(1.0, (1 - seen) * tests + seen * live * apart);
  }

 private:
  static constexpr std::uint64_t kTogether = 8;  // slices
  static constexpr double kPrior = 16;           // that were apart, before any are seen
  static constexpr double kSeen = 8;             // alarms
  double clusters_ = 0, beyond_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace margay::detect
