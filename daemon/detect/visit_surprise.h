// How surprising long visits are: evidence, in nats, that visits to a state take longer than usual. Pure.
//
// Of the logarithm of a visit's length the tail is modelled beyond a threshold (Pickands, Statistical
// inference using extreme order statistics, 1975): what one in four visits below the leaf's node exceed, as
// far as it has had any, else what those of its parent do, and so on to all. How often a leaf's own visits
// exceed it and by how much in the mean are known from its earlier ones, shrunk towards those of its node:
// the excess is taken for exponential, so that lengths have a Pareto tail. This gives the visit's p-value,
// which is all that the rest needs to know, however many kinds of work a state has. A visit is worth the
// logarithm of a bet against p being small, (1 - p + p ln p) / (p ln^2 p): its expectation is 1 while all is
// as usual (Vovk and Wang, E-values: calibration, combination and applications, 2021), so sums of its
// logarithm exceed x by chance with probability exp(-x) at most (Ville), for visits that are exchangeable.
// They add over leaves and time.
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

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "grid.h"
#include "margay/model/hierarchy.h"

namespace margay::detect {

// A visit that is open at an edge of a slice.
struct OpenVisit {
  std::uint16_t state = 0xfffe;  // none
  float age = 0;                 // slices
};

class VisitSurprise {
 public:
  // No visit is worth more nats: several have to be long.
  static constexpr float kMostOfOne = 6;

  // What a slice shows: leaves x columns, lengths in slices.
  struct Seen {
    const Grid& spent;
    const Grid& ended;    // visits that ended in it
    const Grid& longest;  // from the begin of the visit on; also of one that goes on
    const std::vector<OpenVisit>&before, &after;
    const std::vector<char>&there, &counted;     // by leaf; by column
    const std::vector<std::uint16_t>& state_of;  // by column
  };
  // Leaves keep their numbers.
  void set_hierarchy(const model::Hierarchy& hierarchy);
  // `one_kind`: the visits of a leaf to a state are of one kind, as those of a loop; those of requests are
  // not.
  void measure(const Seen& seen, bool one_kind);
  // The slice that was measured is a quiet one, but for these leaves (not 0).
  void learn(const std::vector<char>& but);
  void forget();

  // Leaves x columns, of the newest slice.
  const Grid& evidence() const { return evidence_; }  // nats
  const Grid& told() const { return told_; }          // 1 where a visit told something
  const Grid& lost() const { return lost_; }          // time of visits beyond what is usual, in slices
  const Grid& ratio() const { return ratio_; }        // logarithm: times as long as usual

 private:
  // Lengths of visits below an inner node, by their logarithm; sums that fade.
  struct Lengths {
    static constexpr int kFrom = -14, kTo = 18, kPer = 8;  // natural logarithms of slices
    static constexpr std::size_t kBins = (kTo - kFrom) * kPer;
    std::array<float, kBins> count{};
    // From the first bin that is not empty to behind the last.
    std::pair<std::size_t, std::size_t> filled() const;
  };
  // What is believed of visits below an inner node.
  struct Tail {
    float median = 0, threshold = 0;  // logarithms
    float excess = 0;                 // mean, of those beyond the threshold
    float usual{1};                   // the length of the median, in slices
  };
  // What is known of a leaf's own visits: sums that fade.
  struct Own {
    float visits = 0, beyond = 0, excess = 0;  // how many, of them beyond the threshold, and how far
    float log = 0, square = 0;                 // of logarithms, and of their distance from the mean
  };
  struct Visit {
    std::uint32_t leaf, kind;
    float log;
  };
  void reach(std::size_t columns);
  void believe();
  // A kind of length is a column, of the longest, or kinds() / 2 + column, of the mean of the others.
  std::size_t kinds() const { return 2 * columns_; }
  bool known(std::size_t leaf, std::size_t kind) const;
  const Tail& tail(std::size_t leaf, std::size_t kind) const { return tails_[above_[leaf] * kinds() + kind]; }
  const Own& own(std::size_t leaf, std::size_t kind) const { return own_[leaf * kinds() + kind]; }
  // Of the logarithm of the lengths of a leaf's visits, shrunk towards its siblings'.
  float mean(std::size_t leaf, std::size_t kind) const;
  float variance(std::size_t leaf, std::size_t kind) const;
  // What a visit is worth to who bets that it takes many times as long: a likelihood ratio.
  double factor_bet(std::size_t leaf, std::size_t kind, float log) const;
  // To who bets that it is far out in the tail.
  double tail_bet(std::size_t leaf, std::size_t kind, float log) const;
  void fade();
  void learn_usual(const Visit& visit);
  // To both, as much as is believed of one visit.
  double wins(std::size_t leaf, std::size_t kind, float log) const;

  std::vector<std::uint32_t> parent_, above_;  // inner nodes, parents first: by inner node, by leaf
  std::size_t columns_ = 0;
  std::vector<Lengths> lengths_;  // by inner node * kinds + kind
  std::vector<float> counted_;    // visits that these hold
  std::vector<Tail> tails_;
  std::vector<Own> own_;  // by leaf * kinds + kind
  // By inner node * kinds + kind: of that distance below the node, and how many; they fade.
  struct Spread {
    float square = 0, visits = 0;
  };
  bool one_kind_ = false;
  std::vector<Spread> spread_;
  std::uint64_t learned_ = 0;
  std::vector<Visit> seen_;  // of the newest slice
  Grid evidence_, told_, lost_, ratio_;
};

}  // namespace margay::detect
