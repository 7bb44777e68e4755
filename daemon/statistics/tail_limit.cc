#include "margay/statistics/tail_limit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace margay::statistics {
namespace {

// The tail is the upper third of a short history, at most so many of a long one; what is seldom lies beyond
// what is usual, and has a slope of its own, which the upper quarter tells: the wider of the two is believed.
constexpr std::size_t kMostTail = 48, kFarTail = kMostTail / 4;
// The textbook's mean excess, believed as much as so many excesses say.
constexpr double kPriorExcess = 1, kPriorWeight = 4;
// Tails that are believed possible: indices of a generalised Pareto distribution, the heavier the less.
constexpr std::array<double, 12> kIndices = {0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.3};
constexpr std::array<double, 12> kWidths = {0.025, 0.05,  0.05, 0.05,  0.075, 0.1,
                                            0.1,   0.125, 0.15, 0.175, 0.25,  0.3};
// What is seldomer than once in so many times what has been seen is not asked for: all that is unknown would
// be believed. That costs ln(n) / kFarthest alarms in n slices, once.
constexpr double kFarthest = 150, kLeastSeen = 8;
// No limit is more than so many times the textbook's, or the greatest that was seen.
constexpr double kFarthestLimit = 4;
constexpr double kPriorTold = 4;  // all of so many that would be told
constexpr std::size_t kPart = TailLimit::kKept / 8;
constexpr double kStep = 1.25;  // a history is counted in steps, so that few limits are computed

}  // namespace

double in_a_slice(double a_day, DurationNs slice) {
  constexpr double kDayNs = 86'400e9;
  return a_day * static_cast<double>(slice.value) / kDayNs;
}

void TailLimit::add(float score, bool told) {
  if (parts_.empty() || parts_.back().size == kPart) {
    parts_.emplace_back();
    if (parts_.size() > kKept / kPart) {
      size_ -= parts_.front().size;
      parts_.erase(parts_.begin());
      known_ = false;
    }
  }
  Part& part = parts_.back();
  ++part.size, ++size_;
  auto& greatest = part.greatest;
  if (greatest.size() > kMostTail && score <= greatest.back().score) return;
  known_ = false;
  const auto less = std::partition_point(greatest.begin(), greatest.end(),
                                         [&](const Maximum& m) { return m.score >= score; });
  greatest.insert(less, {score, told});
  if (greatest.size() > kMostTail + 1) greatest.pop_back();
}

std::vector<TailLimit::Maximum> TailLimit::greatest() const {
  std::vector<Maximum> all;
  for (const Part& p : parts_) all.insert(all.end(), p.greatest.begin(), p.greatest.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Maximum& a, const Maximum& b) { return a.score > b.score; });
  return all;
}

