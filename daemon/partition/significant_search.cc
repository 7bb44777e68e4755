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
  struct Frame {
    Known first, second, middle;
    enum { kSolve, kLeft, kRight } stage = kSolve;
  };
  Curve curve;
  const double information = information_of(model), least = grain(model);
  const auto solver = model.temporal() ? row_solver(model) : node_solver(model, patience);
  std::vector<Part> parts;
  const auto known = [&](double p) {
    Known out{solver->line(), p, 0};
    if (on_line) {
      solver->parts(parts);
      out.id = on_line(parts);
    }
    return out;
  };

  Known whole = whole_of(model);
  if (on_line) {
    const Part one = model.part(model.temporal() ? kAllLeaves : model.tree.root(), 0, model.slices - 1);
    whole.id = on_line({&one, 1});
  }
  bool going = solver->begin(from);
  if (!going) {
    // Not even the ends were solved: the whole is all that is known. The optimum is below the chord from pIC*
    // <= 0 at p = 0 to the whole's gain at p = 1.
    curve.complete = false;
    curve.error = whole.line.loss;
    append(model, curve, whole);
    return curve;
  }
  std::vector<Frame> stack;
  stack.push_back({known(from), whole, {}});
  curve.solves = 2;
  append(model, curve, stack.back().first);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.stage == Frame::kLeft) {
      frame.stage = Frame::kRight;
      solver->right();
      stack.push_back({frame.middle, frame.second, {}});
      continue;
    }
    if (frame.stage == Frame::kRight) {
      solver->leave();
      stack.pop_back();
      continue;
    }
    const double p1 = frame.first.at, p2 = frame.second.at, p = crossing(model, frame.first, frame.second);
    // The two meet at one of the ends: no third can be better than both between them.
    const bool nothing_between = !(p > p1 && p < p2) || gap(model, frame.first, frame.second) <= least;
    if (!nothing_between) {
      going = going && patience.next_solution() && solver->solve(p1, p, p2);
      if (going) {
        ++curve.solves;
        // The value alone tells most often that nothing is better here than the two.
        const double shown = priced(model, frame.first.line, p);
        if (solver->value() - information > shown + least) {
          frame.middle = known(p);
          if (priced(model, frame.middle.line, p) > shown + least &&
              slope(frame.middle.line) > slope(frame.first.line) &&
              slope(frame.middle.line) < slope(frame.second.line)) {
            frame.stage = Frame::kLeft;
            solver->left();
            stack.push_back({frame.first, frame.middle, {}});
            continue;
          }
          // What is left is the slack of the walk.
          curve.error = std::max(curve.error, solver->value() - information - shown);
        }
        solver->leave();
      } else {
        curve.complete = false;
        curve.error = std::max(curve.error, gap(model, frame.first, frame.second));
      }
    }
    append(model, curve, frame.second);
    stack.pop_back();
  }
  curve.node_share = solver->node_share();
  return curve;
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
