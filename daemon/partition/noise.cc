#include "margay/partition/noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "margay/partition/partition.h"
#include "margay/partition/stats.h"

namespace margay::partition {
namespace {

// Pairs of neighbouring rows that may lie on either side of a change.
constexpr double kTrimmed = 0.1;

// ln N of each resource, drawn to the mean of all as far as chance explains that it is away (random effects).
std::vector<Noise> shrink(std::span<const Noise> resources) {
  std::vector<Noise> out(resources.begin(), resources.end());
  if (out.size() < 2 || std::any_of(out.begin(), out.end(), [](const Noise& n) { return !(n.degrees > 0); }))
    return out;
  const auto variance = [](const Noise& n) { return 2 / n.degrees; };
  // The mean if resources themselves vary by so much, and the sum of weights.
  const auto mean = [&](double between) {
    double sum = 0, weights = 0;
    for (const Noise& n : out) {
      const double w = 1 / (variance(n) + between);
      sum += w * std::log(n.n_eff);
      weights += w;
    }
    return std::pair(sum / weights, weights);
  };
  const auto [alike, weights] = mean(0);
  double away = 0, squares = 0;
  for (const Noise& n : out) {
    const double w = 1 / variance(n), d = std::log(n.n_eff) - alike;
    away += w * d * d;
    squares += w * w;
  }
  const double between =
      std::max(0.0, (away - static_cast<double>(out.size() - 1)) / (weights - squares / weights));
  const double middle = mean(between).first;
  for (Noise& n : out) {
    const double own = between / (between + variance(n));
    n.n_eff = std::exp(own * std::log(n.n_eff) + (1 - own) * middle);
  }
  return out;
}

}  // namespace

Result<NeffEstimate> estimate_neff(std::span<const double> rows, std::size_t states, double cap) {
  if (states == 0 || rows.size() % states != 0) {
    return fail(ErrorCode::kInvalidArgument, "noise: " + std::to_string(rows.size()) +
                                                 " values are not whole rows of " + std::to_string(states) +
                                                 " states");
  }
  if (!(cap > 0)) return fail(ErrorCode::kInvalidArgument, "noise: the cap must be above 0");
  const std::size_t count = rows.size() / states;
  std::vector<double> mass(count, 0.0);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t x = 0; x < states; ++x) {
      const double v = rows[r * states + x];
      if (!(v >= 0) || std::isinf(v)) {
        return fail(ErrorCode::kInvalidArgument, "noise: row " + std::to_string(r) + ", state " +
                                                     std::to_string(x) + ": not a finite value >= 0");
      }
      mass[r] += v;
    }
    if (mass[r] > 1 + kSumTolerance) {
      return fail(ErrorCode::kInvalidArgument,
                  "noise: row " + std::to_string(r) + " sums to " + std::to_string(mass[r]) + ", over 1");
    }
  }
  // Of each row and the next: how far apart, and the degrees of freedom.
  std::vector<std::pair<double, double>> pairs;
  std::size_t before = count;
  for (std::size_t r = 0; r < count; ++r) {
    if (mass[r] == 0) continue;
    const std::size_t a = std::exchange(before, r);
    if (a == count) continue;
    double statistic = 0, states_there = 0;
    for (std::size_t x = 0; x < states; ++x) {
      const double va = rows[a * states + x], vb = rows[r * states + x];
      if (va + vb <= 0) continue;
      const double away = va / mass[a] - vb / mass[r];
      statistic += away * away / (va + vb);
      ++states_there;
    }
    if (states_there > 1) pairs.emplace_back(statistic * mass[a] * mass[r], states_there - 1);
  }
  if (pairs.empty())
    return fail(ErrorCode::kInvalidArgument,
                "noise: of " + std::to_string(count) +
                    " rows no two neighbours with mass have two states that occur");
  // Some may be on either side of a change: the farthest do not count, and neither do as many that chance
  // alone would put there.
  const auto kept = pairs.size() - static_cast<std::size_t>(kTrimmed * static_cast<double>(pairs.size()));
  std::nth_element(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(kept - 1), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first * b.second < b.first * a.second; });
  double statistic = 0, degrees = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    statistic += pairs[i].first;
    degrees += pairs[i].second;
  }
  if (kept < pairs.size()) {
    const double part = static_cast<double>(kept) / static_cast<double>(pairs.size());
    const double k = degrees / static_cast<double>(kept);
    statistic *= part / chi2_cdf(chi2_quantile(part, k), k + 2);
  }
  NeffEstimate out;
  out.degrees_of_freedom = degrees * 2 / 3;  // neighbouring pairs share a row
  out.of_a_pair = degrees / static_cast<double>(kept);
  out.capped = statistic * cap <= degrees;
  out.n_eff = out.capped ? cap : degrees / statistic;
  return out;
}

Result<double> alpha_per_window(std::size_t leaves, std::size_t slices, double false_cuts) {
  if (leaves == 0 || slices == 0 || !(false_cuts > 0) || std::isinf(false_cuts)) {
    return fail(ErrorCode::kInvalidArgument, "noise: leaves, slices and false cuts must be above 0");
  }
  const double comparisons = static_cast<double>(leaves) * (2 * static_cast<double>(slices) - 1);
  return std::min(0.5, false_cuts / comparisons);
}

