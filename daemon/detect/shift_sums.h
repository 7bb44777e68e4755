// Whether the mean of a noise that is correlated in time has shifted a little, and since when: CUSUMs. Pure.
//
// Of each node and channel a residual comes in blocks of slices, whose mean is 0 while all is as usual. Of
// blocks, the sum that is greatest over all begins (Page, Continuous inspection schemes, 1954) of the
// logarithm of the likelihood ratio of a shift, for several shifts: the one of scale s is so large that it
// gives one nat in period(s) slices, so what is seen after e nats has lasted for some e * period(s) slices.
// By Brownian approximation such a sum exceeds x by chance once in exp(x) periods.
//
// How much a residual varies is measured for each scale on the sums over 8 of its periods of the node's own
// quiet time, so that what slices have in common with the next ones counts as it should; own and that of its
// depth, shrunk (a moderated variance: Smyth, 2004), and winsorized. A scale speaks once two such spans have
// been seen. A block is worth three of its own deviations at most: what is strong and short is no shift that
// lasts.
//
// Cost of a block: O(items * channels * (scales + spans)). Memory: 304 bytes an item and channel. Thread
// safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grid.h"
#include "margay/base/ids.h"
#include "node_items.h"

namespace margay::detect {

class ShiftSums {
 public:
  static constexpr std::size_t kBlock = 8;  // slices
  static constexpr std::size_t kScales = 7;
  // Slices for a nat.
  static constexpr std::size_t period(std::size_t scale) { return kBlock << scale; }

  // Items x channels, sums over a block.
  struct Block {
    Grid apart;               // the residual
    Grid own;                 // the same before what peers have was taken off
    Grid lost;                // what it comes to, in slices
    std::vector<char> known;  // by item: otherwise the block says nothing of it
  };
  // Items from `keep` on are new ones.
  void lay_out(const NodeItems& items, std::size_t channels, std::size_t keep);
  // A block, whose first slice is `begin`, of all items that are not of `except`.
  void take(const NodeItems& items, const Block& block, SliceIndex begin, const std::vector<char>& except);
  // It is a quiet one, but of items of `except`.
  void learn(const NodeItems& items, const Block& block, const std::vector<char>& except);
  // What has summed up of the item is of another time.
  void restart(std::size_t item);

  struct Score {
    float nats = 0;
    SliceIndex begin{};        // when it began
    float slices = 0;          // since then, that were looked at
    float apart = 0, own = 0;  // means over them
    float lost = 0;            // slices
  };
  Score of(const NodeItems& items, std::size_t item, std::size_t channel, std::size_t scale) const;
  // Of the depth: the most evidence of stretches that the newest block has ended.
  float ended(std::size_t group, std::size_t scale) const { return ended_[group * kScales + scale]; }
  // What such a residual of the item, over one block, says for the shift of each scale; nats.
  std::array<float, kScales> nats(const NodeItems& items, std::size_t item, std::size_t channel,
                                  float residual) const;
  bool speaks(std::size_t group, std::size_t scale) const {
    return most_[group] >> span(scale) >= kLeastSpans;
  }

 private:
  // Variances are measured on 2^k blocks.
  static constexpr std::size_t kSpans = kScales + 3;
  static constexpr std::size_t span(std::size_t scale) { return scale + 3; }
  static constexpr std::uint32_t kLeastSpans = 2;
  using Spans = std::array<float, kSpans>;
  struct Sum {
    SliceIndex begin{};
    float nats = 0, peak = 0, blocks = 0, apart = 0, own = 0, lost = 0;
  };
  struct Cell {
    Spans part{};  // of the span that goes on
    Spans rate{};  // variance for a slice of sums over the span
    std::array<Sum, kScales> sums{};
  };
  Spans rates(std::size_t group, std::size_t item, std::size_t channel) const;
  float student(std::size_t group, std::size_t scale, float nats) const;
  void learn(std::size_t group, std::size_t item, std::size_t channel, float residual);
  void pool(const NodeItems& items);

  std::vector<std::vector<Cell>> cells_;    // by channel, item
  std::vector<std::uint32_t> blocks_;       // by item: learned
  std::vector<std::uint32_t> most_;         // by group: of its items
  std::vector<std::vector<Spans>> pooled_;  // by channel, group
  std::vector<Spans> seen_;                 // by group: spans of all its items
  std::vector<float> ended_;                // by group * kScales + scale
};

}  // namespace margay::detect
