// The temporal optimal partition of a sliding window (RR-8524): one time line for all leaves.
//
// THE IDEA. An area is an interval [i,j] of all leaves, but every leaf keeps its own row: measures are taken
// per leaf over the interval and added up (equations 4 and 5 of RR-8524, whose vectors have one dimension per
// leaf and state). With S, W, I of leaf s over [i,j] as in partition.h:
//
//     loss([i,j]) = sum_s ( I_s - sum_x S_sx*log2(S_sx/W_s) )
//     gain([i,j]) = sum_s ( S_s*log2(W_s) ) - loss([i,j])             S_s = sum_x S_sx
//
// The optimum is the classic one-dimensional recurrence (equations 7 and 8), with the price of the tie rule:
//
//     best(j) = max over i <= j of best(i-1) + pIC([i,j]) - tie
//
// CHOICES. The oldest slice leaves, so best(j), which starts at the oldest, cannot be kept; but it costs only
// O(T^2) additions once the interval measures are there. So a triangle of interval measures is kept (the
// two sums that depend on [i,j]: sum S*log2 S and sum S_s*log2 W_s), valid for every p, and best is computed
// when a partition is asked for. A new slice adds the column [i,n]; dropping the oldest is free.
// The triangle holds fixed-point integers scaled to the largest value possible (61 bits used): adding
// and taking away a leaf's contribution is exact, so an amendment replaces one leaf's terms, leaves join and
// leave, and any history leads to the same bits. Columns are made when somebody reads, up to four in one pass
// over the leaves.
//
// COST, for L leaves, T slices, X states (log: a base-2 logarithm):
//     push       O(L*X log)
//     amend      O(a * T*X log)      a = slices from the amended one to the newest
//     relabel    O(T^2*X log) for each leaf that leaves; a leaf that joins costs nothing
//     partition  O(T^2), the first after n pushes O(n*L*T*X log)
//     evaluate   O(L*T*X log)
// MEMORY, in bytes:  16 * 64 * N*(N+1)/2  +  64 * M * L*(X+2)  + small scratch,
//                    N = floor((T+6)/8) + 1, M = floor((T+7)/8) + 1
//
// Errors, thread safety, ownership: as Spatiotemporal (spatiotemporal.h). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"
#include "margay/partition/partition.h"
#include "margay/partition/tree_shape.h"

namespace margay::partition {

class Temporal {
 public:
  struct Options {
    std::size_t leaves = 0;     // L >= 1
    std::size_t states = 0;     // X >= 1, tested states only
    std::size_t window = 0;     // T >= 1 slices
    std::vector<double> p;      // 1 to 64 values in [0,1]
    SliceIndex first_slice{0};  // the number of the first column pushed
    std::uint64_t memory_budget_bytes = std::uint64_t{1} << 30;
    std::optional<double> tie_bits;    // overrides the default price of the tie rule; >= 0
    std::vector<double> leaf_weights;  // empty: 1 each
    double longest_slice = 1;          // the largest duration of a column
    std::size_t most_leaves = 0;       // reserve for relabel(): the largest sum of leaf weights
  };

  static Result<Temporal> create(Options options);
  static std::uint64_t memory_needed(const Options& options);

  Temporal(Temporal&&) noexcept;
  Temporal& operator=(Temporal&&) noexcept;
  ~Temporal();

  Status push(const Column& column);
  Status push_all(std::span<const Column> columns);
  Status amend(SliceIndex slice, LeafPosition leaf, std::span<const double> v, double w);
  // Other leaves over the same window: from[s] is the present position of leaf s, kNewLeaf if it joins
  // (absent so far). Those that are not named leave. kLimit if they weigh more than the engine was made for,
  // or the memory budget would be exceeded.
  static constexpr LeafPosition kNewLeaf{std::numeric_limits<std::uint32_t>::max()};
  Status relabel(std::span<const LeafPosition> from, std::vector<double> leaf_weights = {});
  // Free: the tables serve every p.
  Status set_p(std::size_t p_index, double p);

  // Does now what pushes have left to be done before the next reading.
  void settle();
  // Parts are in order of time and have node kAllLeaves.
  Result<Partition> partition(std::size_t p_index);
  // For any p, also one that is not in the list.
  Result<Partition> partition_at(double p);
  Result<Partition> evaluate(const Partition& partition) const;

  std::span<const double> p() const;
  std::size_t leaves() const;
  std::size_t states() const;
  std::size_t window() const;
  std::size_t size() const;
  SliceIndex first_slice() const;
  SliceIndex end_slice() const;
  double tie_bits() const;

 private:
  struct Impl;
  explicit Temporal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A new engine over a window the caller kept: columns[0] is options.first_slice. Cost: one push per column.
Result<Temporal> rebuild(Temporal::Options options, std::span<const Column> columns);

}  // namespace margay::partition
