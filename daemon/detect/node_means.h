// How far nodes are from usual, in the mean of their leaves and of the last slices, and how improbable that
// is. Pure.
//
// Of each node and cell (contrast.h) the variance is known from quiet slices: its own, shrunk towards that of
// its siblings, and theirs towards that of its depth, each slice worth as much as the other (a moderated
// variance: Smyth, Linear models and empirical Bayes methods, 2004); of means over several slices it is what
// such means of its depth have shown. It is no less than the spread of the leaves in the same slices, while
// the mode is young, nor than a part of the square by which all moved together: where everything moves,
// leaves follow imperfectly. The score of a node, a span and a cell is the logarithm of the p-value of its
// excess of time, by Student's t.
//
// Cost per slice: O(nodes * cells). Memory: nodes * cells * 44 bytes. Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "contrast.h"
#include "grid.h"
#include "node_items.h"

namespace margay::detect {

class NodeMeans {
 public:
  // Slices that a score is of: what is strong shows at once, what is weak if it lasts.
  static constexpr std::array<std::size_t, 2> kSpans = {1, 8};
  static constexpr std::size_t kLong = kSpans.back();

  // `finer`: of a coarser level, deviations that count are so many times smaller.
  explicit NodeMeans(float finer) : finer_(finer) {}
  // Items from `keep` on are new ones.
  void lay_out(const NodeItems& items, std::size_t columns, std::size_t keep);
  void take(const NodeItems& items, const Contrast& contrast);
  // What comes now and what was before are not one stretch.
  void restart();
  // The job does something that it never did before: how much nodes vary in it is to be learned, too.
  void begin_mode();
  // Slices of the present stretch.
  std::uint64_t run() const { return run_; }

  // The most improbable excess of time of the nodes of a depth, in a cell.
  struct Greatest {
    float nats = 0;
    std::uint32_t item = 0;
  };
  // Scores the newest slices; `left_out`: items that are not scored (by item; empty: none).
  void score(const NodeItems& items, const Contrast& contrast, const std::vector<char>& left_out);
  // What was scored, of a depth and a span; 0 of a span that is longer than the stretch.
  Greatest greatest(std::size_t group, std::size_t span, std::size_t cell) const;
  // Of one item.
  float nats(const NodeItems& items, std::size_t item, std::size_t span, std::size_t cell) const;
  // The share of its time that went elsewhere than usual.
  double effect(std::size_t item, std::size_t span) const {
    return effect(span == 0 ? newest(item) : long_[item], kSpans[span]);
  }
  // The slice is a quiet one.
  void learn(const NodeItems& items, const Contrast& contrast);
  // Of this item nothing is known any more.
  void forget(std::size_t item);

  // Adds the departures of the last slices to cells.
  void add_last(std::size_t item, std::size_t slices, float* to) const;
  // What the item did so many slices ago.
  const float* ago(std::size_t item, std::size_t slices) const {
    return ring_[(taken_ + kLong - 1 - slices) % kLong][item];
  }
  // The deviation of a leaf's mean over so many slices.
  float deviation(std::size_t leaf, std::size_t cell, float slices) const;
  // The time, as a share, that goes elsewhere than usual: of sums over so many slices; of a span of the item.
  double effect(const float* sum, std::size_t slices) const;

 private:
  const float* newest(std::size_t item) const { return ago(item, 0); }
  std::vector<float> spread(const Contrast& contrast, std::size_t span,
                            const std::vector<float>& floor) const;
  float least_deviation() const;
  // How far what the siblings of an item have shown is believed, before what its depth has.
  float siblings_say(const NodeItems& items, std::size_t item) const;
  // What is believed of a variance before the item has any of its own: cells, `pooled` of its depth.
  const float* prior(const NodeItems& items, std::size_t item, const float* pooled,
                     std::vector<float>& room) const;

  float finer_;
  std::size_t size_ = 0, leaves_ = 0, groups_ = 0, columns_ = 0;
  // Items x cells.
  std::array<Grid, kLong> ring_;   // of the last slices
  Grid long_;                      // over the longest span
  Grid variance_;                  // of one slice
  Grid siblings_;                  // of one slice, of a leaf, in the mean of those of an inner item
  std::vector<float> siblings_n_;  // slices that it rests on, of all of them together
  std::array<std::vector<float>, kLong> common_;  // of the last slices, cells
  // Of each depth and span: the variance of the span's mean, cells.
  std::vector<std::array<std::vector<double>, kSpans.size()>> pooled_;
  std::vector<double> pooled_n_;  // by group: slices
  std::vector<float> n_;          // by item: slices its variance rests on
  std::uint64_t taken_ = 0, run_ = 0;
  // What the newest slices are scored by, of each span: depths x cells, and cells.
  struct Scored {
    std::vector<float> base, lasts, least, moved;
    std::vector<float> most;  // squares of the greatest, in variances
    std::vector<std::uint32_t> who;
  };
  std::array<Scored, kSpans.size()> scored_;
};

}  // namespace margay::detect
