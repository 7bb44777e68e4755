#include "margay/partition/spatiotemporal.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "cell_check.h"
#include "solver.h"

namespace margay::partition {

using internal::Block;
using internal::Ground;

namespace {

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}

Status check_compact_p(double p) {
  if (p >= Spatiotemporal::kLeastCompactP) return {};
  return fail(ErrorCode::kInvalidArgument, "partition: p is " + std::to_string(p) +
                                               "; compact tables need at least " +
                                               std::to_string(Spatiotemporal::kLeastCompactP));
}

const internal::Kernels* kernels_named(const std::string& name) {
  const auto& here = internal::kernels_here();
  if (name.empty()) return here.back();
  for (const auto* k : here)
    if (k->name == name) return k;
  return nullptr;
}

}  // namespace

struct Spatiotemporal::Impl {
  using Count = Ground::Count;

  Ground g;
  std::unique_ptr<internal::Solver> solver;
  Tables tables;
  std::vector<double> durations;  // of the slices of the window, by t % window
  std::vector<std::uint32_t> free_slots;
  std::size_t slots;
  std::uint64_t budget;
  std::vector<std::int64_t> cell;  // scratch

  Impl(Options& o, const internal::Kernels* kernels)
      : g(ground_of(o, kernels)),
        solver(solver_of(o.tables, g)),
        tables(o.tables),
        durations(o.window, 1.0),
        slots(g.tree.size()),
        budget(o.memory_budget_bytes),
        cell(g.states + 2) {
    g.make_room_for_waiting();
  }

  static std::unique_ptr<internal::Solver> solver_of(Tables tables, Ground& ground) {
    switch (tables) {
      case Tables::kExact:
        return internal::make_exact_solver(ground);
      case Tables::kCompact:
        return internal::make_compact_solver(ground);
      case Tables::kOnePath:
        break;
    }
    return internal::make_path_solver(ground);
  }
  static Ground ground_of(Options& o, const internal::Kernels* kernels) {
    if (o.leaf_weights.empty()) o.leaf_weights.assign(o.tree.leaf_count(), 1.0);
    const double a_leaf = static_cast<double>(o.window) * o.longest_slice;
    const double most = std::max(sum_of(o.leaf_weights), static_cast<double>(o.most_leaves)) * a_leaf;
    const bool precise = o.tables != Tables::kCompact;
    internal::PrefixSums sums(o.tree.size(), o.states, o.window, most, precise);
    std::vector<std::uint32_t> slot(o.tree.size()), position = positions(o.tree);
    for (std::uint32_t k = 0; k < slot.size(); ++k) slot[k] = k;
    const double tie = o.tie_bits ? *o.tie_bits : internal::default_tie(most, o.states);
    return {std::move(o.tree),
            o.states,
            o.window,
            std::move(o.p),
            o.first_slice,
            tie,
            most,
            a_leaf,
            std::move(o.leaf_weights),
            std::max<std::size_t>(1, o.threads),
            std::move(o.parallel),
            kernels,
            precise,
            std::move(sums),
            std::move(slot),
            0,
            0,
            std::move(position)};
  }
  static std::vector<std::uint32_t> positions(const TreeShape& tree) {
    std::vector<std::uint32_t> out(tree.size(), 0);
    for (std::uint32_t s = 0; s < tree.leaf_count(); ++s) out[tree.leaf_node(LeafPosition(s)).value] = s;
    return out;
  }
  std::int64_t number(Count t) const { return g.origin.value + static_cast<std::int64_t>(t); }
  Count count(SliceIndex s) const { return static_cast<Count>(s.value - g.origin.value); }

