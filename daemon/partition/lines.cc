#include "lines.h"

#include <algorithm>
#include <cmath>

namespace margay::partition::internal {
double Pricing::crossing(const Optimum& first, const Optimum& second) const {
  const double rise = slope(second.line) - slope(first.line);
  const double behind = priced(first.line, 0) - priced(second.line, 0);
  // Parallel or falling only by rounding: then they are worth the same.
  const double at = rise > 0 ? behind / rise : second.at;
  return std::clamp(at, first.at, second.at);
}

double Pricing::gap(const Optimum& first, const Optimum& second) const {
  if (!(second.at > first.at)) return 0;
  const double p = crossing(first, second);
  const double t = (p - first.at) / (second.at - first.at);
  const double low = priced(first.line, first.at), high = priced(second.line, second.at);
  const double shown = std::max(priced(first.line, p), priced(second.line, p));
  return std::max(0.0, low + t * (high - low) - shown);
}

void Pricing::append(Curve& curve, const Optimum& next) const {
  if (!curve.known.empty()) {
    Optimum& last = curve.known.back();
    // Two partitions may share all of a line (equal cells cut at another place): one of them is enough.
    const double away = std::max(std::abs(priced(next.line, 0) - priced(last.line, 0)),
                                 std::abs(priced(next.line, 1) - priced(last.line, 1)));
    if (away <= grain_) return;
    const double since = curve.begin.back(), begin = std::max(since, crossing(last, next));
    // The lead of the last is largest where it begins. If that is rounding, it is best nowhere.
    if (begin <= since || priced(last.line, since) - priced(next.line, since) <= grain_) {
      last = next;
      return;
    }
    curve.begin.push_back(begin);
  } else {
    curve.begin.push_back(next.at);
  }
  curve.known.push_back(next);
}

Curve envelope_of(const Pricing& pricing, const Optimum& whole, const EnvelopeOptions& options,
                  const FindOptimum& find) {
  Curve curve;
  const auto solve = [&](double p, Optimum& out) {
    if (!find(p, out)) return false;
    ++curve.solves;
    return true;
  };
  std::vector<Optimum> known(1);
  bool going = solve(0, known[0]);
  if (!going) known.clear();
  known.push_back(whole);
  const double range = going ? std::abs(pic(known[1].line, 1) - pic(known[0].line, 0)) : 0;
  const double wanted = std::max(options.relative_error * range, pricing.grain());
  curve.error = going ? 0 : known.back().line.loss;  // pIC* <= 0 at p = 0
  curve.complete = going;
  while (going) {
    std::size_t widest = 0;
    curve.error = 0;
    for (std::size_t i = 0; i + 1 < known.size(); ++i) {
      const double open = pricing.gap(known[i], known[i + 1]);
      if (open > curve.error) {
        curve.error = open;
        widest = i;
      }
    }
    if (curve.error <= wanted) break;
    const double p = pricing.crossing(known[widest], known[widest + 1]);
    Optimum middle;
    if (curve.solves >= options.most_solves || !(p > known[widest].at && p < known[widest + 1].at) ||
        !solve(p, middle)) {
      curve.complete = false;
      break;
    }
    known.insert(known.begin() + static_cast<std::ptrdiff_t>(widest) + 1, middle);
  }
  for (const Optimum& one : known) pricing.append(curve, one);
  curve.node_share = static_cast<double>(curve.solves);
  return curve;
}

}  // namespace margay::partition::internal
