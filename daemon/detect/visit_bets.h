// What visits that end, or go on, are worth to who bets that they take longer than usual. Pure.
//
// What is usual is told by usual_lengths.h. Beyond its threshold a visit has a p-value, however many kinds of
// work a state has, and is worth a bet against p being small, (1 - p + p ln p) / (p ln^2 p): its expectation
// is 1 while all is as usual (Vovk and Wang, E-values: calibration, combination and applications, 2021).
//
// Where visits are of one kind a second bet is on their taking 1.5, 2 or 4 times as long as the leaf's
// usually do: the likelihood ratio under Student's t with 5 degrees of freedom, whose mean and variance are
// the leaf's own, winsorized, shrunk towards its siblings', but for who has a role of its own: a master that
// hands out in milliseconds what the others work at for seconds. Half is put on either; that is a bet of
// expectation 1, too.
//
// Visits are gathered, and what they are worth is worked out for many at once: the arithmetic of a visit is
// small, and vectors do several. Cost: some 20 ns a visit. Memory: 20 KiB. Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "usual_lengths.h"

namespace margay::detect {

// Of the logarithms of the lengths of a leaf's visits: sums that fade.
struct OwnLogs {
  static constexpr float kSiblings = UsualLengths::kSiblings;
  // The variance before any is seen, as if so many visits had; never less.
  static constexpr float kPriorVariance = 0.09f, kLeastVariance = 0.0025f;

  // How many, from the first on; of logarithms, and of their distance from the mean.
  float visits = 0, log = 0, square = 0;
  // Shrunk towards the siblings', the less the further it is from them: a role of its own (a prior with
  // Cauchy's tails).
  static float mean(float log, float visits, float median, float variance) {
    const float some = std::max(visits, 1e-3f), away = log / some - median;
    const float far = away * away / (variance * (1 / some + 1 / kSiblings));
    const float siblings = kSiblings * std::min(1.0f, 2 / (1 + far));
    return (log + siblings * median) / (visits + siblings);
  }
  static float variance(float square, float visits, float of_siblings, float visits_of_siblings) {
    const float siblings = (of_siblings + kSiblings * kPriorVariance) / (visits_of_siblings + kSiblings);
    return std::max(kLeastVariance, (square + kSiblings * siblings) / (visits + kSiblings));
  }
};

// Of that distance, of all visits below an inner node, and how many; they fade.
struct Spread {
  float square = 0, visits = 0;
};

class VisitBets {
 public:
  // No visit is worth more nats: several have to be long.
  static constexpr float kMostOfOne = 6;
  // Of each of the visits that are gathered at most.
  template <typename T>
  using Column = std::array<T, 256>;

  // What a bet on p, below 1, being small wins; and with its logarithm.
  static double on_rare(double p, double ln) { return (1 - p + p * ln) / (p * ln * ln); }

  // For how many more there is room.
  std::size_t room() const { return log_.size() - size_; }
  // A visit of which something is usual. Returns its place among the gathered.
  std::uint32_t add(float log, const UsualLengths::Own& own, const UsualLengths::Tail& tail,
                    const OwnLogs& logs, const Spread& spread) {
    const std::size_t i = size_++;
    log_[i] = log;
    visits_[i] = own.visits, beyond_[i] = own.beyond, excess_[i] = own.excess;
    median_[i] = tail.median, threshold_[i] = tail.threshold, usual_excess_[i] = tail.excess;
    usual_log_[i] = tail.median;
    own_visits_[i] = logs.visits, own_log_[i] = logs.log, own_square_[i] = logs.square;
    square_[i] = spread.square, of_[i] = spread.visits;
    return static_cast<std::uint32_t>(i);
  }
  // What each of the gathered is worth, times what is put on it; valid until the next is added. There are
  // none then. `one_kind`: visits of a leaf to a state are of one kind.
  std::span<double> wins(bool one_kind);
  // Of each of these, what such a visit usually takes: its logarithm. Where visits are of one kind it is the
  // leaf's own: who has half as much to do as its siblings may take longer than ever, and yet no longer than
  // they.
  std::span<const float> usual_logs() const { return usual_log_; }

 private:
  void bet_on_tails();
  void bet_on_factors();

  std::size_t size_ = 0;
  Column<float> log_{}, visits_{}, beyond_{}, excess_{}, median_{}, threshold_{}, usual_excess_{};
  Column<float> own_visits_{}, own_log_{}, own_square_{}, square_{}, of_{};
  Column<float> usual_log_{};
  Column<float> far_{};               // logarithm of the part of the tail that is further out
  Column<double> part_{}, ln_{};      // the p-value, or the part that is in the tail; its logarithm
  Column<double> tail_{}, factor_{};  // what either bet wins
};

}  // namespace margay::detect
