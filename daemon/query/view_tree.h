// The leaves of a run in a view (margay/model/view.h), and what people name in it: a node by its path in the
// view or, as alerts, lists of events and filters do, by its path in the usual one. Pure.
//
// Errors: kInvalidArgument, for a level that no leaf has or a node that there is not, with what is near.
// Thread safety: any number of readers. Cost: that of one or two hierarchies; of a node, the nodes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/model/hierarchy.h"
#include "margay/partition/tree_shape.h"
#include "margay/store/archive.h"
#include "margay/wire/filter.h"

namespace margay::daemon {

std::vector<model::Attributes> attributes_of(const store::Resume& resume);

class ViewTree {
 public:
  ViewTree(std::span<const model::Attributes> leaves, const model::View& view);

  // Every level but "path" is an attribute of some leaf. The sentence begins with the level.
  static Status check(std::span<const model::Attributes> leaves, const model::View& view);

  const model::Hierarchy& hierarchy() const { return *shown_; }
  // Of a leaf, in the usual view: what it is called wherever there is no view.
  const std::string& resource(LeafIndex leaf) const { return (usual_ ? *usual_ : *shown_).path_of(leaf); }
  // Whether the node named is the leaf or above it.
  bool at_or_below(LeafIndex leaf, std::string_view node) const;
  bool shows(LeafIndex leaf, const wire::ResourceTerms& terms) const;

  // A node of the view, and which leaves below it are meant: all of them or, where the path is that of a node
  // in the usual view, those below that, of all the tree.
  struct Place {
    NodeIndex node = model::Hierarchy::kRoot;
    std::vector<bool> leaves;  // by LeafIndex
  };
  // "" is all. The sentence begins with the quoted path.
  Result<Place> find(std::string_view path) const;

  // The way down to the place's node, and what is below it that has one of these leaves.
  struct Shape {
    partition::TreeShape tree = partition::TreeShape::flat(0);
    std::vector<std::string> names;  // of nodes, the root's is empty
    std::vector<LeafIndex> leaves;   // in the tree's order
  };
  Result<Shape> shape(NodeIndex node, const std::vector<bool>& leaves) const;
  // Where these leaves stand among themselves: of the first in the usual view the index among `leaves`, and
  // so on.
  std::vector<std::uint32_t> usual_order(std::span<const LeafIndex> leaves) const;

 private:
  std::shared_ptr<const model::Hierarchy> shown_;
  std::shared_ptr<const model::Hierarchy> usual_;  // nothing where it is the one that is shown
};

}  // namespace margay::daemon
