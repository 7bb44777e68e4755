// The evidence, in nats, that a quiet slice's greatest exceeds with a given probability: learned from what
// quiet slices had. Pure.
//
// Of `tests` independent tests whose scores are logarithms of p-values or of bets, the greatest exceeds x
// with probability tests * exp(-x): the textbook. Noise that lasts, rare states and heavy tails make it more.
// By how much is learned from the job's own quiet slices, from each its greatest (block maxima, so that what
// is alike in all resources of a slice counts once): of their upper part all generalised Pareto tails are
// believed (Pickands, Statistical inference using extreme order statistics, 1975), as far as prior and maxima
// make them likely (Coles and Powell, Bayesian methods in extreme value modelling, 1996), and the limit is
// that of the predictive distribution. Before anything is seen the prior alone speaks: the textbook's tail,
// a mean excess of 1.
// Whatever the tail seems to be, what is four times as strong as all that was seen is beyond the limit: of n
// slices in any order that costs no more than ln(n) / 4 alarms (of an index of 1).
//
// Of the tail only the greatest are needed, so a maximum is dropped as soon as enough later ones have
// exceeded it: it will not be among the greatest again (the k-skyband: Mouratidis et al., Continuous
// monitoring of top-k queries over sliding windows, 2006). Of n maxima in any order k (1 + ln(n / k)) are
// kept.
//
// Cost: add O(maxima kept), ask O(1), limit as add where the tail or what is asked for has changed (20 us or
// so), and chance always.
// Memory: 16 bytes of each, 7 KiB or so. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "margay/base/time.h"

namespace margay::detect {

// Of so many a day those of a slice.
double in_a_slice(double a_day, DurationNs slice);

class TailLimit {
 public:
  // `index`: the mean of what is believed of the tail's index before anything is seen; the less, the more the
  // textbook is trusted.
  explicit TailLimit(double index) : index_(index) {}
  // The newest maxima that count.
  static constexpr std::size_t kKept = 131072;

  // The greatest score of a quiet slice; not negative, finite. `told`: beyond the limit it would be told;
  // what takes too little of the time is not, however great its score. The limit is one of what is told.
  void add(float score, bool told = true);
  std::size_t size() const { return std::min<std::uint64_t>(added_, kKept); }
  // What a slice's greatest score of so many tests exceeds with probability `p` (0 to 1, both outside).
  double limit(double p, double tests) const;
  // The next limit of these, unless the tail changes before, is that of the maxima there are now: it is
  // computed only if it is needed.
  void ask(double p, double tests) const;
  // The probability with which it exceeds `score`, as limit() has it the other way round, but however small.
  double chance(double score, double tests) const;

 private:
  // A tail that the excesses may have.
  struct Shape {
    double index, scale, weight;  // 0 for an exponential one
  };
  struct Tail {
    double quantile = 0;
    double beyond = 0;  // of a slice: the probability of an excess that is told
    std::vector<Shape> shapes;
    double survival(double excess) const;  // of those that are told
  };
  // Of the k greatest of `size` maxima; of none, beyond `least`.
  Tail tail(std::size_t k, std::size_t size, double least) const;
  std::vector<Tail> tails(std::size_t size, double tests) const;
  static double beyond(const Tail& tail, double p);

  double index_;
  struct Maximum {
    float score;
    std::uint16_t exceeded;  // by so many later ones
    bool told;
    std::uint64_t number;
  };
  std::vector<Maximum> greatest_;  // first
  std::uint64_t added_ = 0;
  // What the newest limit is made of.
  mutable bool known_ = false;
  mutable double p_ = 0, tests_ = 0, n_ = 0;
  mutable std::size_t size_ = 0;
  mutable std::optional<double> answer_;  // none before it was needed
};

}  // namespace margay::detect
