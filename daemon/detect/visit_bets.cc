#include "visit_bets.h"
#include "vectors.h"

#include <cmath>

namespace margay::detect {
namespace {

// Alternatives to the usual length: logarithms of 1.5, 2 and 4; degrees of freedom of what is usual.
constexpr std::array<float, 3> kFactorLogs = {0.405f, 0.693f, 1.386f};
constexpr float kFreedom = 5;
const double kMostBet = std::exp(static_cast<double>(VisitBets::kMostOfOne));

}  // namespace

// On p, which a visit beyond the threshold has; of the others on all values between the part of the tail and
// 1 together, so that the expectation is 1.
MARGAY_VECTORS void VisitBets::bet_on_tails() {
  Column<double> least;
  for (std::size_t i = 0; i < size_; ++i) {
    const float part = UsualLengths::part(visits_[i], beyond_[i]);
    const float excess = UsualLengths::mean_excess(excess_[i], beyond_[i], usual_excess_[i]);
    part_[i] = static_cast<double>(part);
    far_[i] = -(log_[i] - threshold_[i]) / excess;
  }
  for (std::size_t i = 0; i < size_; ++i)
    if (log_[i] > threshold_[i]) part_[i] *= std::exp(static_cast<double>(far_[i]));
  for (std::size_t i = 0; i < size_; ++i) {
    least[i] = log_[i] > threshold_[i] ? 1e-12 : 1e-6;
    part_[i] = std::clamp(part_[i], least[i], 0.99);
  }
  for (std::size_t i = 0; i < size_; ++i) ln_[i] = std::log(part_[i]);
  for (std::size_t i = 0; i < size_; ++i) {
    const double p = part_[i], l = ln_[i];
    const double beyond = on_rare(p, l), before = (1 + (1 - p) / l) / (1 - p);
    tail_[i] = std::min(kMostBet, log_[i] > threshold_[i] ? beyond : before);
  }
}

// On its taking many times as long: a likelihood ratio.
MARGAY_VECTORS void VisitBets::bet_on_factors() {
  for (std::size_t i = 0; i < size_; ++i) {
    const float variance = OwnLogs::variance(own_square_[i], own_visits_[i], square_[i], of_[i]);
    usual_log_[i] = OwnLogs::mean(own_log_[i], own_visits_[i], median_[i], variance);
    const float away = log_[i] - usual_log_[i];
    // The mean of few is as doubtful as what siblings have in common.
    const float scale = variance * (1 + OwnLogs::kSiblings / (own_visits_[i] + 1)) * kFreedom;
    const float usual = 1 + away * away / scale;
    float sum = 0;
    for (const float f : kFactorLogs) {
      const float ratio = usual / (1 + (away - f) * (away - f) / scale);
      sum += ratio * ratio * ratio;  // (kFreedom + 1) / 2 times
    }
    // Who is no longer than usual wins next to nothing.
    factor_[i] = static_cast<double>(away <= 0 ? 0 : sum) / static_cast<double>(kFactorLogs.size());
  }
}

std::span<double> VisitBets::wins(bool one_kind) {
  bet_on_tails();
  if (one_kind) {
    bet_on_factors();
    for (std::size_t i = 0; i < size_; ++i) tail_[i] = std::min(kMostBet, (tail_[i] + factor_[i]) / 2);
  }
  return std::span(tail_).first(std::exchange(size_, 0));
}

}  // namespace margay::detect
