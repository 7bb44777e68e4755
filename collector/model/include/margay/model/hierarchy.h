// The hierarchy: a tree over the leaf resources. Pure.
//
// A leaf is a set of attributes; the tree is a view of them (view.h). Changing the view needs no event: cells
// are stored by leaf. The level of "thread" is left out where a rank has one thread (the rank is itself the
// leaf); all others are always there, so that paths are stable: /host/rank3, and /host/rank3/thread1 where a
// rank has several threads; /site/cluster/host/rank3 where the leaf says of which cluster and site it is.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/ids.h"
#include "margay/model/view.h"

namespace margay::model {

using Attributes = std::map<std::string, std::string>;

// Whether a path is that of this node, or of one below it.
inline bool at_or_below(std::string_view path, std::string_view node) {
  return node == "/" || path == node ||
         (path.size() > node.size() && path.starts_with(node) && path[node.size()] == '/');
}

class Hierarchy {
 public:
  struct Node {
    std::string name;    // last component of the path: "rank3"
    std::string path;    // "/host/rank3"; "/" for the root
    NodeIndex parent{};  // the root is its own parent
    std::uint32_t depth = 0;
    std::vector<NodeIndex> children;  // siblings in natural order: rank2 before rank10
    // Leaves below are leaf_order()[first_leaf, first_leaf + leaf_count).
    std::uint32_t first_leaf = 0;
    std::uint32_t leaf_count = 0;
  };

  // `leaves[i]` are the attributes of LeafIndex(i). Values of attribute `a` show as a + value for numbers
  // ("rank3"), as the value itself otherwise ("node7"); "rank mod 8 = 3"; "rank 8-15" for rows of 8. A leaf
  // without an attribute of the view, or without a number where one is wanted, skips that level. "path" in a
  // view stands for "path1", "path2" ... up to the first that a leaf does not have, whose values show as they
  // are, numbers too: the path of an imported leaf. Cost: O(leaves * view * log), and of groups each leaf
  // with each pattern.
  explicit Hierarchy(std::span<const Attributes> leaves, const View& view = View());
  Hierarchy() : Hierarchy(std::span<const Attributes>()) {}

  static constexpr NodeIndex kRoot{0};
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t leaf_count() const { return leaf_node_.size(); }
  const Node& operator[](NodeIndex n) const { return nodes_[n.value]; }
  // Depth-first, parents before children; index order is this order.
  const std::vector<Node>& nodes() const { return nodes_; }
  NodeIndex node_of(LeafIndex leaf) const { return leaf_node_[leaf.value]; }
  const std::string& path_of(LeafIndex leaf) const { return nodes_[leaf_node_[leaf.value].value].path; }
  // Leaves in depth-first order of the tree.
  std::span<const LeafIndex> leaf_order() const { return leaf_order_; }
  std::span<const LeafIndex> leaves_below(NodeIndex n) const {
    return std::span(leaf_order_).subspan(nodes_[n.value].first_leaf, nodes_[n.value].leaf_count);
  }

 private:
  std::vector<Node> nodes_;
  std::vector<NodeIndex> leaf_node_;
  std::vector<LeafIndex> leaf_order_;
};

}  // namespace margay::model
