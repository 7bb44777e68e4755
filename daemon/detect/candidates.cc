#include "candidates.h"

#include <algorithm>
#include <cmath>

namespace margay::detect {
namespace {

struct Mean {
  double sum = 0, squares = 0, n = 0;
  void add(double v) { sum += v, squares += v * v, n += 1; }
  double value() const { return n > 0 ? sum / n : 0; }
  double variance() const { return n > 1 ? (squares - sum * sum / n) / (n - 1) : 0; }
};

}  // namespace

std::vector<double> probabilities(std::span<const double> departure,
                                  std::span<const std::vector<std::uint32_t>> groups, std::size_t blamed,
                                  double shows, double least_deviation) {
  std::vector<Mean> of(groups.size());
  Mean theirs, others;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::uint32_t l : groups[g]) {
      if (l >= departure.size() || std::isnan(departure[l])) continue;
      of[g].add(departure[l]);
      (g < blamed ? theirs : others).add(departure[l]);
    }
  std::vector<double> out(groups.size(), 0.0);
  std::fill_n(out.begin(), blamed, 1.0);
  if (theirs.n <= 0 || others.n <= 0 || theirs.value() - others.value() < shows) return out;
  const double variance = std::max(others.variance(), least_deviation * least_deviation);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (of[g].n <= 0) continue;
    const double from_others = of[g].value() - others.value(), from_theirs = of[g].value() - theirs.value();
    const double nats = std::log(theirs.n / others.n) +
                        (from_others * from_others - from_theirs * from_theirs) * of[g].n / (2 * variance);
    out[g] = 1 / (1 + std::exp(-nats));
  }
  return out;
}

}  // namespace margay::detect
