// Whose visits end later than they usually do: a sequential test for work that comes in visits of any length,
// also longer than a slice. Pure.
//
// On the clock of its own cumulated hazard every visit lasts 1 in the mean, whatever its distribution (the
// time-rescaling theorem: Brown et al., The time-rescaling theorem and its application to neural spike train
// data analysis, 2002). So of each node and state the visits that end are counted, and those that should have
// ended: the hazard that its visits, those that go on as well, have passed in the slice. Both are compared by
// Page's cumulative sums (Continuous inspection schemes, 1954) of the logarithm of how much likelier they are
// with all visits `kFactors` times as long, divided by how much more than a Poisson process they scatter
// (McCullagh and Nelder's dispersion). What slows all leaves alike, in the same slice, is nobody's.
//
// Cost per slice: O(nodes * columns). Memory: nodes * columns * 32 bytes. Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grid.h"

namespace margay::detect {

class Tempo {
 public:
  static constexpr std::array<float, 2> kFactors = {2, 4};

  // `items` nodes of so many depths; `group` is the depth of each.
  void lay_out(std::size_t items, std::size_t groups, std::size_t columns);
  // Forgets all of items from this one on.
  void clear_from(std::size_t item);
  // Visits that should have ended in the slice, and that did, of each item: columns each.
  void take(const Grid& passed, const Grid& ended, const std::vector<std::uint32_t>& group);
  // The slice that was taken is a quiet one.
  void learn(const std::vector<std::uint32_t>& group);
  // What has summed up so far is of another time.
  void restart();

  struct Score {
    float score = 0;           // natural logarithm of a ratio of likelihoods
    std::uint32_t slices = 1;  // since it began to rise
  };
  // The greatest over states.
  Score of(std::size_t item) const;

 private:
  static constexpr std::uint32_t kBlock = 8;  // slices in which a scatter that lasts is seen
  struct Scatter {
    double squares = 0, expected = 0;
  };
  float dispersion(std::size_t group, std::size_t column) const;

  std::size_t items_ = 0, groups_ = 0, columns_ = 0;
  std::array<Grid, kFactors.size()> sum_, since_;
  Grid expected_, ended_;        // of the slice
  Grid block_, block_expected_;  // of the slices of a block
  std::uint32_t in_block_ = 0;
  std::vector<double> all_passed_, all_ended_;    // by column, of the slice
  std::vector<double> usual_;                     // by column: ended of passed
  std::vector<Scatter> scatter_, scatter_block_;  // by group * columns_ + column
};

}  // namespace margay::detect
