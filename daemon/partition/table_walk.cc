// How the parts are found again in tables that hold only what they are worth.
#include "table_solver.h"

namespace margay::partition::internal {

// pIC of the block as one aggregate, in the units of its node: the very number that is in the tables' making.
template <class T>
T TableSolver<T>::value_of(std::size_t q, const Block& block) const {
  double scratch[2 * kRows];
  std::vector<std::uint64_t> column(g_.states + 2);
  std::vector<std::uint32_t> occurring(g_.states + 1);
  const std::size_t slot = g_.slot_of(block.node);
  g_.sums.column(slot, block.last, column.data());
  const std::uint64_t row = block.first / kRows;
  const MeasureIn in{g_.sums.blocks(slot),
                     g_.sums.ring(),
                     g_.sums.measured_rows(),
                     g_.states,
                     column.data(),
                     block.first,
                     row,
                     row,
                     nullptr,
                     g_.sums.unit(),
                     g_.sums.unit_log2(),
                     occurring.data()};
  g_.kernels->measure(in, g_.precise, scratch, scratch + kRows);
  const Scale scale = scale_of(block.node);
  const std::size_t at = static_cast<std::size_t>(block.first % kRows);
  T out[kRows];
  kernels().base({scratch, scratch + kRows, nullptr, 1 - g_.p[q], g_.tie, scale.to_units, scale.shift, 1, 0,
                  at, nullptr},
                 out);
  return out[at];
}

template <class T>
T TableSolver<T>::split_of(std::size_t q, const Block& block) const {
  if (lent_split_ != nullptr)
    return static_cast<T>(lent_split_[split_at(block.last) + (block.first - g_.begin / kTile * kTile)]);
  std::int64_t sum = 0;
  for (const NodeIndex child : g_.tree.children(block.node))
    sum += static_cast<std::int64_t>(entry(q, child, block.first, block.last)) << scale_of(child).shift;
  const int shift = scale_of(block.node).shift;
  return static_cast<T>((sum + (shift > 0 ? std::int64_t{1} << (shift - 1) : 0)) >> shift);
}

// The first choice, in the order of the tie rule, that reaches the block's optimum. Only comparing with the
// stored optimum, never candidates with each other, keeps this stable.
template <class T>
typename TableSolver<T>::Choice TableSolver<T>::choose(std::size_t q, const Block& block) const {
  using Way = typename Choice::Way;
  const auto [k, first, last] = block;
  const auto slack = static_cast<T>(tie_slack(g_.tie) * scale_of(k).to_units);
  const T target = entry(q, k, first, last) - slack;
  if (value_of(q, block) >= target) return {Way::kWhole};
  const auto children = g_.tree.children(k);
  const T split = children.empty() ? kNever<T> : split_of(q, block);
  // An only child has its parent's leaves: cutting in time first keeps the topmost of the two in the parts.
  Count cut = last;  // none
  if (split < target || children.size() == 1) {
    T best_seen = children.size() == 1 ? target : split;
    for (Count m = first; m < last; ++m) {
      const T both = entry(q, k, first, m) + entry(q, k, m + 1, last);
      if (both < best_seen) continue;
      best_seen = both;
      cut = m;
      if (both >= target) break;
    }
  }
  if (cut < last) return {Way::kInTime, cut};
  return {children.empty() ? Way::kWhole : Way::kInSpace};  // whole: a leaf's single slice
}

template <class T>
typename TableSolver<T>::Choice TableSolver<T>::choose_lent(std::size_t q, const Block& block, T* own,
                                                            const std::int64_t* split) {
  tables_[q][g_.slot_of(block.node)] = own;
  lent_split_ = split;
  const Choice choice = choose(q, block);
  lent_split_ = nullptr;
  return choice;
}

template <class T>
bool TableSolver<T>::walk(std::size_t q, std::vector<Block>& parts, const GoOn&) {
  if (g_.begin == g_.end) return true;
  std::vector<Block> stack{{g_.tree.root(), g_.begin, g_.end - 1}};
  while (!stack.empty()) {
    const Block block = stack.back();
    stack.pop_back();
    const Choice choice = choose(q, block);
    if (choice.way == Choice::Way::kWhole) {
      parts.push_back(block);
    } else if (choice.way == Choice::Way::kInTime) {
      stack.push_back({block.node, choice.cut + 1, block.last});
      stack.push_back({block.node, block.first, choice.cut});
    } else {
      const auto children = g_.tree.children(block.node);
      for (std::size_t c = children.size(); c-- > 0;) stack.push_back({children[c], block.first, block.last});
    }
  }
  return true;
}

template bool TableSolver<std::int32_t>::walk(std::size_t, std::vector<Block>&, const GoOn&);
template bool TableSolver<std::int64_t>::walk(std::size_t, std::vector<Block>&, const GoOn&);
template TableSolver<std::int64_t>::Choice TableSolver<std::int64_t>::choose_lent(std::size_t, const Block&,
                                                                                  std::int64_t*,
                                                                                  const std::int64_t*);

}  // namespace margay::partition::internal
