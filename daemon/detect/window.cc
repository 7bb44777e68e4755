#include "margay/detect/window.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace margay::detect {
namespace {

// States the engines are built for beyond those seen, so that the first occurrence of a state seldom rebuilds
// them.
constexpr std::size_t kSpareStates = 8;
// Measured rows this much smaller than the scale have the engines built anew with a smaller one: their tables
// have a fixed unit.
constexpr double kMuchSmaller = 64;
// Of the memory, slices as they are shown take this part at most; the engines have the rest.
constexpr std::uint64_t kSlicesPart = 2;
constexpr std::uint32_t kNoLeaf = std::numeric_limits<std::uint32_t>::max();

partition::PPolicy default_policy() {
  return *partition::PPolicy::create({});
}

// Of a slice with so many leaves and columns.
std::uint64_t slice_bytes(std::uint64_t leaves, std::uint64_t columns) {
  return 256 + leaves * (columns + 2) * sizeof(double);
}

// But for how long it is by now.
bool is_same(const Window::Area& a, const Window::Area& b) {
  return a.leaves == b.leaves && a.first == b.first;
}

}  // namespace

Window::Window(WindowOptions options)
    : options_(options), floor_({.slices = options.slices}), cuts_policy_(default_policy()) {
  if (options_.p) p_ = cuts_p_ = *options_.p;
}

void Window::set_topology(std::shared_ptr<const Topology> topology) {
  const auto before = std::exchange(topology_, std::move(topology));
  const std::vector<std::uint32_t> position_before = position_of_;
  leaf_count_ = topology_->hierarchy.leaf_count();
  leaf_at_.clear();
  position_of_.assign(leaf_count_, 0);
  // The engines number the tree's leaves by node index; the hierarchy's order of leaves is that order.
  for (const LeafIndex leaf : topology_->hierarchy.leaf_order()) {
    position_of_[leaf.value] = static_cast<std::uint32_t>(leaf_at_.size());
    leaf_at_.push_back(leaf);
  }
  // Where the engines cannot follow they are built anew.
  if (!stale_ && spatiotemporal_ && before && follow(*before, position_before)) return;
  stale_ = true;
}

// Tells the engines of leaves that have joined: what lies above them is solved again, and nothing else.
// Leaves never leave a topology; false if one has, or has another place.
bool Window::follow(const Topology& before, const std::vector<std::uint32_t>& position_before) {
  // Leaves are known by their number, for they may get another name (a process whose rank is told); the nodes
  // above by their path.
  const auto leaf_of = [](const model::Hierarchy& h, const model::Hierarchy::Node& node) {
    return node.children.empty() && node.leaf_count == 1 ? h.leaf_order()[node.first_leaf].value : kNoLeaf;
  };
  std::map<std::string_view, NodeIndex> inner;
  std::map<std::uint32_t, NodeIndex> leaves;
  const auto& then = before.hierarchy.nodes();
  for (std::uint32_t k = 0; k < then.size(); ++k) {
    if (const std::uint32_t leaf = leaf_of(before.hierarchy, then[k]); leaf != kNoLeaf)
      leaves.emplace(leaf, NodeIndex(k));
    else
      inner.emplace(then[k].path, NodeIndex(k));
  }
  std::vector<NodeIndex> parents, from;
  const auto find = [](const auto& in, const auto& key) {
    const auto it = in.find(key);
    return it == in.end() ? partition::kNoParent : it->second;
  };
  for (const auto& node : topology_->hierarchy.nodes()) {
    parents.push_back(parents.empty() ? partition::kNoParent : node.parent);
    const std::uint32_t leaf = leaf_of(topology_->hierarchy, node);
    from.push_back(leaf != kNoLeaf ? find(leaves, leaf) : find(inner, std::string_view(node.path)));
  }
  std::vector<partition::LeafPosition> positions;
  std::vector<LeafIndex> joined;
  for (const LeafIndex leaf : leaf_at_) {
    const bool known = leaf.value < position_before.size();
    positions.push_back(known ? partition::LeafPosition(position_before[leaf.value])
                              : partition::Temporal::kNewLeaf);
    if (!known) joined.push_back(leaf);
  }
  if (position_before.size() + joined.size() != leaf_at_.size()) return false;
  auto shape = partition::TreeShape::from_parents(parents);
  if (!shape || !spatiotemporal_->reshape(std::move(*shape), from) || !temporal_->relabel(positions))
    return false;
  // Their slices may have come before the topology that names them.
  for (const Slice& slice : slices_)
    for (const LeafIndex leaf : joined) {
      if (leaf.value >= slice.w.size() || slice.w[leaf.value] == 0) continue;
      if (slice.columns > engine_states_) return false;
      const auto row = slice.row(leaf.value);
      std::vector<double> v(row.begin(), row.end());
      for (double& x : v) x /= scale_;
      v.resize(engine_states_, 0.0);
      const partition::LeafPosition at(position_of_[leaf.value]);
      if (!spatiotemporal_->amend(slice.index, at, v, slice.w[leaf.value]) ||
          !temporal_->amend(slice.index, at, v, slice.w[leaf.value]))
        return false;
    }
  return true;
}

