// Whose visits have been surprisingly long of late: evidence summed up over nodes and time. Pure.
//
// Of each node and state, and of all its states together, the evidence of visits (visit_surprise.h) of the
// stretch that ends now and for which it is greatest (Page, Continuous inspection schemes, 1954). A stretch
// is over when its evidence is gone, or has fallen kFallsBack below what it was: visits since then say that
// it goes on no more. What all others show as well, in the same slice, is nobody's.
//
// Cost per slice: O(nodes * columns). Memory: nodes * columns * 40 bytes. Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grid.h"

namespace margay::detect {

class SurpriseSums {
 public:
  static constexpr float kFallsBack = 6;  // nats
  // What sums up to less may be chance: it has begun when its evidence is more, or in that slice.
  static constexpr float kBegins = 1;  // nats
  // What happens to many in one slice may be one thing: of a node it counts as four visits at most.
  static constexpr float kMostOfSlice = 24;  // nats

  // Items x columns, sums over the leaves of each item.
  struct Slice {
    Grid evidence, told, lost, ratio;  // visit_surprise.h
    std::vector<float> busy;           // by item: time that its leaves were not idle, in slices
    std::vector<float> there;          // by item: leaves that there are
  };
  // `items` nodes; leaves come first.
  void lay_out(std::size_t items, std::size_t columns);
  // Forgets all of items from this one on.
  void clear_from(std::size_t item);
  // To be filled before `take`.
  Slice& slice() { return slice_; }
  const Slice& slice() const { return slice_; }
  void take(std::size_t leaves);
  // What has summed up so far is of another time; of this item.
  void restart();
  void restart(std::size_t item);

  struct Score {
    float score = 0;           // nats
    std::uint32_t slices = 1;  // since it began to rise
    float effect = 0;          // share of the busy time since then that visits took beyond what is usual
    float ratio = 0;           // mean logarithm: times as long as usual
  };
  // Of the strongest of these columns; `among` has a value for each.
  Score of(std::size_t item, const std::vector<char>& among) const;
  // Of the strongest of all columns and of all together.
  Score strongest(std::size_t item) const;
  // The most evidence of stretches of the item that the newest slice has ended, and its effect.
  Score ended(std::size_t item) const { return ended_[item]; }

 private:
  Score at(std::size_t item, std::size_t column) const;
  void end(std::size_t item, std::size_t column);
  std::array<Grid*, 8> sums() { return {&sum_, &peak_, &since_, &lost_, &busy_, &ratio_, &told_, &effect_}; }

  std::size_t items_ = 0, columns_ = 0;
  Slice slice_;
  // Columns, and one of all together. `effect` is that at the peak.
  Grid sum_, peak_, since_, lost_, busy_, ratio_, told_, effect_;
  std::vector<Score> ended_;
};

}  // namespace margay::detect
