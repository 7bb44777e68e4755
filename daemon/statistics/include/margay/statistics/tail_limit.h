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
// Of the tail only the greatest are needed: of each eighth of what counts so many are kept as the tail may
// have.
//
// Cost: add O(1), of one that is among the greatest O(maxima kept); limit some 40 us where the tail or what
// is asked for has changed, and chance always. Memory: 8 bytes of each maximum kept, 3 KiB at most. Thread
// safety: none.
#pragma once

#include <cstddef>
#include <vector>

#include "margay/base/time.h"

namespace margay::statistics {

// Of so many a day those of a slice.
double in_a_slice(double a_day, DurationNs slice);

// What is believed of a tail's index in the mean, before anything is seen: of one in which visits are counted
// one by one, or sums that last; of what several do that are not independent, or of work that takes longer;
// of time spent in a state, for how long others let one wait varies by much.
inline constexpr double kLightTail = 0.1, kMiddlingTail = 0.2, kHeavyTail = 0.4;

class TailLimit {
 public:
  // `index`: the mean of what is believed of the tail's index before anything is seen; the less, the more the
  // textbook is trusted.
  explicit TailLimit(double index) : index_(index) {}
  // The newest maxima that count; they are forgotten by eighths.
  static constexpr std::size_t kKept = 131072;

  // The greatest score of a quiet slice; not negative, finite. `told`: beyond the limit it would be told;
  // what takes too little of the time is not, however great its score. The limit is one of what is told.
  void add(float score, bool told = true);
  std::size_t size() const { return size_; }
  // What a slice's greatest score of so many tests exceeds with probability `p` (0 to 1, both outside).
  double limit(double p, double tests) const;
  // The probability with which it exceeds `score`, as limit() has it the other way round, but however small.
  double chance(double score, double tests) const;

 private:
  struct Maximum {
    float score;
    bool told;
  };
  struct Part {
    std::size_t size = 0;
    std::vector<Maximum> greatest;  // first
  };
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
  std::size_t counted() const;  // the size, in steps
  // Of all that counts, the first the greatest.
  std::vector<Maximum> greatest() const;
  // Of the k greatest of `size` maxima; of none, beyond `least`.
  Tail tail(const std::vector<Maximum>& greatest, std::size_t k, std::size_t size, double least) const;
  std::vector<Tail> tails(const std::vector<Maximum>& greatest, std::size_t size, double tests) const;
  static double beyond(const Tail& tail, double p);

  double index_;
  std::vector<Part> parts_;  // the oldest first
  std::size_t size_ = 0;
  // The newest limit, and what it is made of.
  mutable bool known_ = false;
  mutable std::size_t seen_ = 0;
  mutable double p_ = 0, tests_ = 0, answer_ = 0;
};

}  // namespace margay::statistics
