#include "margay/partition/tree_shape.h"

#include <algorithm>
#include <string>

namespace margay::partition {
namespace {

std::string name(std::size_t node) {
  return "node " + std::to_string(node);
}

}  // namespace

Result<TreeShape> TreeShape::from_parents(std::span<const NodeIndex> parents) {
  const std::size_t n = parents.size();
  if (n == 0) return fail(ErrorCode::kInvalidArgument, "tree: no nodes");
  if (n >= kNoParent.value) {
    return fail(ErrorCode::kLimit, "tree: " + std::to_string(n) + " nodes, at most 2^32 - 2");
  }
  std::size_t root = n;
  for (std::size_t k = 0; k < n; ++k) {
    if (parents[k] == kNoParent) {
      if (root != n) {
        return fail(ErrorCode::kInvalidArgument,
                    "tree: two roots, " + name(root) + " and " + name(k) + " have no parent");
      }
      root = k;
    } else if (parents[k].value >= n) {
      return fail(ErrorCode::kInvalidArgument, "tree: " + name(k) + " has parent " +
                                                   std::to_string(parents[k].value) +
                                                   ", but there are only " + std::to_string(n) + " nodes");
    }
  }

  TreeShape t;
  t.parent_.assign(parents.begin(), parents.end());
  t.child_begin_.assign(n + 1, 0);
  for (const NodeIndex p : parents) {
    if (p != kNoParent) ++t.child_begin_[p.value + 1];
  }
  for (std::size_t k = 0; k < n; ++k) t.child_begin_[k + 1] += t.child_begin_[k];
  t.children_.resize(t.child_begin_[n]);
  std::vector<std::uint32_t> fill(t.child_begin_.begin(), t.child_begin_.end() - 1);
  for (std::uint32_t k = 0; k < n; ++k) {
    if (parents[k] != kNoParent) t.children_[fill[parents[k].value]++] = NodeIndex(k);
  }

  // Post-order is the reverse of "node, then its children from last to first", which a plain stack gives.
  if (root != n) {
    std::vector<NodeIndex> stack{NodeIndex(static_cast<std::uint32_t>(root))};
    while (!stack.empty()) {
      const NodeIndex k = stack.back();
      stack.pop_back();
      t.post_order_.push_back(k);
      for (const NodeIndex c : t.children(k)) stack.push_back(c);
    }
    std::reverse(t.post_order_.begin(), t.post_order_.end());
  }
  if (t.post_order_.size() != n) {
    // What the root does not reach hangs on a cycle: n steps up from any such node end on the cycle itself.
    std::vector<bool> reached(n, false);
    for (const NodeIndex k : t.post_order_) reached[k.value] = true;
    std::size_t k = 0;
    while (reached[k]) ++k;
    for (std::size_t step = 0; step < n; ++step) k = parents[k].value;
    return fail(ErrorCode::kInvalidArgument, "tree: cycle, " + name(k) + " is its own ancestor");
  }

  std::vector<LeafPosition> position(n);
  for (std::uint32_t k = 0; k < n; ++k) {
    if (!t.is_leaf(NodeIndex(k))) continue;
    position[k] = LeafPosition(static_cast<std::uint32_t>(t.leaf_node_.size()));
    t.leaf_node_.push_back(NodeIndex(k));
  }
  t.leaf_begin_.resize(n);
  t.leaf_end_.resize(n);
  for (const NodeIndex k : t.post_order_) {
    if (t.is_leaf(k)) {
      t.leaf_begin_[k.value] = static_cast<std::uint32_t>(t.leaf_order_.size());
      t.leaf_order_.push_back(position[k.value]);
    } else {
      t.leaf_begin_[k.value] = t.leaf_begin_[t.children(k).front().value];
    }
    t.leaf_end_[k.value] = static_cast<std::uint32_t>(t.leaf_order_.size());
  }
  return t;
}

TreeShape TreeShape::flat(std::uint32_t leaves) {
  std::vector<NodeIndex> parents(std::size_t{leaves} + 1, NodeIndex(0));
  parents[0] = kNoParent;
  return *from_parents(parents);
}

}  // namespace margay::partition
