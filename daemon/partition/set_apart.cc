#include "margay/partition/set_apart.h"

#include <algorithm>
#include <cstdint>

namespace margay::partition {
namespace {

enum class Lies : std::uint8_t { kBeside, kAbove, kIn };  // a node, as seen from an area

// One area, and the partition that is to have it.
class Cutter {
 public:
  Cutter(const TreeShape& tree, const Area& area) : tree_(tree), first_(area.first), last_(area.last) {
    std::vector<bool> in(tree.leaf_count());
    for (const LeafPosition l : area.leaves)
      if (l.value < in.size()) in[l.value] = true;
    std::vector<std::size_t> inside(tree.size()), all(tree.size());
    lies_.assign(tree.size(), Lies::kBeside);
    for (const NodeIndex k : tree.post_order()) {
      if (tree.is_leaf(k)) {
        const auto leaf = tree.leaves_under(k).front();
        inside[k.value] = in[leaf.value] ? 1 : 0, all[k.value] = 1;
      }
      if (inside[k.value] > 0) lies_[k.value] = inside[k.value] == all[k.value] ? Lies::kIn : Lies::kAbove;
      if (k == tree.root()) break;
      inside[tree.parent(k).value] += inside[k.value], all[tree.parent(k).value] += all[k.value];
    }
  }

  bool is_nowhere() const { return lies_[tree_.root().value] == Lies::kBeside; }
  // The parents of the area's nodes are the area. False: it was the root.
  bool widen() {
    if (lies_[tree_.root().value] == Lies::kIn) return false;
    std::vector<NodeIndex> grow;
    for (std::uint32_t k = 0; k < lies_.size(); ++k)
      if (lies_[k] == Lies::kAbove &&
          std::any_of(tree_.children(NodeIndex(k)).begin(), tree_.children(NodeIndex(k)).end(),
                      [&](NodeIndex c) { return lies_[c.value] == Lies::kIn; }))
        grow.push_back(NodeIndex(k));
    while (!grow.empty()) {
      const NodeIndex k = grow.back();
      grow.pop_back();
      lies_[k.value] = Lies::kIn;
      grow.insert(grow.end(), tree_.children(k).begin(), tree_.children(k).end());
    }
    return true;
  }

  // As it is by now.
  Area area() const {
    Area out{{}, first_, last_};
    for (std::uint32_t k = 0; k < lies_.size(); ++k)
      if (tree_.is_leaf(NodeIndex(k)) && lies_[k] == Lies::kIn)
        out.leaves.push_back(tree_.leaves_under(NodeIndex(k)).front());
    return out;
  }

  std::vector<Part> cut(const std::vector<Part>& parts) {
    std::vector<Part> out;
    done_.assign(tree_.size(), false);
    for (const Part& q : parts) {
      if (q.last < first_ || q.first > last_) {
        out.push_back(q);
        continue;
      }
      if (q.first < first_) out.push_back({q.node, q.first, first_ - 1});
      middle(q.node, std::max(q.first, first_), std::min(q.last, last_), out);
      if (q.last > last_) out.push_back({q.node, last_ + 1, q.last});
    }
    return out;
  }

 private:
  // What stays of [from, to] of a node, and the area's parts where they are met first.
  void middle(NodeIndex node, SliceIndex from, SliceIndex to, std::vector<Part>& out) {
    if (lies_[node.value] == Lies::kBeside) {
      out.push_back({node, from, to});
    } else if (lies_[node.value] == Lies::kAbove) {
      for (const NodeIndex c : tree_.children(node)) middle(c, from, to, out);
    } else {
      NodeIndex top = node;
      while (top != tree_.root() && lies_[tree_.parent(top).value] == Lies::kIn) top = tree_.parent(top);
      if (!done_[top.value]) out.push_back({top, first_, last_});
      done_[top.value] = true;
    }
  }

  const TreeShape& tree_;
  SliceIndex first_, last_;
  std::vector<Lies> lies_;  // by node
  std::vector<bool> done_;  // by node: its part is there
};

// Which leaves an area has, and which parts are its own.
class Owner {
 public:
  Owner(const TreeShape& tree, const Area& area)
      : tree_(tree), first_(area.first), last_(area.last), in_(tree.leaf_count()) {
    for (const LeafPosition l : area.leaves)
      if (l.value < in_.size()) in_[l.value] = true;
  }
  // Of none but its leaves, with half of its slices.
  bool owns(const Part& part) const {
    const auto both = std::min(part.last, last_).value - std::max(part.first, first_).value + 1;
    const auto either = std::max(part.last, last_).value - std::min(part.first, first_).value + 1;
    const auto below = tree_.leaves_under(part.node);
    return 2 * both >= either &&
           std::all_of(below.begin(), below.end(), [&](LeafPosition l) { return in_[l.value]; });
  }
  bool is_apart(const Partition& partition) const {
    std::size_t found = 0;
    for (const Part& part : partition.parts)
      if (owns(part)) found += tree_.leaves_under(part.node).size();
    return found == static_cast<std::size_t>(std::count(in_.begin(), in_.end(), true));
  }

 private:
  const TreeShape& tree_;
  SliceIndex first_, last_;
  std::vector<bool> in_;  // by leaf
};

bool all_apart(const std::vector<Owner>& owners, const Partition& partition) {
  return std::all_of(owners.begin(), owners.end(), [&](const Owner& o) { return o.is_apart(partition); });
}

}  // namespace

void set_apart(Partition& partition, const TreeShape& tree, std::span<const Area> areas, const Worth& worth,
               std::size_t most) {
  if (partition.parts.empty()) return;
  SliceIndex begin = partition.parts.front().first, end = partition.parts.front().last;
  for (const Part& p : partition.parts) begin = std::min(begin, p.first), end = std::max(end, p.last);
  std::vector<Owner> kept;
  const Keep keep = [&](const Part& part) {
    return std::any_of(kept.begin(), kept.end(), [&](const Owner& o) { return o.owns(part); });
  };
  for (const Area& area : areas) {
    if (area.last < begin || area.first > end || area.first > area.last) continue;
    const Area inside{area.leaves, std::max(area.first, begin), std::min(area.last, end)};
    Cutter cutter(tree, inside);
    if (cutter.is_nowhere()) continue;
    Partition tried;
    do {
      tried = partition;
      kept.emplace_back(tree, cutter.area());
      if (!kept.back().is_apart(partition)) tried.parts = cutter.cut(partition.parts);
      coarsen(tried, tree, most, worth, keep);
      if (tried.parts.size() <= most && all_apart(kept, tried)) break;
      kept.pop_back();
      tried.parts.clear();
    } while (cutter.widen());
    if (!tried.parts.empty()) partition.parts = std::move(tried.parts);
  }
  coarsen(partition, tree, most, worth, keep);
}

bool is_apart(const Partition& partition, const TreeShape& tree, const Area& area) {
  return Owner(tree, area).is_apart(partition);
}

}  // namespace margay::partition