bool Window::unheard(const model::SliceColumn& column, LeafIndex leaf) const {
  const model::NodeEvidence& e = column.evidence(leaf);
  return e.drawn_out && e.silent_since != TimeNs() &&
         slice_end(column.index, options_.slice) - e.silent_since >= options_.lost_after;
}

void Window::expect(std::span<const StateId> states) {
  for (const StateId s : states) appeared(s.value);
}

// A state gets a column when it occurs for the first time.
void Window::appeared(std::size_t state) {
  if (state < column_of_state_.size() && column_of_state_[state] >= 0) return;
  if (state >= column_of_state_.size()) column_of_state_.resize(state + 1, -1);
  column_of_state_[state] = static_cast<int>(state_of_column_.size());
  state_of_column_.push_back(StateId(static_cast<std::uint16_t>(state)));
  if (state_of_column_.size() > engine_states_) stale_ = true;
}

Window::Slice Window::convert_measured(const model::SliceColumn& column) {
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const auto measured = column.measured(LeafIndex(l));
    for (std::size_t x = 0; x < measured.size(); ++x)
      if (measured[x] > 0 && !unheard(column, LeafIndex(l))) appeared(x);
  }
  Slice out;
  out.index = column.index;
  out.columns = state_of_column_.size();
  out.v.resize(column.leaves() * out.columns);
  out.w.resize(column.leaves());
  out.unknown.resize(column.leaves());
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const LeafIndex leaf(l);
    const auto durations = column.duration_ns(leaf);
    if (durations.size() > kUnknown.value)
      out.unknown[l] = std::clamp(
          static_cast<double>(durations[kUnknown.value]) / static_cast<double>(options_.slice.value), 0.0,
          1.0);
    if (unheard(column, leaf)) {
      out.unknown[l] = 1;
      continue;
    }
    double sum = 0;
    double* const row = out.v.data() + l * out.columns;
    for (std::size_t x = 0; x < column.plane_columns(); ++x) {
      if (column.measured(leaf)[x] == 0) continue;
      row[column_of_state_[x]] = column.measured_value(leaf, x);
      sum += row[column_of_state_[x]];
    }
    const bool there =
        durations.size() > kCompute.value && std::any_of(durations.begin() + kCompute.value, durations.end(),
                                                         [](std::int64_t ns) { return ns > 0; });
    out.w[l] = there || sum > 0 ? 1 : 0;
    out.greatest = std::max(out.greatest, sum);
  }
  return out;
}

// Powers of two, so that dividing changes no digit.
void Window::rescale() {
  double greatest = 0;
  for (const Slice& s : slices_) greatest = std::max(greatest, s.greatest);
  if (greatest == 0 || (greatest <= scale_ && greatest * kMuchSmaller > scale_)) return;
  scale_ = std::ldexp(1.0, std::ilogb(greatest) + 2);
  stale_ = true;
}

