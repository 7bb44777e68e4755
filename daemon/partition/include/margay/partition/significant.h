// The values of p at which the optimal partition changes, and what each partition is worth.
//
// THE IDEA. For a fixed partition pIC = p*(gain + loss) - loss (RR-8524, equation 6) is a line in p, so the
// optimum pIC*(p) = max over partitions is convex and piecewise linear, and its breakpoints are the
// significant p. Given the optima at p1 < p2 (Eisner and Severance, 1976), solve where their lines cross:
// either nothing is better there, and this is the one breakpoint between them, or a third line is found, and
// both halves are searched the same way. So every breakpoint is found, exactly to rounding, with about two
// solutions each. The lines are those of the tie rule (partition.h): less the price of their parts. Of
// partitions whose lines are the same to within rounding one is listed; one that is optimal at a single p
// only is not.
//
// Batch::solve() accepts each aggregate within tie/16 of its optimum, the search within a small share of
// that: where breakpoints lie closer together than this tells apart (noisy models of thousands of parts),
// solve(p) may give a neighbour of the point below p, worth less by no more than that for each decision.
//
// THE OPTIMISATION. An entry (node, interval) is convex in p too: if its value at one inner p of [p1,p2] lies
// on the chord of its values at p1 and p2, it is linear on all of [p1,p2]. A node all of whose entries are
// linear is not solved again inside [p1,p2], nor is anything below it: its entries are interpolated.
//
// COST, for B breakpoints: up to 2*B solutions (batch.h), of each of which only the nodes not known to be
// linear are solved (node_share tells), and B walks. envelope(): at most most_solves whole solutions.
// strengths(): the search from partition.p to 1, a walk to the parts for each optimum found, and a look at
// each part. Temporal: 2*B*T^2/2.
//
// MEMORY. Spatiotemporal: triangles of N doubles (batch.h), two per node (p = 0 and 1) and one per node
// solved at each p that the search is inside of; some ten per node in all for noisy models of hundreds of
// breakpoints. Taken from what the model's budget leaves; where that ends, the search does (complete =
// false). About 300 bytes a node and 3 MiB come on top. Lists: 32 bytes a point. strengths(): a bit per part
// and optimum. envelope(): the model's own tables.
//
// Batches of kSpatial and kProduct have no optimum of their own: significant_p() and envelope() list each p
// at which one of the two optima that they are made of changes (envelope(): most_solves of them, two at
// least, evenly among all), with gain and loss in the whole model, which need not ascend; `error` is 0, and
// strengths() is kInvalidArgument.
//
// Errors: kInvalidArgument as stated below; kLimit where the system refuses memory. Thread safety: exclusive
// access to the model for the call (it solves), none afterwards. Ownership: the results own what they hold.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "margay/partition/batch.h"

namespace margay::partition {

// One partition that is optimal from `p` on, up to the next point's p. Gain and loss in bits, from the
// measures of its parts (not cell by cell: to within 1e-12 of the model's largest sums).
struct QualityPoint {
  double p = 0;
  double gain = 0;
  double loss = 0;
  std::size_t aggregates = 0;
};

struct SignificantP {
  // Gain and loss ascend (equation 6), but for kSpatial and kProduct; aggregates mostly fall.
  std::vector<QualityPoint> points;  // ascending in p; the first has p = 0, the last is the optimum at p = 1
  // False: the search was ended. Then all points are optimal somewhere, and what precedes the first place
  // that was not searched is the exact list; after it there may be others between the points.
  bool complete = true;
  std::size_t solves = 0;  // at how many p the model was solved, wholly or in part
  double node_share = 0;   // the work of that, in whole solutions: nodes solved / nodes
  // The most by which the optimal pIC may exceed the shown curve, the largest of the points' pIC, at any p;
  // in bits, to within the price of the parts. 0 for a complete exact list.
  double error = 0;
};

struct SearchOptions {
  // Asked between two solutions, and within one that takes longer than some 20 ms; false ends the search,
  // which then tells what it has (complete = false). Not asked again after that.
  std::function<bool()> go_on;
};

// Exactly: every point, whatever their number.
Result<SignificantP> significant_p(Batch& model, const SearchOptions& options = {});
// Certified for display: tangents of pIC* at the p solved bound it from below, chords between them from
// above. The interval of the largest gap is refined until that is at most relative_error * |pIC*(1) -
// pIC*(0)|, or most_solves are spent (complete = false). The points are optima, their p the crossings of
// neighbours: between them there may be others. kInvalidArgument for a relative_error that is negative or not
// a number.
struct EnvelopeOptions : SearchOptions {
  double relative_error = 0.001;
  std::size_t most_solves = 64;
};
Result<SignificantP> envelope(Batch& model, const EnvelopeOptions& options = {});

// Ocelotl's choice of p: the one before the largest jump of quality. With gain and loss as shares of the last
// point's (the whole's), quality is q = gain - loss: 0 at both ends, or as far as sums of 0 count as a share
// of 0. Of consecutive points i and i+1 the fall q_i - q_{i+1} is taken; the result is the p of the first i
// of the largest fall above 0. Without any fall it is the last point's p, without points 0.
double largest_jump(std::span<const QualityPoint> points);

// For each part of `partition`, which should be optimal at partition.p: the smallest p > partition.p at which
// it is no longer a part of the optimum, i.e. has merged with its surroundings; 1 if it holds up to p = 1;
// infinity for the whole. kInvalidArgument for p outside [0,1] or a part that is there twice; kTimeout if
// go_on or the memory ended the search, for a part may have gone where it was not searched.
Result<std::vector<double>> strengths(Batch& model, const Partition& partition,
                                      const SearchOptions& options = {});

}  // namespace margay::partition
