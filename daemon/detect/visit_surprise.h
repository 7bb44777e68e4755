// How surprising long visits are: evidence, in nats, that visits to a state take longer than usual. Pure.
//
// What is usual is told by usual_lengths.h. Beyond its threshold a visit has a p-value, however many kinds of
// work a state has, and is worth the logarithm of a bet against p being small, (1 - p + p ln p) / (p ln^2 p):
// its expectation is 1 while all is as usual (Vovk and Wang, E-values: calibration, combination and
// applications, 2021), so sums of its logarithm exceed x by chance with probability exp(-x) at most (Ville),
// for visits that are exchangeable. They add over leaves and time.
//
// Where visits are of one kind a second bet is on their taking 1.5, 2 or 4 times as long as the leaf's
// usually do: the likelihood ratio under Student's t with 5 degrees of freedom, whose mean and variance are
// the leaf's own, winsorized, shrunk towards its siblings'. Half is put on either; that is a bet of
// expectation 1, too.
//
// Of the visits of a leaf that ended in a slice the longest is one such length, and the mean of the others,
// which has a distribution of its own, another; they hang together and are one bet, half on each.
//
// A visit that goes on is worth what it would be worth if it ended now, as soon as that is more than nothing;
// what it told before is taken off. No single visit is worth more than kMostOfOne.
//
// Cost per slice: O(leaves * columns), and O(inner nodes * columns * bins) now and then. Memory: 56 bytes a
// leaf and column, 2 KiB an inner node and column. Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "grid.h"
#include "margay/model/hierarchy.h"
#include "usual_lengths.h"
#include "visits_seen.h"

namespace margay::detect {

class VisitSurprise {
 public:
  // No visit is worth more nats: several have to be long.
  static constexpr float kMostOfOne = 6;

  // Leaves keep their numbers.
  void set_hierarchy(const model::Hierarchy& hierarchy);
  // `one_kind`: the visits of a leaf to a state are of one kind, as those of a loop; those of requests are
  // not.
  void measure(const VisitsSeen& seen, bool one_kind);
  // The slice that was measured is a quiet one, but for these leaves (not 0).
  void learn(const std::vector<char>& but);
  void forget();
  // What this leaf's own visits took: it is another from now on.
  void forget(std::uint32_t leaf);

  // Leaves x columns, of the newest slice.
  const Grid& evidence() const { return evidence_; }  // nats
  const Grid& told() const { return told_; }          // 1 where a visit told something
  const Grid& lost() const { return lost_; }          // time of visits beyond what is usual, in slices
  const Grid& ratio() const { return ratio_; }        // logarithm: times as long as usual

 private:
  void reach(std::size_t columns);
  // Of the logarithm of the lengths of a leaf's visits, shrunk towards its siblings'.
  float mean(std::size_t leaf, std::size_t kind) const;
  float variance(std::size_t leaf, std::size_t kind) const;
  // What a visit is worth to who bets that it takes many times as long: a likelihood ratio.
  double factor_bet(std::size_t leaf, std::size_t kind, float log) const;
  // To who bets that it is far out in the tail.
  double tail_bet(std::size_t leaf, std::size_t kind, float log) const;
  void learn_usual(const UsualLengths::Visit& visit);
  // To both, as much as is believed of one visit.
  double wins(std::size_t leaf, std::size_t kind, float log) const;

  // Kinds of length, of each column: of the longest, and the mean of the others.
  static constexpr std::size_t kKindsOfLength = 2;
  UsualLengths usual_{kKindsOfLength, UsualLengths::Of::kTail};
  // Sums that fade: of logarithms, and of their distance from the mean.
  struct Own {
    float log = 0, square = 0;
  };
  const Own& own(std::size_t leaf, std::size_t kind) const { return own_[leaf * usual_.kinds() + kind]; }
  std::vector<Own> own_;  // by leaf * kinds + kind
  // By inner node * kinds + kind: of that distance below the node, and how many; they fade.
  struct Spread {
    float square = 0, visits = 0;
  };
  bool one_kind_ = false;
  std::vector<Spread> spread_;
  std::vector<UsualLengths::Visit> seen_;  // of the newest slice
  Grid evidence_, told_, lost_, ratio_;
};

}  // namespace margay::detect
