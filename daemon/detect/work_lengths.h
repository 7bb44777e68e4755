// How much longer than in all the time before visits of work take, in each mode of the job. Pure.
//
// Of a leaf and a column of work, visits that ended in a slice have taken `excess` longer than as many
// usually take, in slices; a visit counts with all of its length where it ends, so that sums over slices are
// those over visits. `longer` is the same as a part of the time that a slice usually has of this work, so
// that its mean over slices says how many times as long the work takes, less one, whatever the job has more
// of meanwhile. Usual is the mean over all slices before of the same mode (contrast.h), up to kMemory of
// them: these are recursive residuals, which hang together no more than lengths do (Brown, Durbin and Evans,
// Techniques for testing the constancy of regression relationships over time, 1975).
//
// Cost per slice: O(leaves * columns). Memory: modes * leaves * columns * 8 bytes (8 modes at most). Thread
// safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "contrast.h"
#include "grid.h"

namespace margay::detect {

class WorkLengths {
 public:
  // Slices: what has changed for hours is usual.
  static constexpr float kMemory = 32768;
  static constexpr float kLeast = 64;

  // The slice that `contrast` has measured. `except`: leaves of which nothing is learned.
  void take(const Contrast& contrast, const Columns& columns, const std::vector<char>& except);
  // What is known of the leaf is of another time.
  void forget(std::uint32_t leaf);
  // Leaves x columns; 0 where nothing is known.
  const Grid& excess() const { return excess_; }
  const Grid& longer() const { return longer_; }
  // By leaf: is it known for kLeast slices what is usual of it in this mode?
  const std::vector<char>& known() const { return known_; }

 private:
  struct Usual {
    std::uint64_t mode = 0;     // its number
    Grid time, visits;          // sums
    std::vector<float> slices;  // by leaf
  };
  std::vector<Usual> usual_;  // by the place of the mode
  Grid excess_, longer_;
  std::vector<char> known_;
};

}  // namespace margay::detect
