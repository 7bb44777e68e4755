// The spatiotemporal optimal partition of a sliding window: exact, and kept up to date slice by slice.
//
// THE IDEA. Areas are node x interval. A partition into areas is a nest of cuts: an area is an aggregate, or
// is cut in space (into the children of its node) or in time (into two intervals). The optimum of an area is
// the best of these, given the optima inside it (spatiotemporal-aggregation, section III.E). For node k with
// children c and slices [i,j], with the price `tie` of the tie rule (partition.h):
//
//     base_k(i,j) = max( pIC(k,[i,j]) - tie,  sum over c of best_c(i,j) )
//     best_k(i,j) = max( base_k(i,j),  max over i <= m < j of best_k(i,m) + base_k(m+1,j) )
//
// (the right part of a temporal cut need not be cut in time again: its cuts can be made further left).
//
// WHAT MAKES IT INCREMENTAL. An entry depends only on entries inside [i,j]. A new slice n needs the entries
// (i,n) only; the oldest slice just leaves the ring; a changed cell at slice t touches its leaf and the
// leaf's ancestors, and entries with i <= t <= j only; leaves that join or leave touch the nodes above them.
// Nothing of this is done before somebody reads: slices that come together are solved in one pass over the
// tree, and of a cell amended ten times, or of a thousand cells, each node above is solved once.
//
// THE OPTIMISATIONS.
// - I (partition.h) is additive over any partition, so it is left out of the tables: they maximise
//   sum_x S_x*log2(S_x) - (1-p)*S_tot*log2(W) - tie. The first two terms are shared by all p.
// - Only `best` is stored, one triangle per node and p. Cuts are found again by walking down.
// - base does not depend on best of the same column, so a column is a (max,+) product of triangle and vector,
//   and several new columns share one pass. The triangle lies in 8x8 tiles, columns contiguous; tile (I,M) is
//   on tile-diagonal D = M-I, which is a ring of N-D tiles indexed by I mod (N-D). So dropping a slice moves
//   nothing.
// - Few of the tiles are read: bounds that are kept beside them tell which may hold a better cut
//   (pruned_product.h). Where the model has phases, a new slice costs O(T) for each node, and not O(T^2).
// - Areas that begin before the last change and end with the new slice are not measured for a while: how
// little
//   they can have gained as one aggregate is known (solver.h, RESTING).
// - The inner loops (kernels.h) are built for several instruction sets.
//
// FIXED POINT. Everything that is kept is an integer: cells and their prefix sums over time (prefix_sums.h),
// and the tables. Additions are exact, in any order: nothing drifts or has to be rebased, and the tables hold
// the very same bits whether they were reached by pushes, drops, amendments, joins, by one thread or by many,
// or from scratch. An area is worth at most M = n*(2 + log2 n + log2 X) bits, n its weight; so with n of the
// whole window the unit is 2^-50 * M, rounded up to a power of two.
// - Exact tables have entries of 64 bits in that unit. Each area is rounded once, by half a unit: 1/8192 of
//   the tie rule's price.
// - Compact tables have entries of 32 bits, in a unit of their own for each node: u_k = 2^-28 * M_k, rounded
// up,
//   M_k that of the node's own leaves. An area is rounded by u_k/2 at most, and so is the sum of the
//   children's optima, in the parent's unit; cuts in time are exact. Hence the pIC of the partition found is
//   below the optimum by at most the sum of u_k/2 over parts and spatial cuts, of this partition and of the
//   best one. For a leaf with 100 slices and 8 states that is 4e-6 bits a part. Ties are told apart to within
//   that bound only, so p = 0, where all is a tie, is refused; from p = 1e-4 on two equal cells gain more
//   than the rounding.
//
// COST, for K nodes, S leaves, T slices, X states, P values of p (log: a base-2 logarithm):
//     push       O(S*X), no allocation; every fourth without a reading between, the cells of four slices
//                O(K*X + S*X log)
//     amend      O(depth * a * X + X log)                a = slices from the amended one to the newest
//     settle, or the first partition() after these:
//                O(K * n * (L*X log + P*R))              n = slices pushed since the last one, and
//                O(A * a * (L*X log + P*R))              A = nodes above amended cells; L = slices measured,
//                                                        from those since the last change to T; R = entries
//                                                        read, from O(T) where phases are clear to T^2/2
//     reshape    O(K + nodes with other leaves * T*X), and in settle a whole window for each node whose
//                children have changed and those above
//     partition  else: O(parts * depth * T * X) at worst, usually near the number of parts times T
//     set_p      a whole window, O(K * T * (L*X log + R)), for one p
//     evaluate   O(leaves * T * X log)
// Entries written: K*P*T for a slice at most (entries_written()). Not counted there: what tells which tiles
// need not be read (ceilings, crest, leads: up to 2T more for a slice, node and p) and until when rows rest.
// tests/bench/partition_bench.cc measures all this. MEMORY, in bytes, all at create() but for reshape()
// (memory_needed() tells it exactly):
//     K * ( E * P * (32*N*(N+1) + 8*(N*N + 3*N) + 16*floor((N+15)/16))  +  64 * M*(X+2)  +  32*(2*X+3) )  +
//     small scratch, E = 8 (exact) or 4 (compact), N = floor((T+6)/8) + 1, M = floor((T+7)/8) + 1
// kOnePath: instead of E * P * (...) for each node, 8 * (64*N*(N+1) + 8*(N*N + 3*N) + ...) for each level of
// the hierarchy (256 at most, else 2^64-1); nothing is solved before partition(), which takes a whole window
// of all nodes, and of those below a block that is cut in space once more within it.
//
// Errors: create(), push(), amend() and reshape() refuse what is outside the contract with a sentence that
// names leaf, slice and state; a refused call changes nothing. Thread safety: const calls may run together;
// any other call needs exclusive access; settle() works in those that `parallel` has. Ownership: owns
// its tables, copies what it is given. Pure: no clock, file, log or randomness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"
#include "margay/partition/partition.h"
#include "margay/partition/tree_shape.h"