Window::Slice Window::convert(const model::SliceColumn& column) {
  if (options_.measured) return convert_measured(column);
  // States that occur for the first time get a column each.
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const auto durations = column.duration_ns(LeafIndex(l));
    if (unheard(column, LeafIndex(l))) continue;
    for (std::size_t x = kCompute.value; x < durations.size(); ++x)
      if (durations[x] > 0) appeared(x);
  }
  Slice out;
  out.index = column.index;
  out.columns = state_of_column_.size();
  out.v.resize(column.leaves() * out.columns);
  out.w.resize(column.leaves());
  out.unknown.resize(column.leaves());
  out.visits.resize(out.columns);
  const double scale = 1.0 / static_cast<double>(options_.slice.value);
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const auto durations = column.duration_ns(LeafIndex(l));
    if (durations.size() > kUnknown.value)
      out.unknown[l] = std::max(0.0, static_cast<double>(durations[kUnknown.value]) * scale);
    if (unheard(column, LeafIndex(l))) {
      out.unknown[l] = 1;
      continue;
    }
    double sum = 0;
    double* const row = out.v.data() + l * out.columns;
    const auto visits = column.visits(LeafIndex(l));
    for (std::size_t x = kCompute.value; x < durations.size(); ++x) {  // Absent and Unknown are not tested
      if (durations[x] <= 0) continue;
      const double share = static_cast<double>(durations[x]) * scale;
      row[column_of_state_[x]] = share;
      out.visits[static_cast<std::size_t>(column_of_state_[x])] += visits[x];
      sum += share;
    }
    out.w[l] = std::min(1.0, sum);
  }
  return out;
}

void Window::engine_column(const Slice& slice, std::vector<double>& v, std::vector<double>& w) const {
  v.assign(leaf_at_.size() * engine_states_, 0.0);
  w.assign(leaf_at_.size(), 0.0);
  for (std::size_t pos = 0; pos < leaf_at_.size(); ++pos) {
    const std::size_t leaf = leaf_at_[pos].value;
    if (leaf >= slice.w.size()) continue;
    const auto row = slice.row(leaf);
    std::copy(row.begin(), row.end(), v.begin() + static_cast<std::ptrdiff_t>(pos * engine_states_));
    if (options_.measured)
      for (std::size_t x = 0; x < row.size(); ++x) v[pos * engine_states_ + x] /= scale_;
    w[pos] = slice.w[leaf];
  }
}

Status Window::rebuild() {
  stale_ = false;
  spatiotemporal_.reset();
  temporal_.reset();
  if (leaf_count_ == 0 || slices_.empty()) {
    engine_states_ = 0;
    return {};
  }
  engine_states_ = (state_of_column_.size() / kSpareStates + 1) * kSpareStates;
  std::vector<NodeIndex> parents;
  for (const auto& node : topology_->hierarchy.nodes())
    parents.push_back(parents.empty() ? partition::kNoParent : node.parent);
  auto shape = partition::TreeShape::from_parents(parents);
  if (!shape) return tl::unexpected(shape.error());
  partition::Spatiotemporal::Options st;
  st.tree = std::move(*shape);
  st.states = engine_states_;
  st.window = options_.slices;
  st.p = {p_};
  st.tables = p_ >= partition::Spatiotemporal::kLeastCompactP ? partition::Spatiotemporal::Tables::kCompact
                                                              : partition::Spatiotemporal::Tables::kExact;
  st.most_leaves = std::bit_ceil(2 * leaf_count_);
  st.first_slice = first();
  // push() has seen that there is more.
  const std::uint64_t slices = slice_bytes(leaf_count_, columns()) * options_.slices;
  st.memory_budget_bytes = options_.memory_budget_bytes - slices;
  std::uint64_t left = st.memory_budget_bytes;
  if (options_.spatiotemporal) left -= std::min(left, partition::Spatiotemporal::memory_needed(st));
  std::optional<partition::Spatiotemporal> both;
  if (options_.spatiotemporal) {
    auto made = partition::Spatiotemporal::create(std::move(st));
    if (!made) return tl::unexpected(made.error());
    both.emplace(std::move(*made));
  }
  partition::Temporal::Options t;
  t.leaves = leaf_count_;
  t.states = engine_states_;
  t.window = options_.slices;
  t.p = {cuts_p_};
  t.first_slice = first();
  t.memory_budget_bytes = left;
  t.most_leaves = std::bit_ceil(2 * leaf_count_);
  auto temporal = partition::Temporal::create(std::move(t));
  if (!temporal) return tl::unexpected(temporal.error());
  std::vector<double> v, w;
  for (const Slice& s : slices_) {
    engine_column(s, v, w);
    if (both)
      if (auto ok = both->push({v, w}); !ok) return ok;
    if (auto ok = temporal->push({v, w}); !ok) return ok;
  }
  spatiotemporal_ = std::move(both);
  temporal_.emplace(std::move(*temporal));
  return {};
}