  void push_column(const Column& column) {
    if (g.end - g.begin == g.window) ++g.begin;
    const Count n = g.end++;
    durations[n % g.window] = column.duration;
    if (g.waiting_slices == internal::kMostColumns) append_waiting(n);
    const std::size_t at = g.waiting_slices++;
    g.waiting_durations[at] = column.duration;
    double* to = g.arrived_at(at);
    for (std::size_t s = 0; s < column.w.size(); ++s) {
      to = std::copy_n(column.v.data() + s * g.states, g.states, to);
      *to++ = column.w[s];
    }
  }
  // Puts what waits into the sums, in a window whose last complete slice is before `until`.
  void append_waiting(Count until) {
    if (g.waiting_slices == 0) return;
    const Count end = std::exchange(g.end, until);
    for (const NodeIndex k : g.tree.post_order()) g.append_waiting(k);
    g.waiting_slices = 0;
    g.end = end;
  }

  void amend_cell(Count t, LeafPosition leaf, std::span<const double> v, double w) {
    append_waiting(g.end);
    NodeIndex k = g.tree.leaf_node(leaf);
    solver->amended(k, t);
    g.sums.convert(*g.kernels, v, w, g.leaf_weights[leaf.value] * durations[t % g.window], cell.data());
    for (std::size_t x = 0; x < cell.size(); ++x) cell[x] -= g.sums.sum(g.slot_of(k), x, t, t);
    for (;; k = g.tree.parent(k)) {
      g.sums.add(g.slot_of(k), t, g.end, cell.data());
      if (k == g.tree.root()) return;
    }
  }

  Part part_of(const Block& block) const {
    const auto [a, b] = measure(block);
    const double information = real(block, g.states + 1);
    const double loss = internal::real_loss(information - (a - b), g.tie);
    return {block.node, SliceIndex(number(block.first)), SliceIndex(number(block.last)), loss, b - loss};
  }
  double real(const Block& b, std::size_t x) const {
    return g.sums.real(g.sums.sum(g.slot_of(b.node), x, b.first, b.last));
  }
  // sum_x S_x*log2(S_x) and (sum_x S_x)*log2(W).
  std::pair<double, double> measure(const Block& block) const {
    double a = 0, total = 0;
    for (std::size_t x = 0; x < g.states; ++x) {
      const double s = real(block, x);
      a += internal::xlog2x(s);
      total += s;
    }
    const double w = real(block, g.states);
    return {a, w > 0 ? total * std::log2(w) : 0.0};
  }

  // The part measured cell by cell: every term of the loss is small where the cells are alike.
  void measure_exactly(Part& part) const {
    const Block whole{part.node, count(part.first), count(part.last)};
    std::vector<double> s(g.states);
    double total = 0, loss = 0;
    for (std::size_t x = 0; x < g.states; ++x) total += s[x] = real(whole, x);
    const double w = real(whole, g.states);
    for (const LeafPosition leaf : g.tree.leaves_under(part.node)) {
      for (Count t = whole.first; t <= whole.last; ++t) {
        const Block one{g.tree.leaf_node(leaf), t, t};
        const double cell_w = real(one, g.states);
        for (std::size_t x = 0; x < g.states; ++x) {
          const double v = real(one, x);
          if (v > 0) loss += v * std::log2((v / cell_w) * (w / s[x]));
        }
      }
    }
    part.loss = std::max(0.0, loss);
    part.gain = (w > 0 ? total * std::log2(w) : 0.0) - part.loss;
  }

  std::uint32_t take_slot() {
    if (free_slots.empty()) {
      g.sums.grow(++slots);
      return static_cast<std::uint32_t>(slots - 1);
    }
    const std::uint32_t slot = free_slots.back();
    free_slots.pop_back();
    return slot;
  }
  // Sums of an inner node, or none of a leaf that is new.
  void make_sums(NodeIndex k) {
    const std::size_t slot = g.slot_of(k);
    for (Count t = g.begin; t <= g.end; ++t)
      for (std::size_t x = 0; x < cell.size(); ++x) g.sums.before(slot, x, t) = 0;
    for (Count t = g.begin; t < g.end; ++t) {
      std::fill(cell.begin(), cell.end(), 0);
      for (const NodeIndex child : g.tree.children(k))
        for (std::size_t x = 0; x < cell.size(); ++x) cell[x] += g.sums.sum(g.slot_of(child), x, t, t);
      g.sums.append(slot, t, cell.data());
    }
  }
  Status reshape(TreeShape tree, std::span<const NodeIndex> from, std::vector<double> weights);
};

