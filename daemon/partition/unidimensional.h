// The partition in space alone, and the product of it and of the partition in time alone (section III.D of
// the spatiotemporal paper, "Spacial-and-temporal is not Spatiotemporal", Fig. 3.c): each of the two is
// optimal for a model in which the other dimension is one cell, the mean over it. Private to the module.
//
// Both are solved as batches of their own, at the same p: space as a model of one slice, time as one of one
// leaf. What an area of the whole model is worth comes from sums over time of each node.
//
// COST, for K nodes, T slices, X states: making O(K*T*X + T^2/2 * X log); a solution O(K + T^2/2); an area
// O(X log). MEMORY, in doubles: (K+1)*(T+1)*(X+2) and what the two batches take.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "margay/base/result.h"
#include "margay/partition/batch.h"
#include "margay/partition/significant.h"

namespace margay::partition::internal {

inline bool is_unidimensional(Operator op) {
  return op == Operator::kSpatial || op == Operator::kProduct;
}

class Unidimensional {
 public:
  // Beside those of `options`, whose operator must be one of these.
  static std::uint64_t memory_needed(const Batch::Options& options, std::size_t slices);
  // REQUIRES checked columns. Throws std::bad_alloc; errors: those of Batch::create.
  static Result<Unidimensional> create(const Batch::Options& options, std::span<const Column> columns);

  // Without measures, in the order of partition.h. REQUIRES p in [0, 1]. As points(), throws std::bad_alloc.
  std::vector<Part> parts(double p);
  // Loss and gain in the whole model, to rounding of its largest sums.
  void measure(Part& part) const;
  // Each p at which one of the two changes; of more than `most` (2 at least) so many, evenly among them,
  // which is not complete. Asked before each.
  SignificantP points(std::size_t most, const std::function<bool()>& go_on);

 private:
  Unidimensional() = default;
  const double* sums_until(NodeIndex node, std::size_t slice) const {
    return sums_.data() + (node.value * (slices_ + 1) + slice) * (states_ + 2);
  }

  TreeShape tree_ = TreeShape::flat(0);
  std::size_t states_ = 0, slices_ = 0;
  SliceIndex origin_{0};
  std::vector<double> sums_;           // per node, of the first 0..T slices: S_0..S_{X-1}, W, I
  std::optional<Batch> space_, time_;  // kSpatial has no time_
};

}  // namespace margay::partition::internal
