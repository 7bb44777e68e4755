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

}  // namespace

void set_apart(Partition& partition, const TreeShape& tree, std::span<const Area> areas, std::size_t most) {
  if (partition.parts.empty()) return;
  SliceIndex begin = partition.parts.front().first, end = partition.parts.front().last;
  for (const Part& p : partition.parts) begin = std::min(begin, p.first), end = std::max(end, p.last);
  most = std::max(most, partition.parts.size() + kRoom);
  for (const Area& area : areas) {
    if (area.last < begin || area.first > end || area.first > area.last) continue;
    const Area inside{area.leaves, std::max(area.first, begin), std::min(area.last, end)};
    Cutter cutter(tree, inside);
    if (cutter.is_nowhere() || is_apart(partition, tree, inside)) continue;
    std::vector<Part> parts = cutter.cut(partition.parts);
    while (parts.size() > most && cutter.widen()) parts = cutter.cut(partition.parts);
    if (parts.size() <= most) partition.parts = std::move(parts);
  }
}

bool is_apart(const Partition& partition, const TreeShape& tree, const Area& area) {
  std::vector<bool> in(tree.leaf_count());
  for (const LeafPosition l : area.leaves)
    if (l.value < in.size()) in[l.value] = true;
  std::size_t found = 0;
  for (const Part& part : partition.parts) {
    const auto both = std::min(part.last, area.last).value - std::max(part.first, area.first).value + 1;
    const auto either = std::max(part.last, area.last).value - std::min(part.first, area.first).value + 1;
    const auto below = tree.leaves_under(part.node);
    if (2 * both >= either &&
        std::all_of(below.begin(), below.end(), [&](LeafPosition l) { return in[l.value]; }))
      found += below.size();
  }
  return found == static_cast<std::size_t>(std::count(in.begin(), in.end(), true));
}

}  // namespace margay::partition
