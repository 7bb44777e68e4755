// The optimal partition of a matrix of pairs: who has how much to do with whom, of which rows and columns are
// the leaves of one hierarchy.
//
// A *block* (k, l) is all pairs of a leaf below k and one below l. Blocks have the measures of partition.h,
// with one state: `v` of a pair is what goes from the one to the other, `w` what the pair counts for (0: it
// says nothing, as that of a leaf and itself, where nobody sends to himself). So a block of which all pairs
// have the same loses nothing, however many they are. The optimum is Algorithm 1 of the spatiotemporal paper
// with a second hierarchy in the place of time:
//
//     best(k,l) = max(pIC(k,l) - tie, sum of best(c,l) over children c of k, sum of best(k,c) over those of
//     l)
//
// exactly; ties as in partition.h: the block, then the cut of k, then that of l. Values count by the largest
// v/w, so that bits do not depend on the unit.
//
// Errors: kInvalidArgument where lengths do not fit, a number is negative or not finite, p is outside [0, 1];
// kLimit for more than kMostNodes nodes. Thread safety: none: solving writes into tables of its own.
// Ownership: owns all. Cost, for K nodes: making and solving O(K^2); MEMORY 33 bytes for K^2, that is 33 MiB
// at most.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "margay/base/result.h"
#include "margay/partition/significant.h"
#include "margay/partition/tree_shape.h"

namespace margay::partition {

struct PairBlock {
  NodeIndex from, to;
  double loss = 0, gain = 0;  // bits

  friend bool operator==(const PairBlock&, const PairBlock&) = default;
};

// Disjoint blocks that cover the matrix, depth first; sums over them, in bits.
struct BlockPartition {
  double p = 0;
  double gain = 0, loss = 0;
  std::vector<PairBlock> blocks;
};

class Blocks {
 public:
  static constexpr std::size_t kMostNodes = 1024;
  static constexpr int kPriceSolves = 24;

  // v[i * leaves + j] is of the leaf at position i to that at j.
  static Result<Blocks> create(TreeShape tree, std::span<const double> v, std::span<const double> w);

  Result<BlockPartition> solve(double p);
  // Where that has more than `most` blocks (1 at least): with the least price of a block, instead of `tie`,
  // at which it has not, so that what is summed up beyond the optimum costs the fewest bits. Some
  // kPriceSolves solutions.
  Result<BlockPartition> solve(double p, std::size_t most);
  // Partitions that are optimal at some p, p ascending, from 0 to the whole at 1: those that `options` finds
  // (envelope() of significant.h).
  struct Found {
    std::vector<BlockPartition> partitions;  // p: from which on
    bool complete = true;                    // as SignificantP's
  };
  Result<Found> envelope(const EnvelopeOptions& options);

 private:
  explicit Blocks(TreeShape tree) : tree_(std::move(tree)), size_(tree_.size()) {}
  std::size_t at(NodeIndex from, NodeIndex to) const { return from.value * size_ + to.value; }
  void add_up(std::vector<double>& table) const;
  BlockPartition solve_at(double p, double price);
  void find_best(double p, double price);
  BlockPartition walk(double p) const;

  enum class Cut : std::uint8_t { kNone, kFrom, kTo };
  TreeShape tree_;
  std::size_t size_;
  double tie_ = 0;
  std::vector<double> gain_, loss_, best_;  // of each pair of nodes
  std::vector<Cut> cut_;
};

}  // namespace margay::partition
