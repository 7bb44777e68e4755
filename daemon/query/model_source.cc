// A model of somebody's own, looked at as a run is: any stretch of it, in any number of slices.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "margay/query/view_source.h"
#include "margay/settings/units.h"
#include "margay/wire/family_by_name.h"
#include "model_scan.h"
#include "zoom_parts.h"

namespace margay::daemon {
namespace {

using slicer::Grid;

constexpr DurationNs kSlice = seconds(1);          // where the model says nothing of times
constexpr std::int64_t kFarthest = 2'500'000'000;  // slices that begin beyond are counted from 0

// The names from below the root down to a leaf.
model::Attributes path_attributes(const Model& m, std::size_t position) {
  const NodeIndex leaf = m.tree.leaf_node(partition::LeafPosition(static_cast<std::uint32_t>(position)));
  std::vector<std::string> names;
  for (NodeIndex k = leaf; k != m.tree.root(); k = m.tree.parent(k))
    names.push_back(m.has_names() ? m.node_names[k.value] : m.label(k));
  if (names.empty()) names.push_back(m.label(leaf));  // the root is the only resource
  std::reverse(names.begin(), names.end());
  model::Attributes out;
  for (std::size_t i = 0; i < names.size(); ++i) out.emplace("path" + std::to_string(i + 1), names[i]);
  return out;
}

class ModelSource : public ViewSource {
 public:
  explicit ModelSource(Model model) : model_(std::move(model)) {}

  Status look(const std::string& name) {
    const auto count = static_cast<std::int64_t>(model_.slices);
    slice_ = kSlice;
    SliceIndex first = kFarthest < std::abs(model_.first_slice.value) ? SliceIndex(0) : model_.first_slice;
    zero_ = TimeNs();  // slice k begins at k seconds
    if (model_.times) {
      // Whole nanoseconds: boundaries of a step that is none are off by one a slice at most.
      slice_ = DurationNs(std::max<std::int64_t>(1, (model_.times->to - model_.times->from).value / count));
      first = slice_of(model_.times->from, slice_);
    }
    name_ = name;
    from_ = slice_begin(first, slice_);
    to_ = slice_begin(first + count, slice_);
    resume_.run.run = name;
    // Slices begin at multiples of their duration: where the model's do not, all times are moved alike.
    if (model_.times) zero_ = model_.times->zero + (from_ - model_.times->from);
    resume_.run.begin = zero_;
    resume_.run.end = to_;
    resume_.run.levels = {slice_};
    for (std::size_t l = 0; l < model_.leaves(); ++l) {
      store::LeafRecord& leaf = resume_.leaves.emplace_back();
      leaf.leaf = LeafIndex(static_cast<std::uint32_t>(l));
      leaf.attributes = path_attributes(model_, l);
    }
    for (std::size_t x = 0; x < model_.states; ++x) {
      const std::string state = model_.state_label(x);
      const auto family = wire::family_by_name(state, wire::FAMILY_OTHER);
      if (auto id = resume_.states.intern(state, static_cast<model::StateFamily>(family)); !id)
        return fail(id.error(), name + ": state " + internal::quoted(state));
    }
    extent_.zero = from_;
    extent_.end = to_;
    extent_.levels = {{first, first + (count - 1), true}};
    return {};
  }

  Result<store::Resume> load() const override { return resume_; }
  Result<ZoomExtent> extent(const store::Resume&) const override { return extent_; }
  Result<std::vector<store::AlertRecord>> alerts() const override {
    return std::vector<store::AlertRecord>();
  }
  const store::Archive* events() const override { return nullptr; }
  Result<Zoomed> zoom(const ZoomRequest& request, const store::Resume& resume) const override;

 private:
  Result<Grid> grid_of(const ZoomRequest& request) const;
  std::vector<double> sums(const Grid& grid) const;