Result<double> noise_floor_p(double n_eff, std::size_t tested_states, double alpha, double mass) {
  if (!(n_eff > 0) || tested_states < 2 || !(alpha > 0 && alpha < 1) ||
      !(mass > 0 && mass <= 1 + kSumTolerance)) {
    return fail(ErrorCode::kInvalidArgument, "noise: n_eff " + std::to_string(n_eff) + ", " +
                                                 std::to_string(tested_states) + " states, alpha " +
                                                 std::to_string(alpha) + ", mass " + std::to_string(mass) +
                                                 "; wanted: above 0, at least 2, in (0,1), in (0,1]");
  }
  const double loss =
      chi2_upper_quantile(alpha, static_cast<double>(tested_states - 1)) / (2 * std::numbers::ln2 * n_eff);
  return std::min(1.0, loss / (2 * mass));
}

Result<double> noise_floor_p(std::span<const Noise> resources, double alpha) {
  if (resources.empty() || !(alpha > 0 && alpha < 1))
    return fail(ErrorCode::kInvalidArgument, "noise: no resources, or alpha is not in (0,1)");
  for (const Noise& n : resources)
    if (!(n.n_eff > 0) || !(n.of_a_pair > 0) || !(n.mass > 0 && n.mass <= 1 + kSumTolerance))
      return fail(ErrorCode::kInvalidArgument,
                  "noise: n_eff " + std::to_string(n.n_eff) + ", " + std::to_string(n.of_a_pair) +
                      " degrees, mass " + std::to_string(n.mass) + "; wanted: above 0, above 0, in (0,1]");
  const std::vector<Noise> shrunk = shrink(resources);
  const auto chance = [&](double p) {
    double sum = 0;
    for (const Noise& n : shrunk)
      sum += chi2_survival(2 * std::numbers::ln2 * n.n_eff * 2 * n.mass * p, n.of_a_pair);
    return sum / static_cast<double>(resources.size());
  };
  double low = std::log(kLeastP), high = std::log(kMostP);
  if (chance(kLeastP) <= alpha) return kLeastP;
  if (chance(kMostP) >= alpha) return kMostP;
  while (high - low > 1e-6) {
    const double middle = (low + high) / 2;
    (chance(std::exp(middle)) > alpha ? low : high) = middle;
  }
  return std::exp(high);
}

double HeldP::update(double floor, SliceIndex slice) {
  if (!(floor > 0) || std::isinf(floor)) return p_;
  if (!std::exchange(started_, true)) {
    last_ = slice;
    return p_ = floor;
  }
  const double passed = static_cast<double>(std::max<std::int64_t>(0, slice.value - last_.value));
  last_ = slice;
  credits_ = std::min(options_.credits, credits_ + passed / (4 * static_cast<double>(options_.slices)));
  const int side = floor > p_ * options_.band ? 1 : floor * options_.band < p_ ? -1 : 0;
  if (side != side_) streak_ = 0, logs_ = 0;
  side_ = side;
  if (side == 0) return p_;
  ++streak_;
  logs_ += std::log(floor);
  if (streak_ < options_.patience || credits_ < 1) return p_;
  p_ = std::exp(logs_ / static_cast<double>(streak_));
  credits_ -= 1;
  side_ = 0;
  streak_ = 0;
  logs_ = 0;
  return p_;
}

Result<PPolicy> PPolicy::create(Options options) {
  const auto& grid = options.grid;
  if (grid.empty()) return fail(ErrorCode::kInvalidArgument, "p policy: empty grid");
  for (std::size_t g = 0; g < grid.size(); ++g) {
    if (!(grid[g] >= 0 && grid[g] <= 1) || (g > 0 && grid[g] <= grid[g - 1])) {
      return fail(ErrorCode::kInvalidArgument,
                  "p policy: grid value " + std::to_string(g) + " is not ascending in [0, 1]");
    }
  }
  if (!(options.margin >= 0 && options.margin < 1) || options.patience == 0) {
    return fail(ErrorCode::kInvalidArgument, "p policy: margin must be in [0, 1), patience at least 1");
  }
  return PPolicy(std::move(options));
}

PPolicy::PPolicy(Options options) : options_(std::move(options)), index_(options_.grid.size() - 1) {}

std::size_t PPolicy::bin(double raw) const {
  const auto& grid = options_.grid;
  const auto at = std::lower_bound(grid.begin(), grid.end(), raw);
  return std::min(static_cast<std::size_t>(at - grid.begin()), grid.size() - 1);
}

double PPolicy::update(double raw) {
  if (!(raw >= 0)) return p();
  if (!started_) {
    started_ = true;
    index_ = bin(raw);
    return p();
  }
  const auto& grid = options_.grid;
  int side = 0;
  if (index_ + 1 < grid.size() && raw > grid[index_] * (1 + options_.margin)) side = 1;
  if (index_ > 0 && raw < grid[index_ - 1] * (1 - options_.margin)) side = -1;
  streak_ = side != 0 && side == side_ ? streak_ + 1 : (side != 0 ? 1 : 0);
  side_ = side;
  if (streak_ >= options_.patience) {
    index_ = bin(raw);
    side_ = 0;
    streak_ = 0;
  }
  return p();
}

}  // namespace margay::partition