namespace margay::partition {

class Spatiotemporal {
 public:
  enum class Tables {
    kExact,    // 64 bits an entry
    kCompact,  // 32 bits an entry: half the memory and half the time, within the bound told above
    kOnePath,  // 64 bits, of one way from the root down at a time: partition() solves all slices anew
  };
  static constexpr double kLeastCompactP =
      1e-4;  // compact tables tell equal cells apart from rounding from here on
  // Calls work(worker, task) once for each task < tasks, in any order and side by side, a worker < threads
  // for one task at a time; returns when all are done. Threads are the caller's: this module makes none.
  using Work = std::function<void(std::size_t worker, std::size_t task)>;
  using Parallel = std::function<void(std::size_t threads, std::size_t tasks, const Work& work)>;
  struct Options {
    TreeShape tree = TreeShape::flat(0);
    std::size_t states = 0;     // X >= 1, tested states only
    std::size_t window = 0;     // T >= 1 slices
    std::vector<double> p;      // 1 to 64 values in [0,1]
    SliceIndex first_slice{0};  // the number of the first column pushed
    std::uint64_t memory_budget_bytes = std::uint64_t{1} << 30;
    std::optional<double> tie_bits;  // overrides the default price of the tie rule; >= 0
    Tables tables = Tables::kExact;
    std::vector<double> leaf_weights;  // by position; empty: 1 each
    double longest_slice = 1;          // the largest duration of a column
    std::size_t most_leaves =
        0;  // reserve for reshape(): the largest sum of leaf weights, if it is more than now
    std::size_t threads = 1;   // for settle(), which gives whole subtrees to each of them through `parallel`
    Parallel parallel;         // empty: one after the other
    std::string instructions;  // one of instruction_sets(); empty: the best
  };

  // Refuses wrong options (kInvalidArgument) and a model over the budget (kLimit; names need and budget).
  static Result<Spatiotemporal> create(Options options);
  // Bytes the tables of such an engine take; 2^64-1 if that does not fit.
  static std::uint64_t memory_needed(const Options& options);
  // Those that were built and run here, the best last.
  static std::vector<std::string> instruction_sets();

  Spatiotemporal(Spatiotemporal&&) noexcept;
  Spatiotemporal& operator=(Spatiotemporal&&) noexcept;
  ~Spatiotemporal();

  // Appends the next slice; a full window drops its oldest. Slices are consecutive: an unobserved slice is a
  // column of weights 0.
  Status push(const Column& column);
  // Appends several slices, oldest first. Same result as one push each; all are checked before any is taken.
  Status push_all(std::span<const Column> columns);
  // Replaces one cell of the window. kNotFound if the slice is not (or no longer) in the window.
  Status amend(SliceIndex slice, LeafPosition leaf, std::span<const double> v, double w);
  // Replaces one value of p and rebuilds its tables. To go on serving the old p meanwhile, build a second
  // engine.
  Status set_p(std::size_t p_index, double p);
  // Another tree over the same window: leaves have joined (absent so far: cells of weight 0) or left, or
  // nodes have moved. from[k] is the present node that node k of the new tree is, kNoParent if it is new; a
  // leaf stays a leaf. Only nodes whose children have changed, and those above them, are solved again. kLimit
  // if the leaves weigh more than the engine was made for (then rebuild()), or the memory budget would be
  // exceeded.
  Status reshape(TreeShape tree, std::span<const NodeIndex> from, std::vector<double> leaf_weights = {});

  // Does now what push(), amend() and reshape() have left to be done before the next reading.
  void settle();
  // The optimal partition of the present window; no parts if nothing was pushed. p_index < p().size(). Does
  // what push() and amend() have left to do: not const.
  // With kOnePath `go_on` is asked about every 20 ms; false ends that with kTimeout.
  Result<Partition> partition(std::size_t p_index, const std::function<bool()>& go_on = {});
  // The same parts measured again, cell by cell in double: what is shown and archived. Every part must name a
  // node of the tree and lie in the window.
  Result<Partition> evaluate(const Partition& partition);
  // Gain and loss of an area, from sums: to rounding of the window's largest sums. O(states). REQUIRES a node
  // of the tree, slices of the window, and nothing pushed since the last settle(), partition() or evaluate().
  Part measured(NodeIndex node, SliceIndex first, SliceIndex last) const;

  std::span<const double> p() const;
  const TreeShape& tree() const;
  std::size_t states() const;
  std::size_t window() const;      // T, the capacity
  std::size_t size() const;        // slices held, 0 to T
  SliceIndex first_slice() const;  // the oldest held; equals end_slice() if none is
  SliceIndex end_slice() const;    // one past the newest
  double tie_bits() const;
  // Entries of tables written since the beginning: at most (nodes x T x number of p) for a slice. Bounds
  // beside the entries (COST) are not counted.
  std::uint64_t entries_written() const;

 private:
  struct Impl;
  explicit Spatiotemporal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A new engine (another tree, other p) over a window the caller kept: columns[0] is options.first_slice.
// Cost: one push per column, O(K * T * (L*X log + P*R)) in all.
Result<Spatiotemporal> rebuild(Spatiotemporal::Options options, std::span<const Column> columns);

}  // namespace margay::partition
