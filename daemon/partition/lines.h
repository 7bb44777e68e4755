// The optima of a model as lines in p, and what follows from them, whatever the model is (Eisner and
// Severance, 1976; significant.h). Private to the module.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "margay/partition/significant.h"

namespace margay::partition::internal {

// What a partition is worth at every p: pIC = p*(gain + loss) - loss, less the price of its parts.
struct Line {
  double gain = 0, loss = 0;
  std::size_t parts = 0;
};
inline double slope(const Line& line) {
  return line.gain + line.loss;
}
inline double pic(const Line& line, double p) {
  return p * line.gain - (1 - p) * line.loss;
}

// A partition that is optimal at `at`. id: whatever its finder knows it by.
struct Optimum {
  Line line;
  double at = 0;
  std::size_t id = 0;
};

// Optima of one model by p: each is optimal from begin[i] on.
struct Curve {
  std::vector<Optimum> known;
  std::vector<double> begin;
  bool complete = true;
  std::size_t solves = 0;
  double node_share = 0;
  double error = 0;
};

class Pricing {
 public:
  // tie: the price of a part; grain: what is smaller is rounding. Bits.
  Pricing(double tie, double grain) : tie_(tie), grain_(grain) {}
  double grain() const { return grain_; }
  double priced(const Line& line, double p) const {
    return pic(line, p) - tie_ * static_cast<double>(line.parts);
  }
  // Where the second becomes better than the first, within [first.at, second.at].
  double crossing(const Optimum& first, const Optimum& second) const;
  // The most by which the optimum may exceed the better of the two between them: the chord of a convex
  // function lies above it.
  double gap(const Optimum& first, const Optimum& second) const;
  // Appends the optimum `next`, which follows the last of the curve, if it is another one.
  void append(Curve& curve, const Optimum& next) const;

 private:
  double tie_, grain_;
};

// The optimum at p; false: patience ended.
using FindOptimum = std::function<bool(double p, Optimum& out)>;
// envelope() of significant.h. `whole` is the optimum at p = 1.
Curve envelope_of(const Pricing& pricing, const Optimum& whole, const EnvelopeOptions& options,
                  const FindOptimum& find);

}  // namespace margay::partition::internal