Status Window::push(const model::SliceColumn& column) {
  // Too long a hole, or time going back: begin anew.
  if (!slices_.empty() && (column.index <= last() || column.index.value - last().value > 1'000'000)) {
    slices_.clear();
    stale_ = true;
  }
  // Of a hole only what stays in the window is made.
  if (!slices_.empty() && column.index.value - last().value > static_cast<std::int64_t>(options_.slices)) {
    slices_.clear();
    Slice hole;
    hole.index = column.index - static_cast<std::int64_t>(options_.slices);
    slices_.push_back(std::move(hole));
    stale_ = true;
  }
  while (!slices_.empty() && last() + 1 < column.index) {
    Slice hole;
    hole.index = last() + 1;
    slices_.push_back(std::move(hole));
    stale_ = true;
    if (slices_.size() > options_.slices) slices_.pop_front();
  }
  slices_.push_back(convert(column));
  if (slices_.size() > options_.slices) slices_.pop_front();
  // A window whose slices alone would take too much has fewer of them, and no partition.
  const std::uint64_t room = options_.memory_budget_bytes / kSlicesPart,
                      one = slice_bytes(leaf_count_, columns());
  if (one * options_.slices > room) {
    spatiotemporal_.reset();
    temporal_.reset();
    stale_ = true;
    while (slices_.size() > std::max<std::uint64_t>(1, room / one)) slices_.pop_front();
    return fail(ErrorCode::kLimit, "its slices would take " + std::to_string((one * options_.slices) >> 20) +
                                       " MiB, and " + std::to_string(room >> 20) + " may be taken");
  }
  if (options_.measured) rescale();
  if (stale_ || !temporal_) return rebuild();
  std::vector<double> v, w;
  engine_column(slices_.back(), v, w);
  if (spatiotemporal_)
    if (auto ok = spatiotemporal_->push({v, w}); !ok) return ok;
  return temporal_->push({v, w});
}

Status Window::amend(const model::SliceColumn& column) {
  if (!holds(column.index)) return {};
  Slice& slice = slices_[static_cast<std::size_t>(column.index.value - first().value)];
  const Slice before = std::move(slice);
  slice = convert(column);
  if (options_.measured) rescale();
  if (stale_ || !temporal_) return {};
  std::vector<double> v, w, old_v, old_w;
  engine_column(before, old_v, old_w);
  engine_column(slice, v, w);
  for (std::uint32_t pos = 0; pos < leaf_at_.size(); ++pos) {
    const std::span<const double> cell(v.data() + pos * engine_states_, engine_states_);
    // Mostly one leaf of many has changed, and each costs a solution of all slices since.
    if (w[pos] == old_w[pos] && std::equal(cell.begin(), cell.end(), old_v.data() + pos * engine_states_))
      continue;
    if (spatiotemporal_)
      if (auto ok = spatiotemporal_->amend(column.index, partition::LeafPosition(pos), cell, w[pos]); !ok)
        return ok;
    if (auto ok = temporal_->amend(column.index, partition::LeafPosition(pos), cell, w[pos]); !ok) return ok;
  }
  return {};
}

std::span<const double> Window::row(SliceIndex s, LeafIndex leaf) const {
  const Slice& slice = slices_[static_cast<std::size_t>(s.value - first().value)];
  return slice.row(leaf.value);
}

Window::Rows Window::rows(SliceIndex s) const {
  const Slice& slice = slices_[static_cast<std::size_t>(s.value - first().value)];
  return {slice.v, slice.w, slice.columns};
}

std::span<const double> Window::visits(SliceIndex s) const {
  return slices_[static_cast<std::size_t>(s.value - first().value)].visits;
}

double Window::weight(SliceIndex s, LeafIndex leaf) const {
  const Slice& slice = slices_[static_cast<std::size_t>(s.value - first().value)];
  return leaf.value < slice.w.size() ? slice.w[leaf.value] : 0.0;
}

// In the numbers of the engines, as far as the window has them.
std::vector<partition::Area> Window::areas_in_tree() const {
  std::vector<partition::Area> out;
  for (const Area& a : areas_) {
    if (a.last < first() || a.first > last()) continue;
    partition::Area& area =
        out.emplace_back(partition::Area{{}, std::max(a.first, first()), std::min(a.last, last())});
    for (const LeafIndex leaf : a.leaves)
      if (leaf.value < position_of_.size()) area.leaves.emplace_back(position_of_[leaf.value]);
  }
  return out;
}

