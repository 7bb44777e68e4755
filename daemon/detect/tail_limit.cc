#include "tail_limit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace margay::detect {
namespace {

// The tail is the upper third of a short history, at most so many of a long one.
constexpr std::size_t kMostTail = 48;
// What is believed of the tail before it is seen: the mean excess as a share of the quantile; as much as so
// many excesses say.
constexpr double kPriorExcess = 0.25;
constexpr double kPriorWeight = 4;
// How much of the heavy continuation is believed: of a long history, and more of a short one.
constexpr double kHeavy = 0.3, kHeavyYoung = 0.3;

}  // namespace

void TailLimit::add(float score) {
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), score, std::greater<>()), score);
  if (newest_.size() < options_.kept) {
    newest_.push_back(score);
    return;
  }
  sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), newest_[next_], std::greater<>()));
  newest_[next_] = score;
  next_ = (next_ + 1) % options_.kept;
}

double TailLimit::limit(double p, double few) const {
  const std::size_t n = newest_.size();
  if (n < kFewest) return std::numeric_limits<double>::infinity();
  const std::size_t k = std::clamp<std::size_t>(n / 3, 1, kMostTail);
  const double quantile = std::max(1.0, static_cast<double>(sorted_[k]));
  double excess = kPriorWeight * kPriorExcess * quantile, logs = kPriorWeight * std::log1p(kPriorExcess);
  for (std::size_t i = 0; i < k; ++i) {
    const double x = std::max(quantile, static_cast<double>(sorted_[i]));
    excess += x - quantile;
    logs += std::log(x / quantile);
  }
  excess /= static_cast<double>(k) + kPriorWeight;
  logs /= static_cast<double>(k) + kPriorWeight;
  const double beyond = std::max(0.0, std::log(static_cast<double>(k) / (static_cast<double>(n) * p)));
  const double light = quantile + excess * beyond;
  const double heavy = quantile * std::exp(std::min(logs, 0.5) * beyond);
  const double young = options_.young * few;
  const double doubt = young / (young + static_cast<double>(n));
  const double h = options_.heavy ? kHeavy + kHeavyYoung * doubt : 0;
  return std::max(options_.least, std::pow(light, 1 - h) * std::pow(heavy, h) * (1 + options_.doubt * doubt));
}

}  // namespace margay::detect
