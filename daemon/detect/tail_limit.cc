#include "tail_limit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace margay::detect {
namespace {

// The tail is the upper third of a short history, at most so many of a long one.
constexpr std::size_t kMostTail = 48;
// What is seldom lies beyond what is usual, and has a slope of its own, which the upper quarter tells: the
// wider of the two is believed.
constexpr std::size_t kFarTail = kMostTail / 4;
// What is believed of the tail before it is seen: the mean excess as a share of the quantile; as much as so
// many excesses say.
constexpr double kPriorExcess = 0.25;
constexpr double kPriorWeight = 4, kKnownWeight = 8;
// How much of the heavy continuation is believed: of a long history, and more of a short one.
constexpr double kHeavy = 0.3, kHeavyYoung = 0.3;
// Slices from which on a history tells the shape of its tail, by and by; and in which steps it is then
// counted.
constexpr std::size_t kLongHistory = 256, kStep = 64;
constexpr std::size_t kSeldom = 1000;
// What is seldomer than once in so many times what has been seen is not told yet: all that is unknown would
// be believed. That costs log(n) / kFarthest alarms in n slices, once.
constexpr double kFarthest = 150;
constexpr double kPriorIndex = 0.2;  // mean
// All of so many that would be told.
constexpr double kPriorTold = 4;

}  // namespace

void TailLimit::add(float score, bool told) {
  const auto less = std::partition_point(greatest_.begin(), greatest_.end(),
                                         [&](const Maximum& m) { return m.score > score; });
  const auto in_tail = [&](auto m) {
    return m - greatest_.begin() <= static_cast<std::ptrdiff_t>(kMostTail);
  };
  if (in_tail(less)) tails_known_ = false;
  for (auto m = greatest_.insert(less, {score, 0, told, added_++}) + 1; m != greatest_.end(); ++m)
    ++m->exceeded;
  // Who goes because of those that are greater is not in the tail; who is too old may be.
  const auto old = [&](const Maximum& m) {
    return m.number + options_.kept < added_ || (m.number < options_.unsure && added_ >= options_.enough);
  };
  for (auto m = greatest_.begin(); m != greatest_.end() && in_tail(m); ++m)
    if (old(*m)) tails_known_ = false;
  std::erase_if(greatest_, [&](const Maximum& m) { return m.exceeded > kMostTail || old(m); });
}

TailLimit::Tail TailLimit::tail(std::size_t k) const {
  Tail t{std::max(1.0, static_cast<double>(greatest_[k].score)), static_cast<double>(k), {}};
  std::vector<double> excesses(k);
  double mean = 0, told = kPriorTold;
  for (std::size_t i = 0; i < k; ++i) {
    excesses[i] = std::max(0.0, static_cast<double>(greatest_[i].score) - t.quantile);
    mean += excesses[i] / static_cast<double>(k);
    told += greatest_[i].told;
  }
  t.told = static_cast<double>(k) * told / (static_cast<double>(k) + kPriorTold);
  // Maxima that are all alike are no proof.
  const double least = kPriorWeight * kPriorExcess * t.quantile / static_cast<double>(k);
  t.tails = ParetoTails(std::max(mean, least), [&](double index, double scale) -> ParetoTails::Fit {
    // The likeliest scale of this index: where (1 + index) mean(x / (scale + index x)) = 1. The heavier, the
    // smaller, so it lies below the one before.
    double log_likelihood = 0;
    if (index > 0) {
      const double likeliest = ParetoTails::likeliest(scale, [&](double middle) {
        double sum = 0;
        for (const double x : excesses) sum += x / (middle + index * x);
        return (1 + index) * sum > static_cast<double>(k);
      });
      scale = std::max(likeliest, least);
      for (const double x : excesses) log_likelihood -= (1 + 1 / index) * std::log1p(index * x / scale);
    } else {
      log_likelihood = -static_cast<double>(k) * mean / scale;
    }
    return {scale, log_likelihood - (static_cast<double>(k) * std::log(scale) + index / kPriorIndex)};
  });
  return t;
}

double TailLimit::predicted(double n, double p) const {
  if (!tails_known_) {
    tails_.clear();
    for (const std::size_t k : {kMostTail, kFarTail}) tails_.push_back(tail(k));
    tails_known_ = true;
    asked_n_ = 0;
  }
  if (asked_n_ == n && asked_p_ == p) return answer_;
  asked_n_ = n, asked_p_ = p, answer_ = 0;
  // What comes more often than what the far tail is made of lies before it.
  for (const Tail& t : tails_)
    if (&t == &tails_.front() || n * p < t.told)
      answer_ = std::max(answer_, t.quantile + t.tails.quantile(n * p / t.told));
  return answer_;
}

double TailLimit::seldom() const {
  const std::size_t k = std::min(size() / kSeldom, kMostTail);
  return k == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(greatest_[k - 1].score);
}

double TailLimit::limit(double p, double few) const {
  const std::size_t n = size();
  if (n < kFewest) return std::numeric_limits<double>::infinity();
  double light = 0, heavy = 0;
  for (const std::size_t most : {kMostTail, kFarTail}) {
    const std::size_t k = std::clamp<std::size_t>(n / 3 * most / kMostTail, 1, most);
    const double quantile = std::max(1.0, static_cast<double>(greatest_[k].score));
    const double weight = options_.excess > 0 ? kKnownWeight : kPriorWeight;
    double excess = weight * (options_.excess > 0 ? options_.excess : kPriorExcess * quantile),
           logs = kPriorWeight * std::log1p(kPriorExcess);
    for (std::size_t i = 0; i < k; ++i) {
      const double x = std::max(quantile, static_cast<double>(greatest_[i].score));
      excess += x - quantile;
      logs += std::log(x / quantile);
    }
    excess /= static_cast<double>(k) + weight;
    logs /= static_cast<double>(k) + kPriorWeight;
    const double beyond = std::max(0.0, std::log(static_cast<double>(k) / (static_cast<double>(n) * p)));
    light = std::max(light, quantile + excess * beyond);
    heavy = std::max(heavy, quantile * std::exp(std::min(logs, 0.5) * beyond));
  }
  const double young = options_.young * few;
  const double doubt = young / (young + static_cast<double>(n));
  const double h = options_.heavy && options_.excess <= 0 ? kHeavy + kHeavyYoung * doubt : 0;
  double limit = std::pow(light, 1 - h) * std::pow(heavy, h);
  if (options_.heavy && n > kLongHistory) {
    const double believed = 1 - static_cast<double>(kLongHistory) / static_cast<double>(n);
    const auto seen = static_cast<double>(n / kStep * kStep);
    const double predictive = predicted(seen, std::max(p, 1 / (kFarthest * seen)));
    limit = std::pow(limit, 1 - believed) * std::pow(predictive, believed);
  }
  return std::max(options_.least, limit * (1 + options_.doubt * doubt));
}

}  // namespace margay::detect
