#include "margay/model/hierarchy.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace margay::model {
namespace {

bool is_number(const std::string& s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string without_slash(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');  // a path is made of components
  return name;
}
std::string component(const std::string& attribute, const std::string& value) {
  return without_slash(is_number(value) ? attribute + value : value);
}

// Calls `take` with what a leaf shows for a level of the view: nothing, one component, or a path of them.
template <class Take>
void each_component(const Attributes& leaf, const std::string& level, Take take) {
  if (level != "path") {
    if (const auto it = leaf.find(level); it != leaf.end()) take(component(level, it->second));
    return;
  }
  for (std::size_t i = 1;; ++i) {
    const auto it = leaf.find("path" + std::to_string(i));
    if (it == leaf.end()) return;
    take(without_slash(it->second));
  }
}

// "rank2" before "rank10".
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      std::size_t ie = i, je = j;
      while (ie < a.size() && digit(a[ie])) ++ie;
      while (je < b.size() && digit(b[je])) ++je;
      while (i + 1 < ie && a[i] == '0') ++i;
      while (j + 1 < je && b[j] == '0') ++j;
      if (ie - i != je - j) return ie - i < je - j;
      const int c = a.compare(i, ie - i, b, j, je - j);
      if (c != 0) return c < 0;
      i = ie;
      j = je;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

// Names that only differ in leading zeros are two names.
struct NaturalLess {
  bool operator()(const std::string& a, const std::string& b) const {
    return natural_less(a, b) || (a < b && !natural_less(b, a));
  }
};

// The tree before it is laid out in depth-first order.
struct Draft {
  std::map<std::string, std::uint32_t, NaturalLess> children;
  std::vector<LeafIndex> leaves;  // leaves that end here
};

// What the leaf shows for the levels above its thread.
std::string process_of(const Attributes& leaf, std::span<const std::string> view) {
  std::string key;
  for (const std::string& level : view)
    if (level != "thread") each_component(leaf, level, [&key](const std::string& c) { key += c + '/'; });
  return key;
}

// Each leaf where its components lead, behind the root (the first).
std::vector<Draft> drafts_of(std::span<const Attributes> leaves, std::span<const std::string> view) {
  // A rank with one thread is the leaf: find the ranks that have several.
  std::map<std::string, int> threads;
  for (const Attributes& a : leaves) ++threads[process_of(a, view)];

  std::vector<Draft> drafts(1);
  std::map<std::pair<std::uint32_t, std::string>, int> twins;
  for (std::uint32_t i = 0; i < leaves.size(); ++i) {
    std::vector<std::string> components;
    for (const std::string& level : view) {
      if (level == "thread" && leaves[i].contains(level) && threads[process_of(leaves[i], view)] == 1)
        continue;
      each_component(leaves[i], level, [&](std::string c) { components.push_back(std::move(c)); });
    }
    if (components.empty()) components.push_back("unnamed");
    const auto child = [&](std::uint32_t at, const std::string& name) {
      const auto [it, fresh] =
          drafts[at].children.try_emplace(name, static_cast<std::uint32_t>(drafts.size()));
      const std::uint32_t next = it->second;
      if (fresh) drafts.emplace_back();
      return next;
    };
    std::uint32_t parent = 0;
    for (std::size_t c = 0; c + 1 < components.size(); ++c) parent = child(parent, components[c]);
    // Every leaf is a node of its own: two processes that say the same of themselves (or nothing) stay apart.
    std::uint32_t at = child(parent, components.back());
    // Where many do, the count goes on from the last one's.
    if (!drafts[at].leaves.empty())
      for (int& again = twins.try_emplace({parent, components.back()}, 2).first->second;
           !drafts[at].leaves.empty(); ++again)
        at = child(parent, components.back() + "#" + std::to_string(again));
    drafts[at].leaves.push_back(LeafIndex(i));
  }
  return drafts;
}

// A leaf has nothing below it: where one says less of itself than others ("/host" beside "/host/rank0"), it
// moves one level down.
void move_inner_leaves_down(std::vector<Draft>& drafts) {
  for (std::uint32_t d = 0; d < drafts.size(); ++d) {
    if (drafts[d].leaves.empty() || drafts[d].children.empty()) continue;
    std::string name = "self";  // unless somebody is called so
    for (int again = 2; drafts[d].children.contains(name); ++again) name = "self#" + std::to_string(again);
    drafts[d].children.emplace(std::move(name), static_cast<std::uint32_t>(drafts.size()));
    Draft self;
    self.leaves = std::move(drafts[d].leaves);
    drafts[d].leaves.clear();
    drafts.push_back(std::move(self));
  }
}

// A node's leaves are contiguous in depth-first order; they are counted from the bottom up.
void count_leaves(std::vector<Hierarchy::Node>& nodes, std::span<const NodeIndex> leaf_node,
                  std::span<const LeafIndex> leaf_order) {
  for (const LeafIndex leaf : leaf_order) {
    for (NodeIndex n = leaf_node[leaf.value];; n = nodes[n.value].parent) {
      ++nodes[n.value].leaf_count;
      if (n == Hierarchy::kRoot) break;
    }
  }
}

}  // namespace

Hierarchy::Hierarchy(std::span<const Attributes> leaves, std::span<const std::string> view) {
  std::vector<Draft> drafts = drafts_of(leaves, view);
  move_inner_leaves_down(drafts);
  leaf_node_.resize(leaves.size());
  struct Pending {
    std::uint32_t draft;
    NodeIndex parent;
    std::string name;
  };
  std::vector<Pending> stack{{0, NodeIndex(0), ""}};
  while (!stack.empty()) {
    const Pending p = std::move(stack.back());
    stack.pop_back();
    const NodeIndex self(static_cast<std::uint32_t>(nodes_.size()));
    Node node;
    node.name = p.name;
    node.parent = p.parent;
    if (self == kRoot) {
      node.path = "/";
    } else {
      const Node& parent = nodes_[p.parent.value];
      node.depth = parent.depth + 1;
      node.path = (p.parent == kRoot ? std::string() : parent.path) + "/" + p.name;
      nodes_[p.parent.value].children.push_back(self);
    }
    node.first_leaf = static_cast<std::uint32_t>(leaf_order_.size());
    nodes_.push_back(std::move(node));
    for (const LeafIndex leaf : drafts[p.draft].leaves) {
      leaf_node_[leaf.value] = self;
      leaf_order_.push_back(leaf);
    }
    for (auto it = drafts[p.draft].children.rbegin(); it != drafts[p.draft].children.rend(); ++it)
      stack.push_back({it->second, self, it->first});
  }
  count_leaves(nodes_, leaf_node_, leaf_order_);
}

}  // namespace margay::model
