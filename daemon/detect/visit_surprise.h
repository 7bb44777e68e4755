// How surprising long visits are: evidence, in nats, that visits to a state take longer than usual. Pure.
//
// A visit is worth the logarithm of what bets on its being long win (visit_bets.h), whose expectation is 1
// while all is as usual, so sums of it exceed x by chance with probability exp(-x) at most (Ville), for
// visits that are exchangeable. They add over leaves and time.
//
// Of the visits of a leaf that ended in a slice the longest is one such length, and the mean of the others,
// which has a distribution of its own, another; they hang together and are one bet, half on each.
//
// A visit that goes on is worth what it would be worth if it ended now, as soon as that is more than nothing;
// what it told before is taken off. No single visit is worth more than VisitBets::kMostOfOne.
//
// Cost per slice: O(leaves * columns), and O(inner nodes * columns * bins) now and then. Memory: 48 bytes a
// leaf and column, 2 KiB an inner node and column. Thread safety: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "grid.h"
#include "lengths_lately.h"
#include "margay/model/hierarchy.h"
#include "usual_lengths.h"
#include "visit_bets.h"
#include "visits_seen.h"

namespace margay::detect {

class VisitSurprise {
 public:
  // Kinds of length, of each column: of the longest, and the mean of the others.
  static constexpr std::size_t kKindsOfLength = 2;

  // Leaves keep their numbers.
  void set_hierarchy(const model::Hierarchy& hierarchy);
  // `one_kind`: the visits of a leaf to a state are of one kind, as those of a loop; those of requests are
  // not.
  // `unasked`: what visits to these columns (not 0) tell is asked of these leaves (not 0) alone, and is 0 of
  // the others.
  struct Unasked {
    const std::vector<char>&columns, &but_of;
  };
  // Leaves x columns of a slice; there may be more rows.
  struct Told {
    Grid evidence;  // nats
    Grid told;      // 1 where a visit told something
    Grid lost;      // time of visits beyond what is usual, in slices
    Grid ratio;     // logarithm: times as long as usual
  };
  // `rounds`: by column, how long a visit should take (side_rounds.h), now and at the end of the slice
  // before: lengths are told apart in these units, and where one is 0 they tell nothing. None: in slices.
  struct Rounds {
    const std::vector<float>&now, &before;
  };
  // `lately`: how long visits were, in any mode. Null: that is not asked.
  void measure(const VisitsSeen& seen, bool one_kind, Told& to, const Unasked* unasked = nullptr,
               const Rounds* rounds = nullptr, const LengthsLately* lately = nullptr);
  // Visits that ended in the slice that was measured, of which something was usual, so that they were bet on.
  std::span<const UsualLengths::Visit> judged() const { return judged_; }
  // Enough has been seen of visits to this column for something to be usual of all.
  bool knows(std::size_t column) const { return usual_.known_of_all(column); }
  // The slice that was measured is a quiet one, but for these leaves (not 0).
  void learn(const std::vector<char>& but);
  void forget();
  // What this leaf's own visits took: it is another from now on.
  void forget(std::uint32_t leaf);

 private:
  void reach(std::size_t columns);
  // What is known and told of a leaf.
  struct Row {
    std::uint32_t leaf;
    UsualLengths::Row usual;
    const OwnLogs* own;
    const Spread* spread;
    float *evidence, *told, *lost, *ratio;
  };
  // `unasked`: by column; none where all is asked for.
  void measure_leaf(const VisitsSeen& seen, std::uint32_t leaf, Told& to, const char* unasked,
                    const Rounds* rounds);
  struct Length {
    std::uint32_t kind;
    float length, log;  // in units, as all lengths here
  };
  Length see(const Row& row, std::uint32_t kind, float length) {
    seen_.push_back({row.leaf, kind, std::log(std::max(length, 1e-6f))});
    return {kind, length, seen_.back().log};
  }
  std::uint32_t bet(const Row& row, std::uint32_t column, const Length& of, float visits);
  // `weight`: slices in a unit of `age`; less than 0: what that told before is taken off.
  void bet_on_open(const Row& row, std::uint32_t column, float age, float weight);
  void settle();
  void learn_usual(std::span<const UsualLengths::Visit> of_leaf);

  UsualLengths usual_{kKindsOfLength, UsualLengths::Of::kTail};
  std::vector<OwnLogs> own_;  // by leaf * kinds + kind
  bool one_kind_ = false;
  std::vector<Spread> spread_;  // by inner node * kinds + kind
  // A bet, or two with half on each, that is not settled: on visits that end (0), one that goes on (1), and
  // what that told before (-1).
  struct Bet {
    float* evidence;
    std::uint32_t one, other;
    float sign;
  };
  static constexpr std::uint32_t kNone = ~0u;
  VisitBets bets_;
  // Of what is gathered in these: the cell that is told what the visit took beyond the usual, and for how
  // many visits, times the slices of a unit (less than 0: what was told before is taken off).
  struct Gathered {
    float *lost, *ratio;
    float log, length, usual, visits;
    std::uint32_t kind;
  };
  VisitBets::Column<Gathered> lengths_{};
  std::vector<Bet> open_bets_;
  const LengthsLately* lately_ = nullptr;           // while it measures
  std::vector<UsualLengths::Visit> seen_, judged_;  // of the newest slice
};

}  // namespace margay::detect
