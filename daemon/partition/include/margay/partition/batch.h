// A whole model at once: every interval of every node is measured once, then solved for as many p as wanted.
// What `margay partition`, the list of significant p and the quality curves are made from; the live engines
// (spatiotemporal.h, temporal.h) keep a sliding window instead. Both give the same partition of the same
// cells at the same p.
//
// THE IDEA. Of an area only two numbers depend on how it lies: a = sum_x S_x*log2(S_x) and b = (sum_x
// S_x)*log2(W) (partition.h). Without I, which every partition has, pIC(A) = p*gain - (1-p)*loss (RR-8524,
// equation 6) is a - (1-p)*b, so one table of a and b serves all p. A solution is the recurrence of
// spatiotemporal.h (spatiotemporal-aggregation, section III.E), with the price `tie` of the tie rule:
//
//     base_k(i,j) = max( a - (1-p)*b - tie,  sum over c of best_c(i,j) )
//     best_k(i,j) = max( base_k(i,j),  max over i <= m < j of best_k(i,m) + base_k(m+1,j) )
//
// and the temporal operator's is the one of temporal.h (RR-8524, equations 7 and 8), a and b being sums over
// leaves. The parts are found from the whole downwards by the engines' choices. Space alone is a model of one
// slice, time alone one of one leaf (unidimensional.h).
//
// THE OPTIMISATIONS. Triangles lie by columns of j, so that the sums of all [i,j] grow by one slice at a
// time, eight i at once, and the cuts are a (max,+) product over contiguous rows. The base-2 logarithm is a
// polynomial, with AVX-512 of what a table leaves (error about 1e-15). States that a node never has cost
// nothing. These loops are compiled for AVX2 and AVX-512 too and chosen at run time; the machines' results
// differ in the last bits of a and b, which the tie rule hides.
//
// COST, for K nodes, L leaves, T slices, X states (log: a base-2 logarithm):
//     create     O(K * T^2/2 * (X+1) log)      temporal: L for K
//     solve      O(K * T^3/6) + parts * depth * T at worst + O(L*T*X log); temporal: O(T^2/2 + L*T*X log)
//     kSpatial, kProduct: create O(K*T*X + L*T*X log + T^2/2 * X log), solve as temporal
// MEMORY, in bytes (memory_needed() tells it; N = 8*(q+1)*(4*q+r) with q = floor(T/8), r = T mod 8, which is
// near T^2/2):
//     spatiotemporal    8 * ( K * ( 3*N + T*(X+2) )  +  scratch )
//     temporal          8 * ( 2*N  +  L*T*(X+2)      +  scratch )
//     spatial, product  8 * ( 2*N  +  (L+K+2)*(T+1)*(X+2)  +  scratch ), nearly
//     scratch           (X+3) * T + 2*L*X, T and X rounded up to 8
// Partitions come on top: 40 bytes a part.
//
// ONE PATH. A spatiotemporal model whose tables are over the budget is solved by those of one way from the
// root down at a time (spatiotemporal.h, kOnePath), each time anew: 8 * K * T*(X+2) bytes for sums, and 9 *
// T^2 for each of the levels of the hierarchy, nearly. The partition is the same.
//
// Errors: create() refuses what the engines refuse, naming leaf, slice and state (kInvalidArgument), and a
// model over the budget, naming need and budget (kLimit); solve() refuses p outside [0,1]. Thread safety:
// const calls may run together; solve() writes the tables and needs exclusive access. Ownership: owns copies
// of the cells; columns are borrowed for the call. Pure: no clock, file, log or randomness.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "margay/partition/partition.h"
#include "margay/partition/tree_shape.h"

namespace margay::partition {

enum class Operator {
  kTemporal,        // RR-8524: one list of cuts in time for all leaves, each of which keeps its own row
  kSpatiotemporal,  // areas are node x interval
  // Section III.D of spatiotemporal-aggregation, Fig. 3.c. Parts are measured in the whole model, as those of
  // kSpatiotemporal are, so that what each way loses can be compared.
  kSpatial,  // nodes, all time each: optimal for the mean over time
  kProduct,  // those nodes x the intervals that are optimal for the mean over leaves
};
// As people write them.
inline constexpr std::array<std::pair<std::string_view, Operator>, 4> kOperatorNames = {
    {{"spatiotemporal", Operator::kSpatiotemporal},
     {"temporal", Operator::kTemporal},
     {"spatial", Operator::kSpatial},
     {"product", Operator::kProduct}}};

class Batch {
 public:
  struct Options {
    Operator op = Operator::kSpatiotemporal;
    TreeShape tree = TreeShape::flat(0);
    std::size_t states = 0;
    SliceIndex first_slice{0};
    std::uint64_t memory_budget_bytes = std::uint64_t{4} << 30;
    std::optional<double> tie_bits;  // as in the engines
    // Keeps room for the nodes of other trees (regroup()): addresses, no memory before they are used.
    bool regroups = false;
  };
  // Checks as the engines do (cell_check.h), measures every interval. columns: one per slice, oldest first,
  // at least one; borrowed for the call.
  static Result<Batch> create(Options options, std::span<const Column> columns);
  // Bytes the tables of such a model take; 2^64-1 if that does not fit. The search for significant p uses
  // what the budget leaves above this.
  static std::uint64_t memory_needed(const Options& options, std::size_t slices);
  // Bytes below which a model is refused: with less than memory_needed() no tables are kept (ONE PATH).
  static std::uint64_t least_memory(const Options& options, std::size_t slices);

  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  // The optimal partition at p in [0,1]; parts, gain and loss measured cell by cell. `go_on` is asked about
  // every 20 ms while the tables are solved; false ends that with kTimeout (temporal: it is not asked).
  Result<Partition> solve(double p, const std::function<bool()>& go_on = {});
  // The same parts measured anew, cell by cell, and their sums. Every part must name a node of the tree and
  // lie in the window.
  void evaluate(Partition& partition) const;
  // Gain and loss of an area, from the tables: to rounding of the model's largest sums. O(slices of the
  // area). REQUIRES a node of the tree and slices of the window.
  Part measured(NodeIndex node, SliceIndex first, SliceIndex last) const;
  // The whole window as one part of the root (temporal: of all leaves), whatever p.
  Partition whole() const;
  // Every cell its own part (temporal: every slice; spatial: every leaf).
  Partition microscopic() const;

  // The same cells below another tree: leaf i of it is leaf from[i] of the present one. What it says is then
  // what a Batch says that was created so, but the leaves, which are nearly all there is to measure, are not
  // measured again, nor solved again at the p that was solved last. False: it keeps no tables, is not
  // spatiotemporal, has other leaves, or there is no room for the nodes (Options::regroups); it is as it was
  // then, or, where the system refused memory, of no more use. REQUIRES: `from` has each leaf once. Cost:
  // create()'s for the inner nodes, and a copy of the cells.
  bool regroup(TreeShape tree, std::span<const LeafPosition> from);

  // Else every solution measures all anew, and neither significant_p() nor strengths() can be had.
  bool keeps_tables() const;
  const TreeShape& tree() const;
  std::size_t states() const;
  std::size_t slices() const;

 private:
  struct Impl;
  explicit Batch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  friend struct SignificantSearch;  // significant.cc
};

}  // namespace margay::partition
