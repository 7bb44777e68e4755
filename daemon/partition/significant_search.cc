#include "significant_search.h"

#include <algorithm>
#include <cmath>

namespace margay::partition {
namespace {

using Search = SignificantSearch;

double slope(const internal::Line& line) {
  return line.gain + line.loss;
}

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
        least_(Search::grain(model)),
        solver_(model.temporal() ? Search::row_solver(model) : Search::node_solver(model, patience)) {}

  Search::Curve run(double from) {
    const Known whole = whole_of_model();
    if (!solver_->begin(from)) {
      // Not even the ends were solved: the whole is all that is known. The optimum is below the chord from
      // pIC* <= 0 at p = 0 to the whole's gain at p = 1.
      curve_.complete = false;
      curve_.error = whole.line.loss;
      Search::append(model_, curve_, whole);
      return curve_;
    }
    std::vector<Frame> stack{{known(from), whole, {}}};
    curve_.solves = 2;
    Search::append(model_, curve_, stack.back().first);
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
          Search::append(model_, curve_, frame.second);
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
    const double p1 = frame.first.at, p2 = frame.second.at,
                 p = Search::crossing(model_, frame.first, frame.second);
    // The two meet at one of the ends: no third can be better than both between them.
    if (!(p > p1 && p < p2) || Search::gap(model_, frame.first, frame.second) <= least_) return false;
    going_ = going_ && patience_.next_solution() && solver_->solve(p1, p, p2);
    if (!going_) {
      curve_.complete = false;
      curve_.error = std::max(curve_.error, Search::gap(model_, frame.first, frame.second));
      return false;
    }
    ++curve_.solves;
    // The value alone tells most often that nothing is better here than the two.
    const double shown = Search::priced(model_, frame.first.line, p);
    if (solver_->value() - information_ > shown + least_) {
      frame.middle = known(p);
      if (Search::priced(model_, frame.middle.line, p) > shown + least_ &&
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
  const double information_, least_;
  const std::unique_ptr<Search::Solver> solver_;
  std::vector<Part> parts_;
  bool going_ = true;
  Search::Curve curve_;
};

}  // namespace

double Search::crossing(const Model& model, const Known& first, const Known& second) {
  const double rise = slope(second.line) - slope(first.line);
  const double behind = priced(model, first.line, 0) - priced(model, second.line, 0);
  // Parallel or falling only by rounding: then they are worth the same.
  const double at = rise > 0 ? behind / rise : second.at;
  return std::clamp(at, first.at, second.at);
}

double Search::gap(const Model& model, const Known& first, const Known& second) {
  if (!(second.at > first.at)) return 0;
  const double p = crossing(model, first, second);
  const double t = (p - first.at) / (second.at - first.at);
  const double low = priced(model, first.line, first.at), high = priced(model, second.line, second.at);
  const double shown = std::max(priced(model, first.line, p), priced(model, second.line, p));
  return std::max(0.0, low + t * (high - low) - shown);
}

Search::Known Search::whole_of(const Model& model) {
  return {model.line_of({model.part(model.temporal() ? kAllLeaves : model.tree.root(), 0, model.slices - 1)}),
          1, 0};
}

void Search::append(const Model& model, Curve& curve, const Known& next) {
  if (!curve.known.empty()) {
    Known& last = curve.known.back();
    // Two partitions may share all of a line (equal cells cut at another place): one of them is enough.
    const double away = std::max(std::abs(priced(model, next.line, 0) - priced(model, last.line, 0)),
                                 std::abs(priced(model, next.line, 1) - priced(model, last.line, 1)));
    if (away <= grain(model)) return;
    const double since = curve.begin.back(), begin = std::max(since, crossing(model, last, next));
    // The lead of the last is largest where it begins. If that is rounding, it is best nowhere.
    if (begin <= since || priced(model, last.line, since) - priced(model, next.line, since) <= grain(model)) {
      last = next;
      return;
    }
    curve.begin.push_back(begin);
  } else {
    curve.begin.push_back(next.at);
  }
  curve.known.push_back(next);
}

Search::Curve Search::exact(Model& model, double from, Patience& patience, const OnLine& on_line) {
  return ExactSearch(model, patience, on_line).run(from);
}

Search::Curve Search::envelope(Model& model, const EnvelopeOptions& options, Patience& patience) {
  Curve curve;
  std::vector<Part> parts;
  const auto solve = [&](double p, Known& out) {
    if (!model.find_parts(p, patience, parts)) return false;
    out = {model.line_of(parts), p, 0};
    ++curve.solves;
    return true;
  };
  std::vector<Known> known(1);
  bool going = solve(0, known[0]);
  if (!going) known.clear();
  known.push_back(whole_of(model));
  const double range = going ? std::abs(pic(known[1].line, 1) - pic(known[0].line, 0)) : 0;
  const double wanted = std::max(options.relative_error * range, grain(model));
  curve.error = going ? 0 : known.back().line.loss;  // pIC* <= 0 at p = 0
  curve.complete = going;
  while (going) {
    std::size_t widest = 0;
    curve.error = 0;
    for (std::size_t i = 0; i + 1 < known.size(); ++i) {
      const double open = gap(model, known[i], known[i + 1]);
      if (open > curve.error) {
        curve.error = open;
        widest = i;
      }
    }
    if (curve.error <= wanted) break;
    const double p = crossing(model, known[widest], known[widest + 1]);
    Known middle;
    if (curve.solves >= options.most_solves || !(p > known[widest].at && p < known[widest + 1].at) ||
        !patience.next_solution() || !solve(p, middle)) {
      curve.complete = false;
      break;
    }
    known.insert(known.begin() + static_cast<std::ptrdiff_t>(widest) + 1, middle);
  }
  for (const Known& one : known) append(model, curve, one);
  curve.node_share = static_cast<double>(curve.solves);
  return curve;
}

}  // namespace margay::partition
