// Whose visits take k times as long as usual: a sequential test of nodes, state by state. Pure.
//
// Page's cumulative sums (Continuous inspection schemes, 1954) of how much likelier what the visits show is
// if they take k times as long (visit_lengths.h), divided by how much more than independent visits those of a
// node scatter. What all others show as well, in the same slice, is nobody's. A fault may hurt several states
// of a node (who reads from a slow disk writes to it, too), so the sums of its states count together as well,
// for a little less: so many more ways are there to be wrong.
//
// Cost per slice: O(nodes * columns). Memory: nodes * columns * 56 bytes. Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grid.h"
#include "visit_lengths.h"

namespace margay::detect {

class Stretch {
 public:
  static constexpr std::size_t kFactors = VisitLengths::kFactors.size();

  // Items x columns, sums over the leaves of each item (visit_lengths.h).
  struct Slice {
    std::array<Grid, kFactors> evidence;
    Grid at, ended, far;
    Grid excess;  // time in it that usual visits would not have taken, as a share of the slice: means
    static constexpr std::size_t kGrids = kFactors + 3;
    std::array<Grid*, kGrids> grids() { return {&evidence[0], &evidence[1], &at, &ended, &far}; }
  };

  // `items` nodes of so many depths; leaves come first, and are of depth 0.
  void lay_out(std::size_t items, std::size_t groups, std::size_t columns);
  // Forgets all of items from this one on.
  void clear_from(std::size_t item);
  // To be filled before `take`.
  Slice& slice() { return slice_; }
  void take(const std::vector<std::uint32_t>& group);
  // The slice that was taken is a quiet one.
  void learn(const std::vector<std::uint32_t>& group);
  // What has summed up so far is of another time.
  void restart();

  struct Score {
    float score = 0;           // natural logarithm of a ratio of likelihoods
    std::uint32_t slices = 1;  // since it began to rise
    float effect = 0;          // excess since then, in the mean
  };
  Score of(std::size_t item) const;

 private:
  static constexpr std::uint32_t kBlock = 8;  // slices in which a scatter that lasts is seen
  struct Scatter {
    double squares = 0, visits = 0;
  };
  float dispersion(std::size_t group, std::size_t column) const;

  std::size_t items_ = 0, groups_ = 0, columns_ = 0;
  Slice slice_;
  std::array<Grid, kFactors> sum_, since_, excess_;
  // Of all leaves: what a visit says in a quiet slice.
  struct Usual {
    double sum = 0, squares = 0, visits = 0;
  };
  std::vector<Usual> usual_;  // by factor * columns_ + column
  Grid block_, block_visits_;
  std::uint32_t in_block_ = 0;
  std::vector<Scatter> scatter_, scatter_block_;  // by group * columns_ + column
};

}  // namespace margay::detect
