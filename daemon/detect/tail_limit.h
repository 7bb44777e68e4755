// How high the greatest score of a quiet slice goes, and from where on a score is no longer chance. Pure.
//
// Scores are standardised, but their tails are not those of a textbook: noise that lasts, rare states, heavy
// tails. So the limit is extrapolated from the scores' own recent maxima, one of each slice (block maxima, so
// that what is alike in all resources of a slice counts once): between the exponential continuation of the
// excesses over a high quantile, which suits light tails, and the Pareto one (Hill; Weissman, Estimation of
// parameters and large quantiles, 1978), which suits heavy ones. A short history makes it wider, not silent.
//
// A long history tells the shape of its tail itself, though not exactly, and what is far out is mostly a
// matter of what is not known of it. So of a long one the limit is that of the predictive distribution:
// generalised Pareto tails (Pickands, Statistical inference using extreme order statistics, 1975) of all
// shapes, from exponential ones to such that have no mean, each as likely as the excesses make it (Coles and
// Powell, Bayesian methods in extreme value modelling, 1996). In between it is between both.
//
// The memory is long: what is asked for comes once in 10^5 slices or more, and where seldom a score is far
// greater than the others a short memory has mostly seen none. Of the tail only the greatest are needed, so a
// maximum is dropped as soon as enough later ones have exceeded it: it will not be among the greatest again
// (the k-skyband: Mouratidis et al., Continuous monitoring of top-k queries over sliding windows, 2006). Of n
// maxima in any order k (1 + ln(n / k)) are kept.
//
// The first maxima are of scores whose variances rest on a few slices: they can be ten times too high, and no
// later one would be beyond them. So they count while there is nothing better, and no longer.
//
// Cost: add O(maxima kept), limit the same where the tail or what is asked for has changed (20 us or so).
// Memory: 16 bytes of each, 7 KiB or so. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pareto_tails.h"

namespace margay::detect {

class TailLimit {
 public:
  struct Options {
    std::size_t kept = 131072;  // newest maxima that count
    std::size_t unsure = 0;     // of the first maxima, which count no more
    std::size_t enough = 32;    // when there are so many
    double least = 20;          // no limit is below this
    double young = 12;          // slices at which doubt of a short history has halved
    double doubt = 1;           // the limit of no history at all is 1 + doubt times as wide
    // The mean excess of scores that are logarithms of ratios of likelihoods is known but for what is wrong
    // with the model: 1. Of a short history this is believed, and no heavy continuation. 0: nothing is known.
    double excess = 0;
    bool heavy = true;  // heeds the heavy continuation (false: for measurement only)
  };
  explicit TailLimit(Options options) : options_(options) {}

  // The greatest score of a quiet slice; not negative, finite. `told`: beyond the limit, it would be told;
  // what takes too little of the time is not, however great its score. The limit is one of what is told.
  void add(float score, bool told = true);
  std::size_t size() const {
    return std::min<std::uint64_t>(added_ - (added_ >= options_.enough ? options_.unsure : 0), options_.kept);
  }
  // No limit is below this.
  double least() const { return options_.least; }
  // A score that about one in a thousand maxima exceeds, of a very long history fewer; infinite before there
  // are as many.
  double seldom() const;
  // Maxima until a limit is finite.
  static constexpr std::size_t kFewest = 3;
  // What a slice's greatest score exceeds with probability `p` (0 to 1, both outside). Infinite before the
  // third maximum.
  // `few` times as many slices are called a short history.
  double limit(double p, double few = 1) const;

 private:
  struct Tail {
    double quantile = 0;
    double told = 0;  // of the excesses, those that were large enough to be told
    ParetoTails tails;
  };
  // Beyond the k-th greatest.
  Tail tail(std::size_t k) const;
  double predicted(double n, double p) const;

  Options options_;
  struct Maximum {
    float score;
    std::uint16_t exceeded;  // by so many later ones
    bool told;
    std::uint64_t number;
  };
  std::vector<Maximum> greatest_;  // first
  std::uint64_t added_ = 0;
  // What the newest limit was made of.
  mutable std::vector<Tail> tails_;
  mutable bool tails_known_ = false;
  mutable double asked_n_ = 0, asked_p_ = 0, answer_ = 0;
};

}  // namespace margay::detect
