// How high the greatest score of a quiet slice goes, and from where on a score is no longer chance. Pure.
//
// Scores are standardised, but their tails are not those of a textbook: noise that lasts, rare states, heavy
// tails. So the limit is extrapolated from the scores' own recent maxima, one of each slice (block maxima, so
// that what is alike in all resources of a slice counts once): between the exponential continuation of the
// excesses over a high quantile, which suits light tails, and the Pareto one (Hill; Weissman, Estimation of
// parameters and large quantiles, 1978), which suits heavy ones. A short history makes it wider, not silent.
//
// Cost: add O(kept) bytes moved; limit O(kMostTail). Memory: kept * 8 bytes. Thread safety: none.
#pragma once

#include <cstddef>
#include <vector>

namespace margay::detect {

class TailLimit {
 public:
  struct Options {
    std::size_t kept = 1024;  // newest maxima that count
    double least = 20;        // no limit is below this
    double young = 12;        // slices at which doubt of a short history has halved
    double doubt = 1;         // the limit of no history at all is 1 + doubt times as wide
    bool heavy = true;        // heeds the heavy continuation (false: for measurement only)
  };
  explicit TailLimit(Options options) : options_(options) {}

  // The greatest score of a quiet slice; not negative, finite.
  void add(float score);
  std::size_t size() const { return newest_.size(); }
  // No limit is below this.
  double least() const { return options_.least; }
  // Maxima until a limit is finite.
  static constexpr std::size_t kFewest = 3;
  // What a slice's greatest score exceeds with probability `p` (0 to 1, both outside). Infinite before the
  // third maximum.
  // `few` times as many slices are called a short history.
  double limit(double p, double few = 1) const;

 private:
  Options options_;
  std::vector<float> newest_;  // a ring
  std::vector<float> sorted_;  // the same, the greatest first
  std::size_t next_ = 0;
};

}  // namespace margay::detect
