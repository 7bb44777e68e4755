// What tells one kind of job from another, as detection sees it: how heavy the tails of visits are, how long
// noise lasts, how visits are dispersed. Of slices as they come; pure.
#pragma once

#include <cstdint>
#include <vector>

#include "margay/model/slice_column.h"

namespace margay::bench {

// The Hill estimate of the tail index (large: light; 1 to 2: very heavy) from the greatest of these, at least
// `least_tail` and at most a tenth; 0 if there are too few. Cost: a sort.
double hill(std::vector<double> values, std::size_t least_tail = 20);
// Correlation of neighbours; 0 for what does not vary.
double lag1(const std::vector<double>& series);
// Variance over mean; 0 where there is nothing.
double fano(const std::vector<double>& counts);

struct CellStatistics {
  std::size_t leaves = 0, slices = 0, states = 0;
  std::size_t busiest = 0;   // the state in which most time is spent, by its number in the run
  double share = 0;          // of the time, that is spent in it
  double deviation = 0;      // of a leaf's share in it, from slice to slice: standard deviation, median leaf
  double own_deviation = 0;  // the same of its distance from the median over the leaves
  double lag1 = 0;           // of the share, median leaf
  double own_lag1 = 0;       // of its distance from the median over the leaves
  double visits = 0;         // to it that end in a slice, mean
  double fano = 0;           // of them, median leaf
  double hill_work = 0;      // of the longest visit to it in each slice
  double hill_others = 0;    // the same of all other states, each divided by its median: median state
};

class CellSeries {
 public:
  void add(const model::SliceColumn& column);
  // Of all slices added, but for those in which less than half of the leaves were there.
  CellStatistics statistics() const;

 private:
  std::size_t states_ = 0, leaves_ = 0;
  struct Cell {
    float share, longest, visits;  // of the slice; in slices; ended
  };
  std::vector<std::vector<Cell>> slices_;  // leaf x state
  std::vector<std::size_t> width_;         // states of each
};

}  // namespace margay::bench
