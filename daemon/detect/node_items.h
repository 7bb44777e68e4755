// The nodes that are looked at, in two layers: the leaves, by number, then the inner nodes below the root
// that hold more than one leaf. Pure, immutable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grid.h"
#include "margay/model/hierarchy.h"

namespace margay::detect {

class NodeItems {
 public:
  NodeItems() = default;
  explicit NodeItems(const model::Hierarchy& hierarchy);
  NodeItems(NodeItems&&) = default;  // spans look into it
  NodeItems& operator=(NodeItems&&) = default;

  std::size_t leaves() const { return leaves_; }
  std::size_t size() const { return group_.size(); }
  // Items of a depth are a group; leaves are group 0.
  std::size_t groups() const { return smallest_.size(); }
  std::uint32_t group(std::size_t item) const { return group_[item]; }
  // Leaves of the group's smallest item.
  float smallest(std::size_t group) const { return smallest_[group]; }
  // Items of the group.
  std::size_t count(std::size_t group) const { return count_[group]; }
  std::span<const LeafIndex> below(std::size_t item) const { return below_[item]; }
  // The smallest inner item that holds the item, or kNone below the root. Grows with every step up.
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t parent(std::size_t item) const { return parent_[item]; }
  // A number of each leaf: the same of those that have the same parent.
  std::vector<std::uint32_t> siblings() const;
  // Inner items, those with fewer leaves first.
  const std::vector<std::uint32_t>& upwards() const { return upwards_; }
  // Rows of inner items become the sums of their leaves' rows.
  void add_up(Grid& rows) const;

 private:
  std::size_t leaves_ = 0;
  std::vector<LeafIndex> order_;
  std::vector<std::uint32_t> group_, parent_, upwards_;
  std::vector<std::span<const LeafIndex>> below_;
  std::vector<float> smallest_;
  std::vector<std::size_t> count_;
};

}  // namespace margay::detect
