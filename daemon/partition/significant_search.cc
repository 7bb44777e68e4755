#include "significant_search.h"

#include <algorithm>
#include <utility>

namespace margay::partition {
namespace {

using Search = SignificantSearch;

// I of the whole model: what the tables leave out.
double information_of(const Search::Model& model) {
  double sum = 0;
  for (std::size_t t = 0; t < model.slices; ++t) {
    sum += model.temporal() ? model.information[t] : model.cell(model.tree.root().value, t)[model.states + 1];
  }
  return sum;
}

// Eisner and Severance: of two neighbouring optima, the p where they meet tells whether another lies between.
class ExactSearch {
 public:
  using Known = Search::Known;
  ExactSearch(Search::Model& model, Search::Patience& patience, const Search::OnLine& on_line)
      : model_(model),
        patience_(patience),
        on_line_(on_line),
        information_(information_of(model)),
        pricing_(Search::pricing(model)),
        least_(pricing_.grain()),
        solver_(model.temporal() ? Search::row_solver(model) : Search::node_solver(model, patience)) {}

  Search::Curve run(double from) {
    const Known whole = whole_of_model();
    if (!solver_->begin(from)) {
      // Not even the ends were solved: the whole is all that is known. The optimum is below the chord from
      // pIC* <= 0 at p = 0 to the whole's gain at p = 1.
      curve_.complete = false;
      curve_.error = whole.line.loss;
      pricing_.append(curve_, whole);
      return curve_;
    }
    std::vector<Frame> stack{{known(from), whole, {}}};
    curve_.solves = 2;
    pricing_.append(curve_, stack.back().first);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.stage == Frame::kSolve && find_middle(frame)) {
        frame.stage = Frame::kLeft;
        solver_->left();
        stack.push_back({frame.first, frame.middle, {}});
      } else if (frame.stage == Frame::kLeft) {
        frame.stage = Frame::kRight;
        solver_->right();
        stack.push_back({frame.middle, frame.second, {}});
      } else {
        if (frame.stage == Frame::kRight)
          solver_->leave();
        else
          pricing_.append(curve_, frame.second);
        stack.pop_back();
      }
    }
    curve_.node_share = solver_->node_share();
    return curve_;
  }

 private:
  // An interval between two optima: first what lies in its middle is solved, then its halves.
  struct Frame {
    Known first, second, middle;
    enum { kSolve, kLeft, kRight } stage = kSolve;
  };

  Known whole_of_model() {
    Known whole = Search::whole_of(model_);
    if (on_line_) {
      const Part one = model_.part(model_.temporal() ? kAllLeaves : model_.tree.root(), 0, model_.slices - 1);
      whole.id = on_line_({&one, 1});
    }
    return whole;
  }
  Known known(double p) {
    Known out{solver_->line(), p, 0};
    if (on_line_) {
      solver_->parts(parts_);
      out.id = on_line_(parts_);
    }
    return out;
  }

  // True: a third optimum lies between the two; the solver stands at it. False: none is known to.
  bool find_middle(Frame& frame) {
    const double p1 = frame.first.at, p2 = frame.second.at, p = pricing_.crossing(frame.first, frame.second);
    // The two meet at one of the ends: no third can be better than both between them.
    if (!(p > p1 && p < p2) || pricing_.gap(frame.first, frame.second) <= least_) return false;
    going_ = going_ && patience_.next_solution() && solver_->solve(p1, p, p2);
    if (!going_) {
      curve_.complete = false;
      curve_.error = std::max(curve_.error, pricing_.gap(frame.first, frame.second));
      return false;
    }
    ++curve_.solves;
    // The value alone tells most often that nothing is better here than the two.
    const double shown = pricing_.priced(frame.first.line, p);
    if (solver_->value() - information_ > shown + least_) {
      frame.middle = known(p);
      if (pricing_.priced(frame.middle.line, p) > shown + least_ &&
          slope(frame.middle.line) > slope(frame.first.line) &&
          slope(frame.middle.line) < slope(frame.second.line))
        return true;
      // What is left is the slack of the walk.
      curve_.error = std::max(curve_.error, solver_->value() - information_ - shown);
    }
    solver_->leave();
    return false;
  }

  Search::Model& model_;
  Search::Patience& patience_;
  const Search::OnLine& on_line_;
  const double information_;
  const internal::Pricing pricing_;
  const double least_;
  const std::unique_ptr<Search::Solver> solver_;
  std::vector<Part> parts_;
  bool going_ = true;
  Search::Curve curve_;
};

}  // namespace

Search::Known Search::whole_of(const Model& model) {
  return {model.line_of({model.part(model.temporal() ? kAllLeaves : model.tree.root(), 0, model.slices - 1)}),
          1, 0};
}

Search::Curve Search::exact(Model& model, double from, Patience& patience, const OnLine& on_line) {
  return ExactSearch(model, patience, on_line).run(from);
}

Search::Curve Search::envelope(Model& model, const EnvelopeOptions& options, Patience& patience) {
  std::vector<Part> parts;
  bool first = true;
  return internal::envelope_of(pricing(model), whole_of(model), options, [&](double p, Known& out) {
    if (!std::exchange(first, false) && !patience.next_solution()) return false;
    if (!model.find_parts(p, patience, parts)) return false;
    out = {model.line_of(parts), p, 0};
    return true;
  });
}

}  // namespace margay::partition
