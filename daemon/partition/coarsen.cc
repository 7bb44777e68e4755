#include "margay/partition/coarsen.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace margay::partition {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::min();  // the end that a key leaves out

// A node and an interval, or one end of it.
struct Key {
  std::uint32_t node;
  std::int64_t first, last;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t h = k.node * 0x9E3779B97F4A7C15u;
    h = (h ^ static_cast<std::uint64_t>(k.first)) * 0xC2B2AE3D27D4EB4Fu;
    h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(k.last)) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
};

class Merger {
 public:
  Merger(const TreeShape& tree, const Worth& worth, const Keep& keep)
      : tree_(tree), worth_(worth), keep_(keep) {}

  void run(Partition& partition, std::size_t most) {
    for (const Part& part : partition.parts) add(part, items_.size());
    while (alive_ > most && !possible_.empty()) {
      const Merge next = possible_.top();
      possible_.pop();
      const std::vector<std::size_t> parts = parts_of(next);
      if (!parts.empty()) merge(parts, next.part);
    }
    std::vector<std::pair<std::size_t, Part>> left;
    for (const Item& i : items_)
      if (i.alive) left.emplace_back(i.place, i.part);
    std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    partition.parts.clear();
    for (const auto& [place, part] : left) partition.parts.push_back(part);
  }

 private:
  struct Item {
    Part part;
    double worth;
    std::size_t place;  // in the order of parts
    bool kept, alive;
  };
  struct Merge {
    double price;             // bits for each part less
    Part part;                // that comes out
    std::size_t left, right;  // in time; kNone: of the children
    // Of equal prices the first in this order.
    auto order() const { return std::tuple(price, part.first, part.node, part.last); }
    bool operator<(const Merge& other) const { return other.order() < order(); }  // the cheapest on top
  };

  static Key begin_of(const Part& p) { return {p.node.value, p.first.value, kOpen}; }
  static Key end_of(const Part& p) { return {p.node.value, kOpen, p.last.value}; }
  static Key whole_of(NodeIndex node, const Part& p) { return {node.value, p.first.value, p.last.value}; }
  std::size_t at(const Key& key) const {
    const auto found = ends_.find(key);
    return found == ends_.end() ? kNone : found->second;
  }

  void add(const Part& part, std::size_t place) {
    const std::size_t i = items_.size();
    items_.push_back({part, worth_(part), place, keep_ && keep_(part), true});
    ++alive_;
    ends_[begin_of(part)] = ends_[end_of(part)] = i;
    if (const std::size_t before = at({part.node.value, kOpen, part.first.value - 1}); before != kNone)
      in_time(before, i);
    if (const std::size_t after = at({part.node.value, part.last.value + 1, kOpen}); after != kNone)
      in_time(i, after);
    if (part.node == tree_.root()) return;
    const NodeIndex parent = tree_.parent(part.node);
    if (++families_[whole_of(parent, part)] == tree_.children(parent).size()) in_space(parent, part);
  }

  void in_time(std::size_t left, std::size_t right) {
    const Item &l = items_[left], &r = items_[right];
    if (l.kept || r.kept) return;
    Merge m{0, {l.part.node, l.part.first, r.part.last}, left, right};
    m.price = l.worth + r.worth - worth_(m.part);
    possible_.push(m);
  }

  void in_space(NodeIndex parent, const Part& like) {
    Merge m{0, {parent, like.first, like.last}, kNone, kNone};
    const std::vector<std::size_t> parts = parts_of(m);
    if (parts.empty()) return;
    for (const std::size_t i : parts) m.price += items_[i].worth;
    // A chain of nodes with the same leaves costs nothing and saves nothing.
    m.price = (m.price - worth_(m.part)) / static_cast<double>(std::max<std::size_t>(1, parts.size() - 1));
    possible_.push(m);
  }

  // Those that it merges; none if that is not possible (any more).
  std::vector<std::size_t> parts_of(const Merge& m) const {
    std::vector<std::size_t> out;
    if (m.left != kNone) {
      if (items_[m.left].alive && items_[m.right].alive) out = {m.left, m.right};
      return out;
    }
    for (const NodeIndex child : tree_.children(m.part.node)) {
      const std::size_t i = at({child.value, m.part.first.value, kOpen});
      if (i == kNone || items_[i].part.last != m.part.last || items_[i].kept) return {};
      out.push_back(i);
    }
    return out;
  }

  void merge(const std::vector<std::size_t>& parts, const Part& into) {
    std::size_t place = kNone;
    for (const std::size_t i : parts) {
      Item& item = items_[i];
      item.alive = false;
      --alive_;
      place = std::min(place, item.place);
      ends_.erase(begin_of(item.part));
      ends_.erase(end_of(item.part));
      if (item.part.node != tree_.root()) --families_[whole_of(tree_.parent(item.part.node), item.part)];
    }
    add(into, place);
  }

  const TreeShape& tree_;
  const Worth& worth_;
  const Keep& keep_;
  std::vector<Item> items_;
  std::size_t alive_ = 0;
  std::unordered_map<Key, std::size_t, KeyHash> ends_;      // of those alive, by begin and by end
  std::unordered_map<Key, std::size_t, KeyHash> families_;  // how many children of a node are such a part
  std::priority_queue<Merge> possible_;
};

}  // namespace

void coarsen(Partition& partition, const TreeShape& tree, std::size_t most, const Worth& worth,
             const Keep& keep) {
  if (partition.parts.size() > most) Merger(tree, worth, keep).run(partition, most);
}

}  // namespace margay::partition
