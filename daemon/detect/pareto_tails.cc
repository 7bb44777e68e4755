#include "pareto_tails.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace margay::detect {
namespace {

// The heavier, the less is it believed; what each stands for of the indices about it.
constexpr std::array<double, 12> kIndices = {0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.3};
constexpr std::array<double, 12> kWidths = {0.025, 0.05,  0.05, 0.05,  0.075, 0.1,
                                            0.1,   0.125, 0.15, 0.175, 0.25,  0.3};

}  // namespace

ParetoTails::ParetoTails(double scale, const std::function<Fit(double, double)>& fit) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double index : kIndices) {
    const Fit f = fit(index, scale);
    scale = f.scale;
    most = std::max(most, f.log_likelihood);
    tails_.push_back({index, scale, f.log_likelihood});
  }
  for (std::size_t s = 0; s < tails_.size(); ++s)
    sum += tails_[s].weight = kWidths[s] * std::exp(tails_[s].weight - most);
  for (ParetoTail& t : tails_) t.weight /= sum;
}

double ParetoTails::likeliest(double high, const std::function<bool(double)>& too_small) {
  double low = 0;
  for (int round = 0; round < 40; ++round) {
    const double middle = (low + high) / 2;
    (too_small(middle) ? low : high) = middle;
  }
  return high;
}

double ParetoTails::quantile(double p) const {
  if (p >= 1) return 0;
  const auto exceeded = [&](double x) {
    double sum = 0;
    for (const ParetoTail& t : tails_)
      sum += t.weight *
             (t.index > 0 ? std::pow(1 + t.index * x / t.scale, -1 / t.index) : std::exp(-x / t.scale));
    return sum;
  };
  // In its logarithm, between what the lightest says and what nothing exceeds.
  double low = 0, high = 60;
  const double lightest = tails_.front().scale;
  for (int round = 0; round < 40; ++round) {
    const double middle = (low + high) / 2;
    (exceeded(lightest * std::expm1(middle)) > p ? low : high) = middle;
  }
  return lightest * std::expm1(high);
}

}  // namespace margay::detect
