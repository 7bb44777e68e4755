// How surprising long visits are: their normal scores. Pure.
//
// Of jobs whose work comes in requests and tasks: a visit's p-value is the part of the usual ones that took
// longer (usual_lengths.h), however many kinds of work a state has, and its score is what a standard normal
// exceeds with probability p (van der Waerden, Order tests for the two-sample problem, 1952; within
// kLeastScore and kMostScore: no single visit proves anything). While all is as usual scores are standard
// normal, whatever lengths are; visits that take longer have higher ones.
//
// Parts of one piece of work are long together: who computes for long has much to write. So of a single visit
// whose begin is known, the visit before it (that of another state which ended in the slice in which it
// began) tells what to expect: its length, in logarithms and from its node's median, times the slope of the
// regression of such pairs, of all leaves, is taken off, where that explains a quarter of the variance.
// Lengths of which it is taken off are a kind of their own. A visit that is as long as ever is not short for
// that: the one before may have been hurt alone.
//
// Of the visits of a leaf that ended in a slice the longest is one such length, and the mean of the others,
// which has a distribution of its own, another; they count as one visit.
//
// A visit that goes on has the score that it would have if it ended now, as soon as that is high; what it
// told before is taken off.
//
// Cost per slice: that of UsualLengths for three kinds of length, and of each visit O(columns). Thread
// safety: none.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "grid.h"
#include "margay/model/hierarchy.h"
#include "usual_lengths.h"
#include "visits_seen.h"

namespace margay::detect {

class VisitScores {
 public:
  // Several visits have to be long: a score of one is no higher; and of slow ones some are as usual.
  static constexpr float kLeastScore = -2, kMostScore = 3.5f;

  // Leaves keep their numbers.
  void set_hierarchy(const model::Hierarchy& hierarchy);
  void measure(const VisitsSeen& seen);
  // The slice that was measured is a quiet one, but for these leaves (not 0).
  void learn(const std::vector<char>& but);
  void forget();
  // What this leaf's own visits took: it is another from now on.
  void forget(std::uint32_t leaf);

  // Leaves x columns, of the newest slice.
  const Grid& score() const { return score_; }   // normal scores, a sum
  const Grid& visits() const { return count_; }  // of so many; one that goes on counts once
  const Grid& told() const { return told_; }     // 1 where a visit told something
  const Grid& lost() const { return lost_; }     // time of visits beyond what is usual, in slices
  const Grid& ratio() const { return ratio_; }   // logarithm: times as long as usual

  // These go to who asks for them, and are not known here any more; rows of inner nodes may be put behind.
  struct Told {
    Grid &score, &visits, &told, &lost, &ratio;
  };
  void hand_over(const Told& to) {
    std::swap(score_, to.score);
    std::swap(count_, to.visits);
    std::swap(told_, to.told);
    std::swap(lost_, to.lost);
    std::swap(ratio_, to.ratio);
  }

 private:
  // Of pairs of visits, the later and the one before: deviations from the medians; sums that fade.
  struct Pair {
    float n = 0, before = 0, both = 0, later = 0;
  };
  struct PairSeen {
    std::uint32_t leaf;
    std::size_t pair;
    float before, later;
  };
  // The visits of a leaf to a state in the newest slice.
  struct Ended {
    float n = 0, total = 0;  // slices, those before included
    bool open = false, was_open = false, goes_on = false;
  };
  void reach(std::size_t columns);
  // Kinds of length, of each column: of the longest; the mean of the others; of a single one as far as it is
  // not told by the one before.
  enum Kind : std::size_t { kLongest, kOthers, kGiven, kKindsOfLength };
  std::size_t kind(Kind of, std::size_t column) const { return of * usual_.columns() + column; }
  double score_of(std::size_t leaf, std::size_t kind, float log) const;
  static Ended ended(const VisitsSeen& seen, std::uint32_t leaf, std::uint32_t column);
  void measure_leaf(const VisitsSeen& seen, std::uint32_t leaf);
  double of_ended(const VisitsSeen& seen, std::uint32_t leaf, std::uint32_t column, const Ended& ended);
  double of_several(std::uint32_t leaf, std::uint32_t column, std::size_t kind, float length, float visits);
  double of_single(std::uint32_t leaf, std::uint32_t column, float length, bool over, float* lost);
  // The deviation of the visit to a state before one to another; NaN if it is not known.
  float before(std::size_t leaf, std::size_t of, float length, bool over) const;
  // What that tells of the logarithm of a length; NaN if nothing.
  float told_before(std::size_t leaf, std::size_t column, float length, bool over) const;

  UsualLengths usual_{kKindsOfLength, UsualLengths::Of::kBulkToo};
  std::vector<Pair> pairs_;  // the later's column * columns + that of the one before
  Grid last_, last_at_;      // leaves x columns: deviation of the newest visits, and their slice
  std::vector<float> now_;   // by column: the same of the slice and leaf that are looked at; NaN
  struct Open {
    float score = 0, lost = 0;
  };
  std::vector<Open> open_;  // by leaf: what the visit that goes on has told
  float slice_ = 0;
  std::vector<UsualLengths::Visit> seen_;  // of the newest slice
  std::vector<PairSeen> pairs_seen_;
  Grid score_, count_, told_, lost_, ratio_;
};

}  // namespace margay::detect