  Model model_;
  std::string name_;
  DurationNs slice_{};
  TimeNs from_{}, to_{}, zero_{};
  store::Resume resume_;
  ZoomExtent extent_;
};

Result<Grid> ModelSource::grid_of(const ZoomRequest& request) const {
  auto grid = internal::range_of(request, from_, to_, request.slices.value_or(model_.slices));
  if (!grid || request.slices) return grid;
  // Each of the model's own.
  const SliceIndex first = slice_of(grid->from, slice_), last = slice_of(TimeNs(grid->to.value - 1), slice_);
  return Grid::make(slice_begin(first, slice_), slice_end(last, slice_),
                    static_cast<std::uint64_t>(last.value - first.value + 1));
}

// [slice][leaf][state], in ns: what a boundary cuts is divided in proportion.
std::vector<double> ModelSource::sums(const Grid& grid) const {
  const std::size_t row = model_.leaves() * model_.states;
  std::vector<double> out(grid.slices * row);
  for (std::uint32_t k = 0; k < grid.slices; ++k) {
    const TimeNs begin = std::max(from_, grid.boundary(k)), end = std::min(to_, grid.boundary(k + 1));
    for (TimeNs t = begin; t < end;) {
      const SliceIndex s = slice_of(t, slice_);
      const TimeNs until = std::min(end, slice_end(s, slice_));
      const double* const from =
          model_.values.data() +
          static_cast<std::size_t>((slice_begin(s, slice_) - from_).value / slice_.value) * row;
      const auto ns = static_cast<double>((until - t).value);
      for (std::size_t i = 0; i < row; ++i) out[k * row + i] += from[i] * ns;
      t = until;
    }
  }
  return out;
}

Result<Zoomed> ModelSource::zoom(const ZoomRequest& request, const store::Resume& resume) const {
  if (request.op != slicer::Operator{})
    return internal::wrong("--operator " + request.op.text() + ": " + request.input +
                           " is a model: it has its values, and no events to measure");
  std::vector<std::string> names;
  names.reserve(model_.states);
  for (std::size_t x = 0; x < model_.states; ++x) names.push_back(model_.state_label(x));
  std::vector<model::StateInfo> states;
  states.reserve(names.size());
  for (const std::string& name : names)
    states.push_back({name, static_cast<model::StateFamily>(wire::family_by_name(name, wire::FAMILY_OTHER))});
  for (const Status& ok :
       {internal::check_states(request, names), internal::check_some_state(request, states)})
    if (!ok) return tl::unexpected(ok.error());
  const auto grid = grid_of(request);
  if (!grid) return tl::unexpected(grid.error());
  const std::uint64_t row = std::uint64_t{model_.leaves()} * model_.states;
  if (grid->slices * row * sizeof(double) > request.memory_bytes / 2)
    return fail(ErrorCode::kLimit, "partition: " + std::to_string(model_.leaves()) + " leaves x " +
                                       std::to_string(grid->slices) + " slices x " +
                                       std::to_string(model_.states) +
                                       " states take more than the memory budget");
  std::vector<model::Attributes> leaves;
  for (const store::LeafRecord& l : resume.leaves) leaves.push_back(l.attributes);
  const auto of = internal::look_at(leaves, request);
  if (!of) return tl::unexpected(of.error());
  const std::vector<double> values = sums(*grid);
  const auto wanted = internal::state_filter(request, states);
  std::vector<std::size_t> columns;
  internal::Cells cells{*grid, zero_, *of, {}, {}, {}, true};
  for (std::size_t x = 0; x < model_.states; ++x) {
    if (wanted && !wanted(names[x])) continue;
    columns.push_back(x);
    cells.columns.push_back(names[x]);
  }
  cells.value = [&](LeafIndex l, std::uint32_t k, std::size_t x) {
    return values[k * row + l.value * model_.states + columns[x]];
  };
  cells.not_there = [&](LeafIndex, std::uint32_t k) {  // behind the end
    const TimeNs begin = std::clamp(grid->boundary(k), from_, to_),
                 end = std::clamp(grid->boundary(k + 1), from_, to_);
    return static_cast<std::uint64_t>((grid->boundary(k + 1) - grid->boundary(k) - (end - begin)).value);
  };
  auto model = internal::model_of(cells, request);
  if (!model) return tl::unexpected(model.error());
  model->unit *= model_.unit;
  return Zoomed{std::move(*model), {}, 0};
}

}  // namespace

Result<std::unique_ptr<ViewSource>> view_source(Model model, const std::string& name) {
  auto out = std::make_unique<ModelSource>(std::move(model));
  if (Status ok = out->look(name); !ok) return tl::unexpected(ok.error());
  return std::unique_ptr<ViewSource>(std::move(out));
}

}  // namespace margay::daemon
