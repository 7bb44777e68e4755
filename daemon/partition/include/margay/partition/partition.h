// What both operators share: cells, measures, the tie rule, and the partition they return.
//
// A *cell* is leaf s in slice t. It has a proportion v(s,x,t) >= 0 for each of X tested states and a weight
// w(s,t) in [0,1]: the fraction of the slice in which s is known and present. Rows need not fill their
// weight, but never exceed it: sum over x of v <= w (tolerance kSumTolerance). An *area* A has, over its
// cells,
//
//     S_x = sum of v      W = sum of w      I = sum over cells and states of v*log2(v/w)      (0*log 0 = 0)
//
//     loss(A) = I - sum_x S_x*log2(S_x/W)           equation 4 of RR-8524 / 2 of the spatiotemporal paper
//     gain(A) = (sum_x S_x)*log2(W) - loss(A)       equation 5 of RR-8524
//     pIC(A)  = p*gain(A) - (1-p)*loss(A)           equation 6 of RR-8524 / 4 of the spatiotemporal paper
//
// in bits. Where every weight is 1, W is the number of cells and these are the papers' formulas; the weights
// let unknown and absent time count for nothing and partial slices count by their duration. The gain is the
// sum form of RR-8524: the mean in equation 3 of the other paper, taken literally, breaks that paper's own
// claim that p = 1 aggregates everything. loss >= 0 by the log-sum inequality, so p = 0 keeps every cell that
// differs from its neighbours; at p = 1 pIC is superadditive, so one aggregate is optimal.
//
// TIE RULE (everywhere). Fewer aggregates win. An engine maximises the sum over the aggregates of pIC(A) -
// tie, where `tie` is a fixed, tiny price in bits per aggregate: a cut is made only where it brings more than
// `tie` for each aggregate it adds. By default
//
//     tie = 2^-38 * n * (1 + log2 n + log2 X),   n = leaves * slices
//
// that is 3.6e-12 of the largest magnitude an area can have (5e-6 bits for 700 leaves x 100 slices x 8
// states), far above the rounding error of a table of doubles and far below what anybody can see. So rounding
// never shows as a cut, equal cells are never split (even at p = 0, where every partition of them ties), and
// cells of weight 0 join a neighbour. The price is additive: the tables need no counts and no tolerance, the
// optimum is still exact, and its pIC is within tie * parts of the plain optimum. What is still equal to
// within tie/16 is decided in a fixed order: the aggregate, then the spatial cut, then the earliest temporal
// cut (the temporal operator: the longest part). Of a chain of nodes with the same leaves the topmost is
// named (an only child is tried last).
//
// Thread safety: plain values. Ownership: a Column borrows; everything else owns.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "margay/base/ids.h"

namespace margay::partition {

// By how much sum_x v may exceed w, and w may exceed 1: rounding of the slicer, not meaning.
inline constexpr double kSumTolerance = 1e-9;

// One slice of all leaves. v[leaf*X + x] and w[leaf], leaf being a LeafPosition. Borrowed for the call only.
// Where slices differ in length, `duration` is this one's, in units of the engine's choice: proportions and
// weights stay fractions of the slice, and count by it.
struct Column {
  std::span<const double> v;
  std::span<const double> w;
  double duration = 1;
};

// The node of a part of the temporal operator, whose parts are intervals of all leaves.
inline constexpr NodeIndex kAllLeaves{std::numeric_limits<std::uint32_t>::max()};

// One aggregate: a node of the hierarchy over the slices first to last, both inclusive.
struct Part {
  NodeIndex node;
  SliceIndex first;
  SliceIndex last;
  double loss = 0;  // bits, >= 0
  double gain = 0;  // bits

  friend bool operator==(const Part&, const Part&) = default;
};

// Disjoint parts that cover the window; loss, gain and pIC are sums over them, in bits.
// Order of the parts: depth first, children in the tree's order, earlier before later.
struct Partition {
  double p = 0;
  double pIC = 0;
  double gain = 0;
  double loss = 0;
  std::vector<Part> parts;

  friend bool operator==(const Partition&, const Partition&) = default;
};

}  // namespace margay::partition
