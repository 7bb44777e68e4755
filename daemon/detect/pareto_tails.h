// Generalised Pareto tails (Pickands, Statistical inference using extreme order statistics, 1975) of all
// shapes that are believed possible, each as likely as it is. Pure.
#pragma once

#include <functional>
#include <vector>

namespace margay::detect {

// A tail that excesses over a quantile may have.
struct ParetoTail {
  double index, scale, weight;  // index 0: exponential
};

class ParetoTails {
 public:
  // For each index, from the lightest on, `fit` is given the index and the scale of the one before (of the
  // first: `scale`), and returns the likeliest scale, no greater, and its logarithm of a likelihood.
  struct Fit {
    double scale, log_likelihood;
  };
  ParetoTails() = default;  // of none
  ParetoTails(double scale, const std::function<Fit(double index, double scale)>& fit);
  // The least scale in (0, `high`] that is not too small.
  static double likeliest(double high, const std::function<bool(double scale)>& too_small);
  // The excess that is exceeded with probability `p` (0 to 1); 0 for 1.
  double quantile(double p) const;

 private:
  std::vector<ParetoTail> tails_;
};

}  // namespace margay::detect
