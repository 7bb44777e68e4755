// Whose visits have been surprisingly long of late: normal scores summed up over nodes and time. Pure.
//
// Of each node and state, and of all its states together, the visits' normal scores (visit_scores.h) of a
// slice are added up, over its leaves. What all others show as well, in the same slice, is nobody's; and
// where visits are all shorter or longer together, for work comes in kinds, each is compared with the others,
// as far as that has told something of it so far (a regression of each leaf's scores on the mean of the
// others'). What is left has a smaller variance, which is learned, too.
//
// Evidence that scores z of n visits are higher by d is z d - n d^2 / 2, the log-likelihood ratio of normal
// ones; d is what they were higher by so far since the stretch began, within bounds (Lorden and Pollak,
// Nonanticipating estimation applied to sequential analysis and changepoint detection, 2005). Visits of the
// same node at the same time hang together, for they share cores and disks: it is divided by their design
// effect, 1 + (n - 1) r, where n is how many there were lately, and r is learned from blocks of quiet slices,
// of each depth and state (Kish, Survey sampling, 1965); what is far beyond is believed as far as twice the
// variance that r says, so that what has been missed does not teach that it is usual.
//
// The stretches are those of stretch_sums.h.
//
// Cost per slice: O(nodes * columns). Memory: nodes * columns * 80 bytes. Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grid.h"
#include "node_items.h"
#include "stretch_sums.h"

namespace margay::detect {

class ScoreSums {
 public:
  // A stretch is looked for in which scores are higher by this, and no more than so much.
  static constexpr float kLeastShift = 0.75f, kMostShift = 3;

  // Items x columns, sums over the leaves of each item.
  struct Slice {
    Grid score, visits, told, lost, ratio;  // visit_scores.h
    std::vector<float> busy;                // by item: time that its leaves were not idle, in slices
  };
  // `items` nodes; leaves come first.
  void lay_out(std::size_t items, std::size_t columns);
  // Forgets all of items from this one on.
  void clear_from(std::size_t item);
  // To be filled before `take`, which is of the same items.
  Slice& slice() { return slice_; }
  void take(const NodeItems& items);
  // The slice that was taken is a quiet one.
  void learn(const NodeItems& items);
  StretchSums& stretches() { return stretches_; }
  const StretchSums& stretches() const { return stretches_; }
  // What a visit's score is higher by since the stretch began, in the mean.
  float shift(std::size_t item, std::size_t column) const;
  // What has summed up so far is of another time; of this item.
  void restart();
  void restart(std::size_t item);

 private:
  // How the visits of a node hang together: sums that fade.
  struct Scatter {
    double squares = 0, visits = 0, pairs = 0;
  };
  // How a leaf's visits hang together with the others' (leaves' scores on the mean score of the others'), and
  // what is left: sums that fade.
  struct Common {
    double xy = 0, yy = 0, squares = 0, n = 0;
    double slope() const;
    double variance() const;
  };
  struct Compared {
    std::size_t column;
    float score, visits, others;
  };
  struct Told {
    float score = 0, visits = 0, lost = 0, ratio = 0, told = 0;
  };
  void add(std::size_t item, std::size_t column, const Told& told, float together);
  std::array<Grid*, 7> sums() {
    return {&score_, &visits_, &lately_, &now_score_, &now_visits_, &block_score_, &block_visits_};
  }
  static double together(const Scatter& scatter);

  std::size_t items_ = 0, columns_ = 0;
  Slice slice_;
  StretchSums stretches_;
  // Columns, and one of all together.
  Grid score_, visits_;                        // of the stretch that ends now
  Grid lately_;                                // visits; they fade
  Grid now_score_, now_visits_;                // of the slice, compared with the others
  Grid block_score_, block_visits_;            // of the quiet slices of the block
  std::uint32_t in_block_ = 0;                 // so many
  std::vector<std::vector<Scatter>> scatter_;  // by group; of all columns together, then by column
  std::vector<Common> common_;                 // by column
  std::vector<Compared> compared_;             // leaves, of the slice
};

}  // namespace margay::detect