std::optional<partition::Partition> Window::spatiotemporal() const {
  if (!spatiotemporal_) return std::nullopt;
  auto partition = spatiotemporal_->partition(0);
  if (!partition) return std::nullopt;
  const auto worth = [&](const partition::Part& part) {
    const partition::Part m = spatiotemporal_->measured(part.node, part.first, part.last);
    return p_ * m.gain - (1 - p_) * m.loss;
  };
  if (!options_.p) partition::set_apart(*partition, spatiotemporal_->tree(), areas_in_tree(), worth);
  auto evaluated = spatiotemporal_->evaluate(*partition);
  if (!evaluated) return std::nullopt;
  join_empty(evaluated->parts);
  return std::move(*evaluated);
}

void Window::set_apart(std::vector<Area> areas) {
  const bool known = std::equal(areas.begin(), areas.end(), areas_.begin(), areas_.end(), is_same);
  areas_ = std::move(areas);
  if (options_.p || slices_.empty() || searched()) return;
  const std::size_t nodes = topology_ ? topology_->hierarchy.node_count() : 0;
  if (areas_.empty() || nodes * options_.slices * options_.slices > partition::kCheapToSolve)
    use(floor_.p());
  else if (!known || !spatiotemporal_ || stale_)
    return;  // no alert waits for a search: in the next slice
  else if (!still_shows())
    use(p_for_areas());
  searched_ = areas_;
  searched_floor_ = floor_.p();
}

// Whether what was searched for is still what there is, more or less.
bool Window::searched() const {
  // Four times as long is another length.
  const auto length = [](const Area& a) {
    return (std::bit_width(static_cast<std::uint64_t>(a.last.value - a.first.value + 1)) + 1) / 2;
  };
  const auto alike = [&](const Area& a, const Area& b) { return is_same(a, b) && length(a) == length(b); };
  return searched_floor_ == floor_.p() &&
         std::equal(areas_.begin(), areas_.end(), searched_.begin(), searched_.end(), alike);
}

// At the present p, of what was searched for and what has come since.
bool Window::still_shows() const {
  const auto is_there = [&](const Area& searched) {
    return std::any_of(areas_.begin(), areas_.end(), [&](const Area& a) { return is_same(a, searched); });
  };
  if (p_ > floor_.p() || !std::all_of(searched_.begin(), searched_.end(), is_there)) return false;
  const auto partition = spatiotemporal_->partition(0);
  if (!partition || partition->parts.size() > partition::kMostShown) return false;
  const std::vector<partition::Area> areas = areas_in_tree();
  return std::all_of(areas.begin(), areas.end(), [&](const partition::Area& a) {
    return partition::is_apart(*partition, spatiotemporal_->tree(), a);
  });
}

double Window::p_for_areas() {
  const double passed = static_cast<double>(last().value - credited_.value);
  solves_ = std::min(partition::kSolvesAtOnce, solves_ + passed / partition::kSlicesASolve);
  credited_ = last();
  if (solves_ < partition::kMostSolves) return p_;
  const auto solve = [&](double p) -> Result<partition::Partition> {
    if (p != spatiotemporal_->p()[0]) --solves_;
    if (Status ok = spatiotemporal_->set_p(0, p); !ok) return tl::unexpected(ok.error());
    return spatiotemporal_->partition(0);
  };
  const double before = p_;
  const auto found = partition::automatic_p(solve, spatiotemporal_->tree(), floor_.p(), areas_in_tree());
  p_ = spatiotemporal_->p()[0];
  if (!found) return before;
  // Not for a little: what p would not show is set apart.
  const bool little =
      *found < before * partition::kWorthAChange && before < *found * partition::kWorthAChange;
  return little && before < floor_.p() ? before : *found;
}

void Window::use(double p) {
  if (p == p_) return;
  p_ = p;
  if (spatiotemporal_) static_cast<void>(spatiotemporal_->set_p(0, p));
}

