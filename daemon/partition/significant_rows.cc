// Solutions at one p of the temporal operator: a row of numbers, made anew each time.
#include <algorithm>

#include "significant_search.h"

namespace margay::partition {
namespace {

using Model = SignificantSearch::Model;
using internal::Line;

class RowSolver final : public SignificantSearch::Solver {
 public:
  explicit RowSolver(Model& model)
      : model_(model),
        slack_(SignificantSearch::grain(model) * std::max(1.0 / 16, 4 / static_cast<double>(model.slices))) {}
  bool begin(double p) override { return solve(0, p, 0); }
  bool solve(double, double p, double) override {
    row_ = model_.solve_row(p);
    p_ = p;
    ++solved_;
    return true;
  }
  void left() override {}
  void right() override {}
  void leave() override {}
  double value() const override { return row_.back(); }
  Line line() override { return model_.line_of(model_.parts_of_row(row_, p_, slack_)); }
  void parts(std::vector<Part>& out) const override { out = model_.parts_of_row(row_, p_, slack_); }
  double node_share() const override { return static_cast<double>(solved_); }

 private:
  Model& model_;
  double slack_;
  std::vector<double> row_;
  double p_ = 0;
  std::uint64_t solved_ = 0;
};

}  // namespace

std::unique_ptr<SignificantSearch::Solver> SignificantSearch::row_solver(Model& model) {
  return std::make_unique<RowSolver>(model);
}

}  // namespace margay::partition
