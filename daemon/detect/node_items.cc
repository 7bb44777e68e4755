#include "node_items.h"
#include "vectors.h"

#include <algorithm>

namespace margay::detect {

NodeItems::NodeItems(const model::Hierarchy& h) : leaves_(h.leaf_count()) {
  const auto in_order = h.leaf_order();
  order_.assign(in_order.begin(), in_order.end());
  group_.assign(leaves_, 0);
  below_.resize(leaves_);
  for (std::uint32_t k = 0; k < order_.size(); ++k) below_[order_[k].value] = std::span(order_).subspan(k, 1);
  count_.assign(1, leaves_);
  smallest_.assign(1, 1.0f);
  for (std::uint32_t k = 1; k < h.node_count(); ++k) {
    const auto& node = h.nodes()[k];
    // Of nodes that hold the same leaves the lowest speaks for all.
    if (node.leaf_count < 2 || node.leaf_count >= leaves_ || node.children.size() == 1) continue;
    const std::uint32_t group = node.depth + 1;
    if (count_.size() <= group) count_.resize(group + 1, 0), smallest_.resize(group + 1, 0.0f);
    const auto leaves = static_cast<float>(node.leaf_count);
    smallest_[group] = count_[group]++ > 0 ? std::min(smallest_[group], leaves) : leaves;
    group_.push_back(group);
    below_.push_back(std::span(order_).subspan(node.first_leaf, node.leaf_count));
  }
  // Depth-first: those that hold an item are among the ones before it that have not ended.
  parent_.assign(group_.size(), kNone);
  std::vector<std::uint32_t> holding;
  for (auto i = static_cast<std::uint32_t>(leaves_); i < group_.size(); ++i) {
    const auto end = [&](std::uint32_t of) { return below_[of].data() + below_[of].size(); };
    while (!holding.empty() && end(holding.back()) <= below_[i].data()) holding.pop_back();
    if (!holding.empty()) parent_[i] = holding.back();
    holding.push_back(i);
  }
  for (auto i = static_cast<std::uint32_t>(leaves_); i < group_.size(); ++i)
    for (const LeafIndex l : below_[i]) parent_[l.value] = i;
  for (auto i = static_cast<std::uint32_t>(leaves_); i < group_.size(); ++i) upwards_.push_back(i);
  std::stable_sort(upwards_.begin(), upwards_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return below_[a].size() < below_[b].size(); });
}

MARGAY_VECTORS void NodeItems::add_up(Grid& rows) const {
  const std::size_t fours = rows.stride() / 4;
  for (std::size_t i = leaves_; i < size(); ++i) {
    float* const __restrict sum = rows[i];  // inner items hold leaves only
    std::fill_n(sum, rows.stride(), 0.0f);
    for (const LeafIndex l : below_[i]) {
      const float* const from = rows[l.value];
      for (std::size_t x = 0; x < 4 * fours; ++x) sum[x] += from[x];
    }
  }
}

std::vector<std::uint32_t> NodeItems::siblings() const {
  std::vector<std::uint32_t> out(leaves_);
  for (std::size_t l = 0; l < leaves_; ++l)
    out[l] = parent_[l] == kNone ? 0 : parent_[l] - static_cast<std::uint32_t>(leaves_) + 1;
  return out;
}

}  // namespace margay::detect
