// What each leaf does otherwise than usual, and otherwise than the others. Pure.
//
// Three measures of a cell, each in shares of the slice: *share*, the time in a state; *excess*, the time in
// a state less what the visits that ended in it usually take; *overtime*, the time of a visit beyond what
// nearly all visits take, also while it goes on. Shares tell a change of proportions; excess tells work that
// takes longer, also where work comes in requests and its amount varies; overtime tells visits of several
// slices. Usual is what the leaf did in this *mode* of the job. Of all three the median over the leaves is
// taken off (the *common* part): what hits everyone alike is a change of phase, not a perturbation.
//
// A mode is what the leaves' usual shares and durations are while the job does one thing. The mode of a slice
// is the known one that most leaves fit (median total variation), found again in the slice in which it comes
// back; a new one is learned when slices have been apart from all known ones and alike for a while. So a
// phase change is followed before the phases are certain of it. Modes are no phases: they follow drift, and
// one may be learned for what turns out to be one phase.
//
// Cost per slice: O(leaves * columns), and known modes times that where the mode changes. Memory: modes *
// leaves * columns * 24 bytes (8 modes at most). Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "margay/detect/ingredient.h"
#include "margay/detect/window.h"

namespace margay::detect {

// Rows of columns; grows without losing anything.
class Grid {
 public:
  void reach(std::size_t rows, std::size_t columns);
  // Each row has `parts` parts of as many columns, which become `columns` wide.
  void widen(std::size_t parts, std::size_t columns);
  void fill(float value) { std::fill(v_.begin(), v_.end(), value); }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  float* operator[](std::size_t row) { return v_.data() + row * columns_; }
  const float* operator[](std::size_t row) const { return v_.data() + row * columns_; }
  // From this row on all is 0.
  void clear_from(std::size_t row) {
    std::fill(v_.begin() + static_cast<std::ptrdiff_t>(row * columns_), v_.end(), 0.0f);
  }

 private:
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<float> v_;
};

class Contrast {
 public:
  enum Measure : std::size_t { kShare, kExcess, kOvertime, kMeasures };
  explicit Contrast(DurationNs slice, Ingredients without = {}) : slice_(slice), without_(without) {}

  // The newest slice of the window. `idle` are states in which being is no work: they are left out.
  void measure(const Window& window, const model::SliceColumn& column, const std::set<std::uint16_t>& idle);
  // The slice that was measured is quiet: it belongs to its mode, or to one that begins.
  void learn();
  // It is not: what was being learned of a new mode is forgotten.
  void forget() { candidate_ = {}; }

  std::size_t leaves() const { return known_.size(); }
  std::size_t columns() const { return columns_; }
  // Leaves x cells, common part taken off; cell measure * columns() + column. 0 of leaves that are not known
  // (absent, lost, not yet learned).
  std::size_t cells() const { return kMeasures * columns_; }
  const Grid& departure() const { return departure_; }
  const std::vector<float>& common() const { return common_; }
  bool known(std::size_t leaf) const { return known_[leaf] != 0; }
  // No mode fits: the job has just changed, all together.
  bool unsettled() const { return unsettled_; }
  // Slices that the present mode rests on; 0 before the first.
  double history() const { return mode_ ? modes_[*mode_].slices : 0; }
  // Leaves that the median is taken of.
  const std::vector<std::uint32_t>& sample() const { return sample_; }

 private:
  struct Mode {
    Grid share;          // mean
    Grid spent, visits;  // sums that forget: slices spent in a state, visits that ended
    // Logarithms of the durations of visits: how many, sum, sum of squares; they forget.
    Grid logs, log_sum, log_squares;
    std::vector<float> n;  // slices learned, of each leaf
    double slices = 0;
    double fit = 0.1;  // usual
    std::uint64_t used = 0;
  };
  double fit(const Mode& mode) const;
  bool fits(const Mode& mode, double fit) const;
  void add(Mode& mode);
  void reach(Mode& mode) const;

  DurationNs slice_;
  Ingredients without_;  // for measurement only
  std::size_t columns_ = 0;
  std::vector<Mode> modes_;
  std::optional<std::size_t> mode_;
  Mode candidate_;
  bool unsettled_ = true;
  double fit_now_ = 0;
  std::uint64_t clock_ = 0;
  Grid row_, spent_, visits_;                  // of this slice
  std::vector<char> there_, known_, counted_;  // by leaf, by leaf, by column: not idle
  Grid age_, in_,
      ended_;  // of this slice: of the longest visit, its part of the slice; log of one that ended
  Grid departure_;
  std::vector<float> common_;
  std::vector<std::uint32_t> sample_;
};

}  // namespace margay::detect