TailLimit::Tail TailLimit::tail(const std::vector<Maximum>& greatest, std::size_t k, std::size_t size,
                                double least) const {
  Tail t;
  t.quantile = least;
  if (k < greatest.size()) t.quantile = std::max(least, static_cast<double>(greatest[k].score));
  std::vector<double> excesses;
  double told = kPriorTold, mean = 0;
  for (std::size_t i = 0; i < std::min(k, greatest.size()); ++i) {
    const double x = static_cast<double>(greatest[i].score) - t.quantile;
    if (x <= 0) continue;
    excesses.push_back(x);
    mean += x;
    told += greatest[i].told;
  }
  const auto n = static_cast<double>(size), seen = static_cast<double>(excesses.size());
  // Beyond the textbook's quantile a slice's greatest is with probability 1 at most.
  const double part = (seen + 1) / (n + 1);
  t.beyond = part * told / (seen + kPriorTold);
  mean = (mean + kPriorWeight * kPriorExcess) / (seen + kPriorWeight);
  double scale = mean, most = -std::numeric_limits<double>::infinity();
  for (std::size_t s = 0; s < kIndices.size(); ++s) {
    const double index = kIndices[s], all = seen + kPriorWeight;
    // The prior counts as excesses of the textbook's mean.
    double log_likelihood = 0;
    if (index > 0) {
      // The likeliest scale of this index: where (1 + index) mean(x / (scale + index x)) = 1. The heavier,
      // the smaller, so it lies below the one before.
      double low = 0, high = scale;
      for (int round = 0; round < 40; ++round) {
        const double middle = (low + high) / 2;
        double sum = kPriorWeight * kPriorExcess / (middle + index * kPriorExcess);
        for (const double x : excesses) sum += x / (middle + index * x);
        ((1 + index) * sum > all ? low : high) = middle;
      }
      scale = high;
      for (const double x : excesses) log_likelihood -= (1 + 1 / index) * std::log1p(index * x / scale);
    } else {
      for (const double x : excesses) log_likelihood -= x / mean;
    }
    log_likelihood -= seen * std::log(scale) + index / index_;
    most = std::max(most, log_likelihood);
    t.shapes.push_back({index, scale, log_likelihood});
  }
  double sum = 0;
  for (std::size_t s = 0; s < t.shapes.size(); ++s)
    sum += t.shapes[s].weight = kWidths[s] * std::exp(t.shapes[s].weight - most);
  for (Shape& s : t.shapes) s.weight /= sum;
  return t;
}

double TailLimit::Tail::survival(double excess) const {
  double sum = 0;
  for (const Shape& s : shapes)
    sum += s.weight * (s.index > 0 ? std::pow(1 + s.index * excess / s.scale, -1 / s.index)
                                   : std::exp(-excess / s.scale));
  return sum;
}

std::vector<TailLimit::Tail> TailLimit::tails(const std::vector<Maximum>& greatest, std::size_t size,
                                              double tests) const {
  std::vector<Tail> out;
  for (const std::size_t most : {kMostTail, kFarTail})
    out.push_back(tail(greatest, std::min(size / 3 * most / kMostTail, most), size, std::log(tests)));
  return out;
}

// What is exceeded with probability `p` by who is in the tail.
double TailLimit::beyond(const Tail& tail, double p) {
  if (p >= 1) return tail.quantile;
  // In its logarithm, between what the lightest says and what nothing exceeds.
  double low = 0, high = 60;
  for (int round = 0; round < 40; ++round) {
    const double middle = (low + high) / 2;
    (tail.survival(tail.shapes.front().scale * std::expm1(middle)) > p ? low : high) = middle;
  }
  return tail.quantile + tail.shapes.front().scale * std::expm1(high);
}

std::size_t TailLimit::counted() const {
  double n = kLeastSeen;
  while (n * kStep <= static_cast<double>(size())) n *= kStep;
  return std::min(size(), static_cast<std::size_t>(n));
}

double TailLimit::limit(double p, double tests) const {
  const std::size_t seen = counted();
  if (known_ && p_ == p && tests_ == tests && seen_ == seen) return answer_;
  known_ = true, p_ = p, tests_ = tests, seen_ = seen;
  const double asked = std::max(p, 1 / (kFarthest * std::max(kLeastSeen, static_cast<double>(seen))));
  const std::vector<Maximum> all = greatest();
  double limit = std::log(tests / p);  // the textbook
  for (const Tail& t : tails(all, seen, tests)) limit = std::max(limit, beyond(t, asked / t.beyond));
  // Excesses of few decades do not tell of many more: who believed them would be deaf.
  const double most = all.empty() ? 0 : static_cast<double>(all.front().score);
  answer_ = std::min(limit, kFarthestLimit * std::max(std::log(tests / p), most));
  return answer_;
}

double TailLimit::chance(double score, double tests) const {
  double most = std::min(1.0, tests * std::exp(-score));  // the textbook
  for (const Tail& t : tails(greatest(), counted(), tests))
    most = std::max(most, t.beyond * t.survival(std::max(0.0, score - t.quantile)));
  return most;
}

}  // namespace margay::statistics
