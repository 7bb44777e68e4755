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
constexpr double kPriorWeight = 4;
// How much of the heavy continuation is believed: of a long history, and more of a short one.
constexpr double kHeavy = 0.3, kHeavyYoung = 0.3;

}  // namespace

void TailLimit::add(float score) {
  const auto less = std::partition_point(greatest_.begin(), greatest_.end(),
                                         [&](const Maximum& m) { return m.score > score; });
  for (auto m = greatest_.insert(less, {score, 0, added_++}) + 1; m != greatest_.end(); ++m) ++m->exceeded;
  std::erase_if(greatest_, [&](const Maximum& m) {
    return m.exceeded > kMostTail || m.number + options_.kept < added_ ||
           (m.number < options_.unsure && added_ >= options_.enough);
  });
}

double TailLimit::limit(double p, double few) const {
  const std::size_t n = size();
  if (n < kFewest) return std::numeric_limits<double>::infinity();
  double light = 0, heavy = 0;
  for (const std::size_t most : {kMostTail, kFarTail}) {
    const std::size_t k = std::clamp<std::size_t>(n / 3 * most / kMostTail, 1, most);
    const double quantile = std::max(1.0, static_cast<double>(greatest_[k].score));
    double excess = kPriorWeight * kPriorExcess * quantile, logs = kPriorWeight * std::log1p(kPriorExcess);
    for (std::size_t i = 0; i < k; ++i) {
      const double x = std::max(quantile, static_cast<double>(greatest_[i].score));
      excess += x - quantile;
      logs += std::log(x / quantile);
    }
    excess /= static_cast<double>(k) + kPriorWeight;
    logs /= static_cast<double>(k) + kPriorWeight;
    const double beyond = std::max(0.0, std::log(static_cast<double>(k) / (static_cast<double>(n) * p)));
    light = std::max(light, quantile + excess * beyond);
    heavy = std::max(heavy, quantile * std::exp(std::min(logs, 0.5) * beyond));
  }
  const double young = options_.young * few;
  const double doubt = young / (young + static_cast<double>(n));
  const double h = options_.heavy ? kHeavy + kHeavyYoung * doubt : 0;
  return std::max(options_.least, std::pow(light, 1 - h) * std::pow(heavy, h) * (1 + options_.doubt * doubt));
}

}  // namespace margay::detect
