#include "view_tree.h"

#include <algorithm>
#include <set>

#include "model_scan.h"
#include "zoom_parts.h"

namespace margay::daemon {
namespace {

std::string with_slash(std::string_view path) {
  std::string out = path.starts_with('/') ? std::string(path) : '/' + std::string(path);
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

const model::Hierarchy::Node* node_at(const model::Hierarchy& h, const std::string& path) {
  const auto at =
      std::find_if(h.nodes().begin(), h.nodes().end(), [&](const auto& n) { return n.path == path; });
  return at == h.nodes().end() ? nullptr : &*at;
}

}  // namespace

std::vector<model::Attributes> attributes_of(const store::Resume& resume) {
  std::vector<model::Attributes> out;
  out.reserve(resume.leaves.size());
  for (const store::LeafRecord& l : resume.leaves) out.push_back(l.attributes);
  return out;
}

ViewTree::ViewTree(std::span<const model::Attributes> leaves, const model::View& view)
    : shown_(std::make_shared<const model::Hierarchy>(leaves, view)) {
  if (!view.is_usual()) usual_ = std::make_shared<const model::Hierarchy>(leaves);
}

Status ViewTree::check(std::span<const model::Attributes> leaves, const model::View& view) {
  if (view.is_usual()) return {};
  for (const model::View::Level& level : view.levels()) {
    const std::string& name = level.attribute;
    if (name == "path" || (name == model::View::kGroup && !view.groups().empty())) continue;
    if (std::any_of(leaves.begin(), leaves.end(), [&](const auto& a) { return a.contains(name); })) continue;
    std::set<std::string> known;
    for (const model::Attributes& a : leaves)
      for (const auto& [attribute, value] : a) known.insert(attribute);
    return fail(ErrorCode::kInvalidArgument, internal::quoted(name) + ": no resource of this run says it" +
                                                 internal::hint(name, {known.begin(), known.end()}));
  }
  return {};
}

bool ViewTree::at_or_below(LeafIndex leaf, std::string_view node) const {
  return model::at_or_below(shown_->path_of(leaf), node) ||
         (usual_ && model::at_or_below(usual_->path_of(leaf), node));
}

bool ViewTree::shows(LeafIndex leaf, const wire::ResourceTerms& terms) const {
  return usual_ ? terms.shows(usual_->path_of(leaf), shown_->path_of(leaf))
                : terms.shows(shown_->path_of(leaf));
}

Result<ViewTree::Place> ViewTree::find(std::string_view path) const {
  Place out;
  out.leaves.assign(shown_->leaf_count(), false);
  const std::string wanted = with_slash(path);
  const auto take = [&](const model::Hierarchy& h, const model::Hierarchy::Node& n) {
    for (const LeafIndex l : h.leaves_below(NodeIndex(static_cast<std::uint32_t>(&n - h.nodes().data()))))
      out.leaves[l.value] = true;
  };
  if (const auto* node = node_at(*shown_, wanted)) {
    out.node = NodeIndex(static_cast<std::uint32_t>(node - shown_->nodes().data()));
    take(*shown_, *node);
    return out;
  }
  if (usual_)
    if (const auto* node = node_at(*usual_, wanted)) {
      take(*usual_, *node);
      return out;
    }
  std::vector<std::string> paths;
  for (const auto& n : shown_->nodes()) paths.push_back(n.path);
  return fail(ErrorCode::kInvalidArgument,
              internal::quoted(std::string(path)) + ": no such resource" + internal::hint(wanted, paths));
}

std::vector<std::uint32_t> ViewTree::usual_order(std::span<const LeafIndex> leaves) const {
  constexpr auto kNone = static_cast<std::uint32_t>(-1);
  std::vector<std::uint32_t> index(shown_->leaf_count(), kNone), out;
  for (std::uint32_t i = 0; i < leaves.size(); ++i) index[leaves[i].value] = i;
  for (const LeafIndex l : (usual_ ? *usual_ : *shown_).leaf_order())
    if (index[l.value] != kNone) out.push_back(index[l.value]);
  return out;
}

Result<ViewTree::Shape> ViewTree::shape(NodeIndex node, const std::vector<bool>& leaves) const {
  const model::Hierarchy& h = *shown_;
  Shape out;
  std::vector<NodeIndex> parents;
  std::vector<std::uint32_t> number(h.node_count());
  const auto put = [&](NodeIndex k) {
    number[k.value] = static_cast<std::uint32_t>(parents.size());
    parents.push_back(parents.empty() ? partition::kNoParent : NodeIndex(number[h[k].parent.value]));
    out.names.push_back(h[k].name);
  };
  std::vector<NodeIndex> way{node};
  while (way.back() != model::Hierarchy::kRoot) way.push_back(h[way.back()].parent);
  for (auto k = way.rbegin(); k != way.rend(); ++k) put(*k);
  const auto has_leaf = [&](NodeIndex n) {
    const auto below = h.leaves_below(n);
    return std::any_of(below.begin(), below.end(), [&](LeafIndex l) { return leaves[l.value]; });
  };
  // Depth first: what is below a node follows it.
  for (std::uint32_t k = node.value + 1; k < h.node_count() && h[NodeIndex(k)].depth > h[node].depth; ++k)
    if (has_leaf(NodeIndex(k))) put(NodeIndex(k));
  for (const LeafIndex l : h.leaves_below(node))
    if (leaves[l.value]) out.leaves.push_back(l);
  auto tree = partition::TreeShape::from_parents(parents);
  if (!tree) return tl::unexpected(tree.error());
  out.tree = std::move(*tree);
  return out;
}

}  // namespace margay::daemon