Spatiotemporal::Spatiotemporal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Spatiotemporal::Spatiotemporal(Spatiotemporal&&) noexcept = default;
Spatiotemporal& Spatiotemporal::operator=(Spatiotemporal&&) noexcept = default;
Spatiotemporal::~Spatiotemporal() = default;

namespace {

// nodes: room for so many, if that is more than the tree has.
std::uint64_t memory_of(const TreeShape& tree, std::uint64_t nodes, std::size_t states, std::size_t window,
                        std::size_t p, Spatiotemporal::Tables tables) {
  using internal::sat_add;
  nodes = std::max<std::uint64_t>(nodes, tree.size());
  const std::uint64_t of_tables =
      tables == Spatiotemporal::Tables::kOnePath
          ? internal::path_memory(tree, window)
          : internal::tables_memory(nodes, window, p, tables == Spatiotemporal::Tables::kExact);
  return sat_add(of_tables, sat_add(internal::PrefixSums::memory(nodes, states, window),
                                    Ground::waiting_memory(nodes, states)));
}

}  // namespace

std::uint64_t Spatiotemporal::memory_needed(const Options& o) {
  return memory_of(o.tree, 0, o.states, o.window, o.p.size(), o.tables);
}

std::vector<std::string> Spatiotemporal::instruction_sets() {
  std::vector<std::string> names;
  for (const auto* k : internal::kernels_here()) names.emplace_back(k->name);
  return names;
}

Result<Spatiotemporal> Spatiotemporal::create(Options options) {
  if (auto ok = internal::check_options(options.states, options.window, options.p, options.tie_bits); !ok)
    return tl::unexpected(ok.error());
  if (auto ok =
          internal::check_weights(options.leaf_weights, options.tree.leaf_count(), options.longest_slice);
      !ok)
    return tl::unexpected(ok.error());
  if (options.tables == Tables::kCompact)
    for (const double p : options.p)
      if (auto ok = check_compact_p(p); !ok) return tl::unexpected(ok.error());
  const auto* kernels = kernels_named(options.instructions);
  if (kernels == nullptr)
    return fail(ErrorCode::kInvalidArgument,
                "partition: no code for the instruction set '" + options.instructions + "' here");
  const std::uint64_t need = memory_needed(options);
  if (auto ok = internal::check_budget(need, options.memory_budget_bytes); !ok)
    return tl::unexpected(ok.error());
  try {
    return Spatiotemporal(std::make_unique<Impl>(options, kernels));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit,
                "partition: the system refused " + std::to_string(need) + " bytes for the tables");
  }
}

Status Spatiotemporal::push(const Column& column) {
  return push_all({&column, 1});
}

Status Spatiotemporal::push_all(std::span<const Column> columns) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::int64_t slice = impl_->number(impl_->g.end + c);
    if (auto ok = internal::check_column(columns[c], tree().leaf_count(), states(), slice); !ok) return ok;
    if (auto ok = internal::check_duration(columns[c].duration, impl_->g.longest_slice(), slice); !ok)
      return ok;
  }
  for (const Column& column : columns) impl_->push_column(column);
  return {};
}

Status Spatiotemporal::amend(SliceIndex slice, LeafPosition leaf, std::span<const double> v, double w) {
  if (leaf.value >= tree().leaf_count() || v.size() != states()) {
    return fail(ErrorCode::kInvalidArgument, "partition: amend leaf " + std::to_string(leaf.value) +
                                                 " with " + std::to_string(v.size()) + " states; there are " +
                                                 std::to_string(tree().leaf_count()) + " leaves and " +
                                                 std::to_string(states()) + " states");
  }
  if (slice < first_slice() || slice >= end_slice()) {
    return fail(ErrorCode::kNotFound, "partition: slice " + std::to_string(slice.value) +
                                          " is not in the window [" + std::to_string(first_slice().value) +
                                          ", " + std::to_string(end_slice().value) + ")");
  }
  if (auto ok = internal::check_cell(v, w, leaf.value, slice.value); !ok) return ok;
  impl_->amend_cell(impl_->count(slice), leaf, v, w);
  return {};
}

