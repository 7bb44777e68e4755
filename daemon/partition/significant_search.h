// The search of Eisner and Severance over a batch model, and what it solves with. Private to the module.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "batch_model.h"
#include "lines.h"
#include "margay/partition/significant.h"

namespace margay::partition {

struct SignificantSearch {
  using Model = Batch::Impl;
  using Line = internal::Line;
  using Known = internal::Optimum;
  using Curve = internal::Curve;
  using Patience = internal::Patience;

  static Model& model_of(Batch& batch) { return *batch.impl_; }

  // Solves at one p after another inside nested intervals: begin(), then for an interval [p1,p2] solve() at a
  // p inside, and while its halves are worked on left() and right(), in this order; leave() when done with
  // them.
  class Solver {
   public:
    virtual ~Solver() = default;
    // At both ends of [p, 1]. The optimum at 1 is the whole.
    virtual bool begin(double p) = 0;
    // False if patience or memory ended: then nothing is left behind.
    virtual bool solve(double p1, double p, double p2) = 0;
    virtual void left() = 0;
    virtual void right() = 0;
    virtual void leave() = 0;
    // After begin() and solve(): the optimum less the price of its parts (without I); its line; its parts (no
    // measures).
    virtual double value() const = 0;
    virtual Line line() = 0;
    virtual void parts(std::vector<Part>& out) const = 0;
    // Nodes solved so far, by the number of nodes.
    virtual double node_share() const = 0;
  };
  static std::unique_ptr<Solver> node_solver(Model& model, Patience& patience);  // spatiotemporal
  static std::unique_ptr<Solver> row_solver(Model& model);                       // temporal

  using OnLine = std::function<std::size_t(std::span<const Part>)>;

  // What is smaller is rounding: a 64th of the default price of a part.
  static double grain(const Model& model) {
    return internal::default_tie(internal::cells_of(model.tree.leaf_count(), model.slices), model.states) /
           64;
  }
  static internal::Pricing pricing(const Model& model) { return {model.tie, grain(model)}; }
  static Known whole_of(const Model& model);

  // All optima from `from` to 1.
  static Curve exact(Model& model, double from, Patience& patience, const OnLine& on_line);
  static Curve envelope(Model& model, const EnvelopeOptions& options, Patience& patience);
};

}  // namespace margay::partition
