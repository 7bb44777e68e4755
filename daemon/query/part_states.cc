#include "margay/query/part_states.h"

#include <algorithm>

namespace margay::daemon::internal {

std::vector<StateShare> largest_states(const Model& model, const partition::Part& part, std::size_t most) {
  const auto leaves = model.tree.leaves_under(node_of(model, part));
  const auto first = static_cast<std::size_t>(part.first.value - model.first_slice.value);
  const auto last = static_cast<std::size_t>(part.last.value - model.first_slice.value);
  std::vector<StateShare> sums(model.states);
  double total = 0;
  for (std::size_t x = 0; x < model.states; ++x) sums[x].state = x;
  for (std::size_t t = first; t <= last; ++t)
    for (const partition::LeafPosition s : leaves) {
      const double* row = model.values.data() + (t * model.leaves() + s.value) * model.states;
      for (std::size_t x = 0; x < model.states; ++x) sums[x].share += row[x];
    }
  for (const StateShare& s : sums) total += s.share;
  std::stable_sort(sums.begin(), sums.end(),
                   [](const StateShare& a, const StateShare& b) { return a.share > b.share; });
  sums.resize(std::min(most, sums.size()));
  while (!sums.empty() && sums.back().share == 0) sums.pop_back();
  double cells = static_cast<double>(leaves.size()) * static_cast<double>(last - first + 1);
  if (!model.weights.empty()) {
    cells = 0;
    for (std::size_t t = first; t <= last; ++t)
      for (const partition::LeafPosition s : leaves) cells += model.weights[t * model.leaves() + s.value];
  }
  for (StateShare& s : sums) {
    s.mean = s.share / cells * model.unit;
    s.share /= total;
  }
  return sums;
}

}  // namespace margay::daemon::internal