Status Spatiotemporal::set_p(std::size_t p_index, double p) {
  Ground& g = impl_->g;
  if (p_index >= g.p.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: p number " + std::to_string(p_index) + " of " + std::to_string(g.p.size()));
  }
  if (auto ok = internal::check_p(p); !ok) return ok;
  if (!g.precise)
    if (auto ok = check_compact_p(p); !ok) return ok;
  impl_->solver->settle();
  g.p[p_index] = p;
  impl_->solver->unknown_p(p_index);
  return {};
}

Status Spatiotemporal::reshape(TreeShape tree, std::span<const NodeIndex> from,
                               std::vector<double> leaf_weights) {
  return impl_->reshape(std::move(tree), from, std::move(leaf_weights));
}

Status Spatiotemporal::Impl::reshape(TreeShape tree, std::span<const NodeIndex> from,
                                     std::vector<double> weights) {
  if (from.size() != tree.size())
    return fail(ErrorCode::kInvalidArgument, "partition: reshape to " + std::to_string(tree.size()) +
                                                 " nodes with " + std::to_string(from.size()) +
                                                 " former ones");
  if (weights.empty()) weights.assign(tree.leaf_count(), 1.0);
  const double a_leaf = g.a_leaf;
  if (auto ok = internal::check_weights(weights, tree.leaf_count(), 1); !ok) return ok;
  if (sum_of(weights) * a_leaf > g.most)
    return fail(ErrorCode::kLimit, "partition: leaves of weight " + std::to_string(sum_of(weights)) +
                                       " in all; this engine was made for " +
                                       std::to_string(g.most / a_leaf));
  // Places of nodes that leave are kept for others.
  const std::uint64_t need = memory_of(tree, slots, g.states, g.window, g.p.size(), tables);
  if (auto ok = internal::check_budget(need, budget); !ok) return ok;
  std::vector<bool> used(g.tree.size(), false);
  std::vector<std::uint32_t> new_position = positions(tree);
  for (std::uint32_t k = 0; k < tree.size(); ++k) {
    const NodeIndex old = from[k];
    if (old == kNoParent) continue;
    const std::string name =
        "partition: reshape: node " + std::to_string(k) + " was node " + std::to_string(old.value);
    if (old.value >= g.tree.size())
      return fail(ErrorCode::kInvalidArgument, name + ", which is not in the tree");
    if (used[old.value]) return fail(ErrorCode::kInvalidArgument, name + ", and so was another");
    if (g.tree.is_leaf(old) != tree.is_leaf(NodeIndex(k)))
      return fail(ErrorCode::kInvalidArgument, name + ": a leaf stays one, and an inner node");
    if (g.tree.is_leaf(old) && g.leaf_weights[g.position[old.value]] != weights[new_position[k]])
      return fail(ErrorCode::kInvalidArgument, name + ": its weight has changed");
    used[old.value] = true;
  }
  // As it was: the same children, from the first to the last.
  std::vector<bool> same(tree.size(), false);
  for (std::uint32_t k = 0; k < tree.size(); ++k) {
    if (from[k] == kNoParent) continue;
    const auto now = tree.children(NodeIndex(k)), then = g.tree.children(from[k]);
    same[k] = std::equal(now.begin(), now.end(), then.begin(), then.end(),
                         [&](NodeIndex a, NodeIndex b) { return from[a.value] == b; });
  }
  solver->settle();
  append_waiting(g.end);
  for (std::uint32_t k = 0; k < used.size(); ++k)
    if (!used[k]) free_slots.push_back(g.slot[k]);
  std::vector<std::uint32_t> slot(tree.size());
  for (std::uint32_t k = 0; k < tree.size(); ++k)
    slot[k] = from[k] == kNoParent ? take_slot() : g.slot[from[k].value];
  g.tree = std::move(tree);
  g.slot = std::move(slot);
  g.leaf_weights = std::move(weights);
  g.position = std::move(new_position);
  g.make_room_for_waiting();
  // A node's sums change with those of any node below it.
  std::vector<bool> stale(g.tree.size(), false);
  for (const NodeIndex k : g.tree.post_order()) {
    stale[k.value] = stale[k.value] || !same[k.value];
    if (!stale[k.value]) continue;
    make_sums(k);
    if (k != g.tree.root()) stale[g.tree.parent(k).value] = true;
  }
  solver->reshaped();
  for (std::uint32_t k = 0; k < g.tree.size(); ++k)
    if (!same[k]) solver->unknown(NodeIndex(k));
  return {};
}

