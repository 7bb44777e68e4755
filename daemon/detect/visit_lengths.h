// How much likelier what a slice shows of visits is if they take k times as long as usual. Pure.
//
// Usual is what the leaf's visits to the state took, as far as it has had any, else what those of all did:
// the logarithm of a length is taken for normal about a prediction, and its deviation is that by which the
// predictions have failed (one step ahead, so that what is not known of a leaf is in it; Dawid, Present
// position and potential developments: the prequential approach, 1984). There are two predictions: one that
// stays, and one that follows what all leaves' visits take lately, for work comes in kinds; the one that has
// failed by less is believed.
//
// A visit that ended counts by its density, one that goes on by its survival: how long it has lasted so far
// is all that is known, and it is evidence from the day on which its siblings were over (right censoring).
// What it told in the slices before is taken off, so a visit of many slices tells no more than a short one.
//
// No single visit proves anything: one in 100 takes long by itself, and of slow ones one in ten is as usual,
// so the ratio of a visit lies between 1 / 10 and 100 (Huber, A robust version of the probability ratio test,
// 1965).
//
// Cost per slice: O(leaves * columns). Memory: modes * leaves * columns * 8 bytes, and six grids. Thread
// safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grid.h"

namespace margay::detect {

// A visit that is open at an edge of a slice.
struct OpenVisit {
  std::uint16_t state = 0xfffe;  // none
  float age = 0;                 // slices
};

class VisitLengths {
 public:
  static constexpr std::array<float, 2> kFactors = {2, 4};

  // What a slice shows: leaves x columns.
  struct Seen {
    const Grid& spent;    // slices
    const Grid& ended;    // visits that ended in it
    const Grid& longest;  // slices, from the begin of the visit on; also of one that goes on
    const std::vector<OpenVisit>&before, &after;
    const std::vector<char>&there, &counted;     // by leaf; by column
    const std::vector<std::uint16_t>& state_of;  // by column
  };
  // In the mode of this number; modes that were not known start from what is known of the present one.
  void measure(const Seen& seen, std::uint64_t mode);
  // The slice that was measured is a quiet one.
  void learn();
  void forget_all() { models_.clear(); }

  // Leaves x columns, natural logarithms of ratios of likelihoods, of each factor.
  const std::array<Grid, kFactors.size()>& evidence() const { return evidence_; }
  // Visits that told something; those that ended; how far these are from usual, in deviations, summed.
  const Grid& at() const { return at_; }
  const Grid& ended() const { return ended_; }
  const Grid& far() const { return far_; }

 private:
  enum Prediction : std::size_t { kStays, kFollows, kPredictions };
  struct Column {
    double visits = 0, logs = 0;  // of all leaves; sums that forget
    std::array<double, kPredictions> error{};
    double errors = 0;  // so many
    float drift = 0;    // of the prediction that follows
    Prediction best() const;
    double deviation() const;
    double of_all() const;  // the mean logarithm of a visit of all leaves
  };
  struct Model {
    std::uint64_t mode = 0, used = 0;
    Grid visits, logs;  // leaves x columns; sums that forget
    std::vector<Column> columns;
  };
  float predicted(const Model& model, std::size_t leaf, std::size_t column, double of_all) const;
  Model& model_of(std::uint64_t mode);

  static constexpr std::size_t kMostModels = 8;
  std::vector<Model> models_;
  std::size_t now_ = 0;
  std::uint64_t clock_ = 0;
  std::size_t leaves_ = 0, columns_ = 0;
  std::array<Grid, kFactors.size()> evidence_;
  Grid at_, ended_, far_;
  Grid lengths_;  // mean logarithm of those that ended
};

}  // namespace margay::detect