// Where nobody was there is nothing to gain or to lose by a cut, and compact tables round away what the tie
// rule has against it. Such a part belongs to the next one of its node or, if there is none, to the one
// before.
void Window::join_empty(std::vector<partition::Part>& parts) const {
  const auto continues = [](const partition::Part& a, const partition::Part& b) {
    return a.node == b.node && a.last + 1 == b.first;
  };
  std::vector<partition::Part> out;
  bool waits = false;  // out.back() is empty, and of its node nothing has come after it
  const auto join_before = [&] {
    if (!waits || out.size() < 2 || !continues(out[out.size() - 2], out.back())) return;
    out[out.size() - 2].last = out.back().last;
    out.pop_back();
  };
  for (partition::Part part : parts) {
    const bool empty = is_empty(part);
    if (waits && continues(out.back(), part)) {
      part.first = out.back().first;
      out.pop_back();
    } else {
      join_before();
    }
    out.push_back(part);
    waits = empty;
  }
  join_before();
  parts = std::move(out);
}

bool Window::is_empty(const partition::Part& part) const {
  if (part.gain != 0 || part.loss != 0) return false;
  const auto leaves = topology_->hierarchy.leaves_below(part.node);
  for (SliceIndex s = part.first; s <= part.last; ++s)
    for (const LeafIndex leaf : leaves)
      if (weight(s, leaf) > 0) return false;
  return true;
}

std::optional<partition::Partition> Window::temporal() const {
  if (!temporal_) return std::nullopt;
  auto partition = temporal_->partition(0);
  return partition ? std::optional(std::move(*partition)) : std::nullopt;
}

double Window::unknown(SliceIndex s, LeafIndex leaf) const {
  const Slice& slice = slices_[static_cast<std::size_t>(s.value - first().value)];
  return leaf.value < slice.unknown.size() ? slice.unknown[leaf.value] : 0.0;
}

void Window::learn_noise(SliceIndex from, SliceIndex to) {
  from = std::max(from, first());
  if (options_.p || columns() < 2 || to.value - from.value < 8) return;
  // A sample of the leaves is enough.
  std::vector<partition::Noise> noise;
  std::vector<double> estimates;
  const std::size_t step = std::max<std::size_t>(1, leaf_count_ / 64);
  std::vector<double> rows;
  double mass = 0, cells = 0;
  for (std::size_t l = 0; l < leaf_count_; l += step) {
    rows.clear();
    for (SliceIndex s = from; s < to; ++s) {
      const auto r = row(s, LeafIndex(static_cast<std::uint32_t>(l)));
      rows.insert(rows.end(), r.begin(), r.end());
      rows.resize(rows.size() + columns() - r.size(), 0.0);
    }
    double of_leaf = 0;
    for (double& x : rows) of_leaf += x /= scale_;
    mass += of_leaf;
    cells += static_cast<double>(to.value - from.value);
    const auto estimate = partition::estimate_neff(rows, columns());
    if (!estimate || estimate->degrees_of_freedom < partition::kLeastDegrees) continue;
    estimates.push_back(estimate->n_eff);
    noise.push_back({estimate->n_eff, estimate->of_a_pair,
                     std::min(1.0, of_leaf / static_cast<double>(to.value - from.value)),
                     estimate->degrees_of_freedom});
  }
  if (estimates.empty()) return;
  std::nth_element(estimates.begin(), estimates.begin() + static_cast<std::ptrdiff_t>(estimates.size() / 2),
                   estimates.end());
  const double n_eff = estimates[estimates.size() / 2];
  learn_p(noise);
  // Proportions have a mass of 1; of measured rows it is what the scale leaves of them.
  learn_cuts_p(n_eff, options_.measured ? std::min(1.0, mass / cells) : 1.0);
}

void Window::learn_p(const std::vector<partition::Noise>& noise) {
  const auto alpha = partition::alpha_per_window(leaf_count_, options_.slices);
  if (!alpha) return;
  const auto floor = partition::noise_floor_p(noise, *alpha);
  if (!floor) return;
  floor_.update(*floor, last());
  if (areas_.empty()) use(floor_.p());  // else once they are told anew
}

// The median over leaves: one odd leaf must not set the floor for all.
void Window::learn_cuts_p(double n_eff, double mass) {
  const auto alpha = partition::alpha_per_window(leaf_count_, options_.slices);
  if (!alpha) return;
  const auto raw = partition::noise_floor_p(n_eff, columns(), *alpha, mass);
  if (!raw) return;
  const double p = cuts_policy_.update(*raw);
  if (p == cuts_p_) return;
  cuts_p_ = p;
  if (temporal_) static_cast<void>(temporal_->set_p(0, p));
}

}  // namespace margay::detect
