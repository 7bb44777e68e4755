#include "margay/model/hierarchy.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "margay/base/resource_pattern.h"
#include "margay/model/natural_order.h"

namespace margay::model {
namespace {

bool is_number(const std::string& s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string without_slash(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');  // a path is made of components
  return name;
}
bool is_of_path(const std::string& attribute) {
  return attribute.starts_with("path") && is_number(attribute.substr(4));
}

// What a leaf with this value shows for a level; "": nothing.
std::string component(const View::Level& level, const std::string& value) {
  using Of = View::Level::Of;
  if (level.of == Of::kValue)
    return without_slash(is_number(value) && !is_of_path(level.attribute) ? level.attribute + value : value);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return "";
  if (level.of == Of::kRest)
    return level.attribute + " mod " + std::to_string(level.n) + " = " + std::to_string(number % level.n);
  const std::uint64_t first = number - number % level.n;
  const std::uint64_t last = std::min(level.n - 1, std::numeric_limits<std::uint64_t>::max() - first) + first;
  return level.attribute + ' ' + std::to_string(first) + (level.n == 1 ? "" : '-' + std::to_string(last));
}

// Calls `take` with what a leaf shows for a level of the view: nothing, one component, or a path of them.
template <class Take>
void each_component(const Attributes& leaf, const View::Level& level, Take take) {
  if (level.attribute != "path") {
    if (const auto it = leaf.find(level.attribute); it != leaf.end())
      if (std::string c = component(level, it->second); !c.empty()) take(std::move(c));
    return;
  }
  for (std::size_t i = 1;; ++i) {
    const auto it = leaf.find("path" + std::to_string(i));
    if (it == leaf.end()) return;
    take(without_slash(it->second));
  }
}

// The tree before it is laid out in depth-first order.
struct Draft {
  std::map<std::string, std::uint32_t, NaturalLess> children;
  std::vector<LeafIndex> leaves;  // leaves that end here
};

// What leaves show for the levels of a view, and for those that make each a leaf of its own.
class Components {
 public:
  Components(std::span<const Attributes> leaves, const View& view) : levels_(view.levels()) {
    const auto has = [&](const char* attribute) {
      return std::any_of(levels_.begin(), levels_.end(), [&](const View::Level& l) {
        return l == View::Level{attribute, View::Level::Of::kValue, 1};
      });
    };
    for (const char* own : {"rank", "process", "thread"})
      if (!has(own)) levels_.push_back({own, View::Level::Of::kValue, 1});
    by_path_ = has("path");
    for (const Attributes& a : leaves) ++threads_[process_of(a)];
    if (view.groups().empty()) return;
    const Hierarchy usual(leaves);
    for (std::uint32_t l = 0; l < leaves.size(); ++l)
      groups_.push_back(group_of(view.groups(), usual.path_of(LeafIndex(l))));
  }

  std::vector<std::string> of(std::span<const Attributes> leaves, std::uint32_t l) const {
    const Attributes& leaf = leaves[l];
    std::vector<std::string> out;
    for (const View::Level& level : levels_) {
      if (level.attribute == View::kGroup && !groups_.empty()) {
        out.push_back(groups_[l]);
        continue;
      }
      // A rank with one thread is the leaf.
      if (level.attribute == "thread" && leaf.contains("thread") && threads_.at(process_of(leaf)) == 1)
        continue;
      each_component(leaf, level, [&](std::string c) { out.push_back(std::move(c)); });
    }
    if (!by_path_) add_own_name(leaf, out);
    return out;
  }

 private:
  // What the leaf shows for the levels above its thread.
  std::string process_of(const Attributes& leaf) const {
    std::string key;
    for (const View::Level& level : levels_)
      if (level.attribute != "thread")
        each_component(leaf, level, [&key](const std::string& c) { key += c + '/'; });
    return key;
  }
  static std::string group_of(const std::vector<View::Group>& groups, const std::string& path) {
    for (const View::Group& g : groups)
      for (const std::string& pattern : g.patterns)
        if (names_resource(pattern, path)) return g.name;
    return View::kOthers;
  }
  // The last of an imported leaf's path, unless it is shown already.
  void add_own_name(const Attributes& leaf, std::vector<std::string>& out) const {
    std::string own;
    for (std::size_t i = 1; leaf.contains("path" + std::to_string(i)); ++i) own = "path" + std::to_string(i);
    const auto is_own = [&](const View::Level& l) {
      return l.attribute == own && l.of == View::Level::Of::kValue;
    };
    if (!own.empty() && std::none_of(levels_.begin(), levels_.end(), is_own))
      out.push_back(without_slash(leaf.at(own)));
  }

  std::vector<View::Level> levels_;
  bool by_path_ = false;
  std::map<std::string, int> threads_;  // of each process
  std::vector<std::string> groups_;     // of each leaf, where the view has them
};

// Each leaf where its components lead, behind the root (the first).
std::vector<Draft> drafts_of(std::span<const Attributes> leaves, const View& view) {
  const Components shown(leaves, view);
  std::vector<Draft> drafts(1);
  std::map<std::pair<std::uint32_t, std::string>, int> twins;
  for (std::uint32_t i = 0; i < leaves.size(); ++i) {
    std::vector<std::string> components = shown.of(leaves, i);
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

Hierarchy::Hierarchy(std::span<const Attributes> leaves, const View& view) {
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
