// Mean state distributions per leaf, and how far two of them are apart. Pure.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "margay/detect/window.h"

namespace margay::detect {

class Distribution {
 public:
  Distribution() = default;
  // As columns(), sums(), weights() and visits() of another one told: `sums` has a value per leaf and column,
  // `visits` one per column, or none where nobody knows.
  Distribution(std::size_t columns, std::vector<double> sums, std::vector<double> weights, double slices,
               std::vector<double> visits = {})
      : columns_(columns),
        sum_(std::move(sums)),
        weight_(std::move(weights)),
        visits_(std::move(visits)),
        slices_(slices) {
    visits_.resize(columns_, 0.0);
  }
  void add(const Window& window, SliceIndex slice, double weight = 1.0);
  void add(const Distribution& other);
  void scale(double factor);
  // Slices added, as weight.
  double slices() const { return slices_; }
  std::size_t leaves() const { return weight_.size(); }
  std::size_t columns() const { return columns_; }
  std::span<const double> sums() const { return sum_; }
  std::span<const double> weights() const { return weight_; }
  // The leaf's mean proportion in a column; 0 where unknown.
  double share(LeafIndex leaf, std::size_t column) const;
  double weight(LeafIndex leaf) const { return leaf.value < weight_.size() ? weight_[leaf.value] : 0.0; }
  // Mean over all leaves.
  std::vector<double> pooled() const;
  // Visits that ended, of all leaves together, by column.
  std::span<const double> visits() const { return visits_; }

 private:
  friend double distance_bits(const Distribution&, const Distribution&);
  friend double distance_bound_bits(const Distribution&, const Distribution&);
  friend double merge_loss_bits(const Distribution&, const Distribution&);
  void reach(std::size_t leaves, std::size_t columns);
  std::size_t columns_ = 0;
  std::vector<double> sum_;     // [leaf * columns_ + column]
  std::vector<double> weight_;  // [leaf]
  std::vector<double> visits_;  // [column]
  double slices_ = 0;
};

// The Jensen-Shannon divergence of each leaf's two distributions, in bits, mean over the leaves that both
// know: 0 for equal, 1 for nothing in common.
double distance_bits(const Distribution& a, const Distribution& b);

// Not less than distance_bits, for a tenth of its cost: half the triangular discrimination, the sum of
// (u - v)^2 / (u + v). (Topsoe, Some inequalities for information divergence, 2000; it holds term by term.)
double distance_bound_bits(const Distribution& a, const Distribution& b);

// The information lost by merging the two, leaf by leaf, in bits: equation 4 of RR-8524 for two aggregates,
// each homogeneous. Weighs both by how many slices they hold.
double merge_loss_bits(const Distribution& a, const Distribution& b);
// Of numbers of visits by state.
double merge_loss_bits(std::span<const double> a, std::span<const double> b);

// Do both do the same things, however long they take? What a program does shows in how often it does what,
// and that does not change with the machine: the Jensen-Shannon divergence of how the visits divide among the
// states is then small, beyond what chance makes of as many. False where either has too few visits to tell.
bool same_visits(const Distribution& a, const Distribution& b);
// Of visits by state.
bool same_visits(std::span<const double> a, std::span<const double> b);
// Fewer do not tell how they divide.
inline constexpr double kLeastVisits = 50;

// Total variation distance of a row from a leaf's mean: the share of time that went elsewhere. 0 to 1.
double total_variation(std::span<const double> row, double weight, const Distribution& mean, LeafIndex leaf);

}  // namespace margay::detect
