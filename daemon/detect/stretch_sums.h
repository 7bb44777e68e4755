// Evidence summed up over time, of nodes and states: of the stretch that ends now. Pure.
//
// Of each node and state, and of all its states together, the evidence of the stretch that ends now and for
// which it is greatest (Page, Continuous inspection schemes, 1954). A stretch is over when its evidence is
// gone, or has fallen kFallsBack below what it was: what came since says that it goes on no more.
//
// Cost per slice: O(nodes * columns). Memory: nodes * columns * 32 bytes. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "grid.h"

namespace margay::detect {

class StretchSums {
 public:
  static constexpr float kFallsBack = 6;  // nats
  // What sums up to less may be chance: it has begun when its evidence is more, or in that slice.
  static constexpr float kBegins = 1;  // nats

  // What a slice shows of a node and state: evidence (nats), time beyond what is usual and time that was not
  // idle (slices), the logarithm of how many times as long as usual, and of how many leaves these are.
  struct Told {
    float nats = 0, lost = 0, busy = 0, ratio = 0, told = 0;
  };
  // `items` nodes; column `columns` is that of all together.
  void lay_out(std::size_t items, std::size_t columns);
  // Forgets all of items from this one on.
  void clear_from(std::size_t item);
  // A new slice: each item and column is added once.
  void begin_slice() { ended_.clear(); }
  // False if no stretch goes on there.
  bool add(std::size_t item, std::size_t column, const Told& told) {
    // Mostly there is none, and none begins.
    if (sum_[item][column] <= 0 && (told.told <= 0 || told.nats <= 0)) return false;
    return go_on(item, column, told);
  }
  // What has summed up so far is of another time; of this item.
  void restart();
  void restart(std::size_t item);

  struct Score {
    float score = 0;           // nats
    std::uint32_t slices = 1;  // since it began to rise
    float effect = 0;          // share of the busy time since then that visits took beyond what is usual
    float ratio = 0;           // mean logarithm: times as long as usual
    std::size_t column = 0;
  };
  // Of the strongest of these columns; `among` has a value for each.
  Score of(std::size_t item, const std::vector<char>& among) const;
  // Of a column, or of all together.
  Score at(std::size_t item, std::size_t column) const;
  float evidence(std::size_t item, std::size_t column) const { return sum_[item][column]; }  // nats
  std::size_t columns() const { return columns_; }
  // A stretch that the newest slice has ended: the most evidence that it had, and its effect then.
  struct Ended {
    std::size_t item, column;
    float score, effect;
  };
  const std::vector<Ended>& ended() const { return ended_; }

 private:
  // What the stretch has summed up besides its evidence; `effect` is that at the peak.
  struct Sums {
    float peak = 0, since = 0, lost = 0, busy = 0, ratio = 0, told = 0, effect = 0;
    float effect_now() const { return busy > 0 ? std::max(0.0f, lost) / busy : 0; }
  };
  bool go_on(std::size_t item, std::size_t column, const Told& told);

  std::size_t items_ = 0, columns_ = 0;
  // Columns, and one of all together.
  Grid sum_;  // evidence
  std::vector<Sums> sums_;
  std::vector<Ended> ended_;
};

}  // namespace margay::detect
