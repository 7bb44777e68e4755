// The shape of a hierarchy, as the partition sees it: nodes, parents, leaves; no names, no attributes.
//
// Nodes are the indices of the parent vector it is built from, so the caller's numbering is kept. A node
// without children is a leaf, at whatever depth: unbalanced trees, chains of single children and a lone root
// are all fine. Children are kept in ascending node index. Leaves have two numberings: their *position*
// (0, 1, ... in ascending node index: the row order of every column given to an engine) and their place in
// depth-first order (where the leaves below any node are neighbours).
//
// Errors: from_parents() refuses an empty vector, an index outside it, two roots, no root and cycles, and
// names the node. Nothing else fails; indices given to accessors must be valid.
// Thread safety: immutable, share freely. Ownership: owns its arrays; spans live as long as the shape.
// Cost: built in O(nodes) time without recursion (a chain of a million nodes is fine); about 40 bytes a node;
// accessors O(1).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"

namespace margay::partition {

// The parent of the root.
inline constexpr NodeIndex kNoParent{std::numeric_limits<std::uint32_t>::max()};

// A row of a column: the rank of a leaf among the leaves, by ascending node index.
using LeafPosition = Strong<struct LeafPositionTag, std::uint32_t>;

class TreeShape {
 public:
  // parents[k] is the parent of node k; exactly one of them is kNoParent.
  static Result<TreeShape> from_parents(std::span<const NodeIndex> parents);
  // A root (node 0) over `leaves` leaves (nodes 1 to leaves); a lone root if `leaves` is 0.
  static TreeShape flat(std::uint32_t leaves);

  std::size_t size() const { return parent_.size(); }
  std::size_t leaf_count() const { return leaf_node_.size(); }
  NodeIndex root() const { return post_order_.back(); }
  NodeIndex parent(NodeIndex k) const { return parent_[k.value]; }
  bool is_leaf(NodeIndex k) const { return child_begin_[k.value] == child_begin_[k.value + 1]; }
  std::span<const NodeIndex> children(NodeIndex k) const {
    return {children_.data() + child_begin_[k.value], children_.data() + child_begin_[k.value + 1]};
  }
  // All nodes, every node after its children; the root is last.
  std::span<const NodeIndex> post_order() const { return post_order_; }
  NodeIndex leaf_node(LeafPosition leaf) const { return leaf_node_[leaf.value]; }
  // The leaves below k (k itself if it is a leaf), as positions, in depth-first order.
  std::span<const LeafPosition> leaves_under(NodeIndex k) const {
    return {leaf_order_.data() + leaf_begin_[k.value], leaf_order_.data() + leaf_end_[k.value]};
  }

 private:
  std::vector<NodeIndex> parent_;
  std::vector<std::uint32_t> child_begin_;  // size()+1 offsets into children_
  std::vector<NodeIndex> children_;
  std::vector<NodeIndex> post_order_;
  std::vector<NodeIndex> leaf_node_;
  std::vector<LeafPosition> leaf_order_;
  std::vector<std::uint32_t> leaf_begin_, leaf_end_;  // [begin, end) into leaf_order_
};

}  // namespace margay::partition
