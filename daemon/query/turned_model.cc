#include "turned_model.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "view_tree.h"

namespace margay::daemon {
namespace {

// Rows of so many numbers, by slice and leaf.
std::vector<double> in_order(const std::vector<double>& of, std::size_t slices, std::size_t row,
                             const std::vector<partition::LeafPosition>& from) {
  if (of.empty()) return {};
  std::vector<double> out(of.size());
  double* to = out.data();
  for (std::size_t t = 0; t < slices; ++t)
    for (const partition::LeafPosition l : from)
      to = std::copy_n(of.data() + (t * from.size() + l.value) * row, row, to);
  return out;
}

}  // namespace

Result<Turned> turned(const Model& model, const store::Resume& resume, const model::View& view) {
  const std::vector<model::Attributes> attributes = attributes_of(resume);
  if (Status ok = ViewTree::check(attributes, view); !ok) return tl::unexpected(ok.error());
  const ViewTree tree(attributes, view);
  std::unordered_map<std::string, std::uint32_t> position;
  for (std::uint32_t l = 0; l < model.leaves(); ++l) position.emplace(model.resource(l), l);
  auto shape = tree.shape(model::Hierarchy::kRoot, std::vector<bool>(attributes.size(), true));
  if (!shape) return tl::unexpected(shape.error());
  Turned out;
  for (const LeafIndex l : shape->leaves) {
    const auto at = position.find(tree.resource(l));
    if (at == position.end()) break;
    out.from.emplace_back(at->second);
  }
  if (out.from.size() != model.leaves() || shape->leaves.size() != model.leaves())
    return fail(ErrorCode::kInvalidArgument, "the model is of other resources");
  Model& m = out.model;
  m.slices = model.slices, m.states = model.states, m.first_slice = model.first_slice;
  m.unit = model.unit;
  m.times = model.times;
  m.state_names = model.state_names;
  m.tree = std::move(shape->tree);
  m.node_names = std::move(shape->names);
  m.values = in_order(model.values, m.slices, m.states, out.from);
  m.weights = in_order(model.weights, m.slices, 1, out.from);
  if (view.is_usual()) return out;
  for (const LeafIndex l : shape->leaves) m.resources.push_back(tree.resource(l));
  m.usual_order = tree.usual_order(shape->leaves);
  return out;
}

}  // namespace margay::daemon