void Spatiotemporal::settle() {
  impl_->solver->settle();
}

Result<Partition> Spatiotemporal::partition(std::size_t p_index, const std::function<bool()>& go_on) {
  if (p_index >= p().size()) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: p number " + std::to_string(p_index) + " of " + std::to_string(p().size()));
  }
  impl_->solver->settle();
  Partition out;
  out.p = p()[p_index];
  std::vector<Block> blocks;
  if (!impl_->solver->walk(p_index, blocks, go_on))
    return fail(ErrorCode::kTimeout, "partition: the solution was ended before it was done");
  for (const Block& b : blocks) out.parts.push_back(impl_->part_of(b));
  internal::sum_up(out);
  return out;
}

Result<Partition> Spatiotemporal::evaluate(const Partition& partition) {
  impl_->append_waiting(impl_->g.end);
  Partition out = partition;
  for (Part& part : out.parts) {
    if (part.node.value >= tree().size() || part.first > part.last || part.first < first_slice() ||
        part.last >= end_slice()) {
      return fail(ErrorCode::kInvalidArgument,
                  "partition: part of node " + std::to_string(part.node.value) + ", slices " +
                      std::to_string(part.first.value) + " to " + std::to_string(part.last.value) +
                      ", is not in the tree and the window [" + std::to_string(first_slice().value) + ", " +
                      std::to_string(end_slice().value) + ")");
    }
    impl_->measure_exactly(part);
  }
  internal::sum_up(out);
  return out;
}

Part Spatiotemporal::measured(NodeIndex node, SliceIndex first, SliceIndex last) const {
  return impl_->part_of({node, impl_->count(first), impl_->count(last)});
}

std::span<const double> Spatiotemporal::p() const {
  return impl_->g.p;
}
const TreeShape& Spatiotemporal::tree() const {
  return impl_->g.tree;
}
std::size_t Spatiotemporal::states() const {
  return impl_->g.states;
}
std::size_t Spatiotemporal::window() const {
  return impl_->g.window;
}
std::size_t Spatiotemporal::size() const {
  return static_cast<std::size_t>(impl_->g.end - impl_->g.begin);
}
SliceIndex Spatiotemporal::first_slice() const {
  return SliceIndex(impl_->number(impl_->g.begin));
}
SliceIndex Spatiotemporal::end_slice() const {
  return SliceIndex(impl_->number(impl_->g.end));
}
double Spatiotemporal::tie_bits() const {
  return impl_->g.tie;
}
std::uint64_t Spatiotemporal::entries_written() const {
  return impl_->solver->entries_written();
}

Result<Spatiotemporal> rebuild(Spatiotemporal::Options options, std::span<const Column> columns) {
  auto engine = Spatiotemporal::create(std::move(options));
  if (!engine) return engine;
  if (auto ok = engine->push_all(columns); !ok) return tl::unexpected(ok.error());
  return engine;
}

}  // namespace margay::partition
