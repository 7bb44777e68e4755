#include "tail_limit.h"

#include <array>
#include <cmath>
#include <limits>

namespace margay::detect {
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
constexpr double kStep = 1.25;    // a history is counted in steps, so that few limits are computed

}  // namespace

double in_a_slice(double a_day, DurationNs slice) {
  constexpr double kDayNs = 86'400e9;
  return a_day * static_cast<double>(slice.value) / kDayNs;
}

void TailLimit::add(float score, bool told) {
  const auto less = std::partition_point(greatest_.begin(), greatest_.end(),
                                         [&](const Maximum& m) { return m.score > score; });
  const auto in_tail = [&](auto m) {
    return m - greatest_.begin() <= static_cast<std::ptrdiff_t>(kMostTail);
  };
  if (in_tail(less)) known_ = false;
  for (auto m = greatest_.insert(less, {score, 0, told, added_++}) + 1; m != greatest_.end(); ++m)
    ++m->exceeded;
  // Who goes because of those that are greater is not in the tail; who is too old may be.
  const auto old = [&](const Maximum& m) { return m.number + kKept < added_; };
  for (auto m = greatest_.begin(); m != greatest_.end() && in_tail(m); ++m)
    if (old(*m)) known_ = false;
  std::erase_if(greatest_, [&](const Maximum& m) { return m.exceeded > kMostTail || old(m); });
}

TailLimit::Tail TailLimit::tail(std::size_t k, std::size_t size, double least) const {
  Tail t;
  t.quantile = least;
  if (k < greatest_.size()) t.quantile = std::max(least, static_cast<double>(greatest_[k].score));
  std::vector<double> excesses;
  double told = kPriorTold, mean = 0;
  for (std::size_t i = 0; i < std::min(k, greatest_.size()); ++i) {
    const double x = static_cast<double>(greatest_[i].score) - t.quantile;
    if (x <= 0) continue;
    excesses.push_back(x);
    mean += x;
    told += greatest_[i].told;
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

std::vector<TailLimit::Tail> TailLimit::tails(std::size_t size, double tests) const {
  std::vector<Tail> out;
  for (const std::size_t most : {kMostTail, kFarTail})
    out.push_back(tail(std::min(size / 3 * most / kMostTail, most), size, std::log(tests)));
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

void TailLimit::ask(double p, double tests) const {
  double n = kLeastSeen;
  while (n * kStep < static_cast<double>(size())) n *= kStep;
  if (known_ && p_ == p && tests_ == tests && n_ == n) return;
  known_ = true, p_ = p, tests_ = tests, n_ = n;
  size_ = size();
  answer_.reset();
}

double TailLimit::limit(double p, double tests) const {
  ask(p, tests);
  if (answer_) return *answer_;
  const double asked = std::max(p, 1 / (kFarthest * n_));
  double limit = std::log(tests / p);  // the textbook
  for (const Tail& t : tails(size_, tests)) limit = std::max(limit, beyond(t, asked / t.beyond));
  // Excesses of few decades do not tell of many more: who believed them would be deaf.
  const double most = greatest_.empty() ? 0 : static_cast<double>(greatest_.front().score);
  answer_ = std::min(limit, kFarthestLimit * std::max(std::log(tests / p), most));
  return *answer_;
}

double TailLimit::chance(double score, double tests) const {
  double most = std::min(1.0, tests * std::exp(-score));  // the textbook
  for (const Tail& t : tails(size(), tests))
    most = std::max(most, t.beyond * t.survival(std::max(0.0, score - t.quantile)));
  return most;
}

}  // namespace margay::detect
