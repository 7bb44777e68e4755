#include "margay/partition/batch.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "batch_model.h"

namespace margay::partition {

using internal::triangle_at;
using internal::triangle_column;
using internal::triangle_size;

namespace internal {

Triangles::Triangles(std::size_t count) {
  // posix_memalign and not new: values are not set twice.
  void* memory = nullptr;
  if (posix_memalign(&memory, kBatchRows * sizeof(double),
                     sat_mul(std::max<std::size_t>(count, 1), sizeof(double))) != 0) {
    throw std::bad_alloc();
  }
  memory_.reset(static_cast<double*>(memory));
}

void WeightedLogs::flush() {
  for (std::size_t i = count_; i % kBatchRows != 0; ++i) ratio_[i] = 1;
  batch_kernels().log2((count_ + kBatchRows - 1) / kBatchRows * kBatchRows, ratio_, log_);
  for (std::size_t i = 0; i < count_; ++i) sum_ += v_[i] * log_[i];
  count_ = 0;
}

void Triangles::Free::operator()(double* p) const {
  std::free(p);
}

}  // namespace internal

Batch::Impl::Impl(Options& o, std::span<const Column> columns, bool one_path)
    : op(o.op),
      tree(std::move(o.tree)),
      states(o.states),
      slices(columns.size()),
      origin(o.first_slice),
      budget(o.memory_budget_bytes),
      tie(o.tie_bits ? *o.tie_bits
                     : internal::default_tie(internal::cells_of(tree.leaf_count(), slices), states)),
      entries(keeps_triangles(op, one_path) ? triangle_size(slices) : 0),
      places(temporal() ? 1 : tree.size() + (o.regroups ? tree.leaf_count() : 0)),
      sums(one_path ? 0 : (rows_are_leaves() ? tree.leaf_count() : tree.size()) * slices * stride(), 0.0),
      a(places * entries),
      b(places * entries),
      place(tree.size()),
      scratch((states + 1) * internal::padded_rows(slices)) {
  if (one_path) return;
  std::iota(place.begin(), place.end(), std::uint32_t{0});
  measure_leaves(columns);
  measure_nodes(Measured::kAll);
}

void Batch::Impl::measure_leaves(std::span<const Column> columns) {
  if (temporal()) information.assign(slices, 0.0);
  const std::size_t leaves = tree.leaf_count(), row = internal::padded_rows(states);
  // The logarithms of a column at once. A cell that weighs nothing says nothing, even if rounding left a
  // trace of a state in it.
  internal::Triangles logs(2 * leaves * row);
  double* const ratio = logs.data();
  double* const log = ratio + leaves * row;
  std::fill_n(ratio, leaves * row, 1.0);
  for (std::size_t t = 0; t < slices; ++t) {
    for (std::uint32_t s = 0; s < leaves; ++s) {
      const double* v = columns[t].v.data() + s * states;
      const double w = columns[t].w[s];
      double* c = cell(rows_are_leaves() ? s : tree.leaf_node(LeafPosition(s)).value, t);
      for (std::size_t x = 0; x < states; ++x) {
        c[x] = w > 0 ? v[x] : 0.0;
        ratio[s * row + x] = w > 0 ? v[x] / w : 1.0;
      }
      c[states] = w;
    }
    internal::batch_kernels().log2(leaves * row, ratio, log);
    for (std::uint32_t s = 0; s < leaves; ++s) {
      double* c = cell(rows_are_leaves() ? s : tree.leaf_node(LeafPosition(s)).value, t);
      double sum = 0;
      for (std::size_t x = 0; x < states; ++x) sum += c[x] * log[s * row + x];
      c[states + 1] = sum;
      if (temporal()) information[t] += sum;
    }
  }
}

void Batch::Impl::measure_nodes(Measured nodes) {
  if (internal::is_unidimensional(op)) return;
  const internal::BatchKernels& kernel = internal::batch_kernels();
  std::vector<std::size_t> which;
  const auto measure = [&](std::size_t row, double* to_a, double* to_b, bool add) {
    // States that never occur here cost nothing: of real cells most are 0.
    which.clear();
    for (std::size_t x = 0; x < states; ++x) {
      bool occurs = false;
      for (std::size_t t = 0; t < slices && !occurs; ++t) occurs = cell(row, t)[x] > 0;
      if (occurs) which.push_back(x);
    }
    kernel.measure(slices, cell(row, 0), stride(), which.data(), which.size(), states, add, scratch.data(),
                   to_a, to_b);
  };
  if (temporal()) {
    for (std::size_t s = 0; s < tree.leaf_count(); ++s) measure(s, a.data(), b.data(), s > 0);
    return;
  }
  for (const NodeIndex k : tree.post_order()) {
    for (const NodeIndex child : tree.children(k)) {
      const double* from = cell(child.value, 0);
      double* to = cell(k.value, 0);
      for (std::size_t i = 0; i < slices * stride(); ++i) to[i] += from[i];
    }
    if (nodes == Measured::kAll || !tree.is_leaf(k)) measure(k.value, of(a, k), of(b, k), false);
  }
}

bool Batch::Impl::regroup(TreeShape to, std::span<const LeafPosition> from) {
  if (to.size() > places) return false;
  std::vector<double> cells(to.size() * slices * stride(), 0.0);
  std::vector<std::uint32_t> places_of(to.size());
  std::vector<bool> taken(places);
  for (std::uint32_t s = 0; s < from.size(); ++s) {
    const NodeIndex here = tree.leaf_node(from[s]), there = to.leaf_node(LeafPosition(s));
    std::copy_n(cell(here.value, 0), slices * stride(), cells.data() + there.value * slices * stride());
    places_of[there.value] = place[here.value];
    taken[place[here.value]] = true;
  }
  std::uint32_t free = 0;
  for (std::uint32_t k = 0; k < to.size(); ++k) {
    if (to.is_leaf(NodeIndex(k))) continue;
    while (taken[free]) ++free;
    places_of[k] = free++;
  }
  sums = std::move(cells);
  place = std::move(places_of);
  tree = std::move(to);
  measure_nodes(Measured::kInner);
  return true;
}

void Batch::Impl::solve_node(NodeIndex k, double p, double* table) {
  internal::batch_kernels().solve(slices, of(a, k), of(b, k), 1 - p, tie, tree.is_leaf(k), scratch.data(),
                                  table);
}

bool Batch::Impl::solve_tables(double p, internal::Patience& patience) {
  if (best.empty()) best = internal::Triangles(places * entries);
  // Of leaves the tree says nothing: at the same p they are as before.
  const bool leaves_too = leaves_best != p;
  if (leaves_too) leaves_best.reset();
  const internal::BatchKernels& kernel = internal::batch_kernels();
  for (const NodeIndex k : tree.post_order()) {
    double* table = of(best, k);
    if (leaves_too || !tree.is_leaf(k)) {
      solve_node(k, p, table);
      if (!patience.after(work_of_node())) return false;
    }
    // Its parent's sum is made while the triangle is in the cache.
    const NodeIndex parent = tree.parent(k);
    if (parent == kNoParent) continue;
    const bool first = tree.children(parent).front() == k;
    kernel.add(entries, table, table, 0, first, of(best, parent));
  }
  leaves_best = p;
  return true;
}

std::vector<double> Batch::Impl::solve_row(double p) const {
  std::vector<double> row(slices + 1, 0.0);
  for (std::size_t j = 1; j <= slices; ++j) {
    const double* column_a = a.data() + triangle_column(j - 1);
    const double* column_b = b.data() + triangle_column(j - 1);
    double top = internal::kBatchNever;
    for (std::size_t i = 0; i < j; ++i) {
      top = std::max(top, row[i] + (column_a[i] - (1 - p) * column_b[i] - tie));
    }
    row[j] = top;
  }
  return row;
}

std::vector<Part> Batch::Impl::parts_of_row(std::span<const double> row, double p, double slack) const {
  std::vector<Part> parts;
  // Backwards, taking the longest part that reaches the optimum. The last candidate is the one that must.
  for (std::size_t j = slices; j > 0;) {
    std::size_t i = 0;
    while (i + 1 < j && row[i] + value(NodeIndex(0), i, j - 1, p) < row[j] - slack) ++i;
    parts.push_back(part(kAllLeaves, i, j - 1));
    j = i;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

bool Batch::Impl::find_parts(double p, internal::Patience& patience, std::vector<Part>& parts) {
  parts.clear();
  if (path) {
    if (!path->set_p(0, p)) return false;  // p is checked
    auto found = path->partition(0, [&] { return patience.ask(); });
    if (found) parts = std::move(found->parts);
    return found.has_value();
  }
  if (apart) {
    parts = apart->parts(p);
    return true;
  }
  if (temporal()) {
    parts = parts_of_row(solve_row(p), p, internal::tie_slack(tie));
    return true;
  }
  if (!solve_tables(p, patience)) return false;
  struct Tables {
    const Impl& model;
    static bool known(const Block&) { return false; }
    double slack(const Block&) const { return internal::tie_slack(model.tie); }
    static double p_of(NodeIndex, double at) { return at; }
    View view(NodeIndex k, double) const {
      const double* table = model.of(model.best, k);
      return {table, table, 0};
    }
    double split(const Block& block) const {
      double sum = 0;
      for (const NodeIndex child : model.tree.children(block.node))
        sum += view(child, block.p)(block.first, block.last);
      return sum;
    }
  };
  walk(Tables{*this}, whole_block(p),
       [&](NodeIndex k, std::size_t first, std::size_t last) { parts.push_back(part(k, first, last)); });
  return true;
}

void Batch::Impl::measure_by_table(Part& part) const {
  if (apart) return apart->measure(part);
  if (path) {
    part = path->measured(part.node, part.first, part.last);
    return;
  }
  const auto first = static_cast<std::size_t>(part.first.value - origin.value);
  const auto last = static_cast<std::size_t>(part.last.value - origin.value);
  const bool all = part.node == kAllLeaves;
  double total = 0;
  for (std::size_t t = first; t <= last; ++t) {
    total += all ? information[t] : cell(part.node.value, t)[states + 1];
  }
  const std::size_t at = (all ? 0 : place[part.node.value]) * entries + triangle_at(first, last);
  const double top = b.data()[at];
  // The difference of two large sums may come out just below 0; a cell by itself loses nothing.
  const bool one_cell = !all && first == last && tree.is_leaf(part.node);
  part.loss = one_cell ? 0.0 : std::max(0.0, total - (a.data()[at] - top));
  part.gain = top - part.loss;
}

void Batch::Impl::measure_exactly(Partition& partition) const {
  if (path) {
    if (auto measured = path->evaluate(partition)) partition = std::move(*measured);
    return;
  }
  for (Part& part : partition.parts) measure_exactly(part);
  internal::sum_up(partition);
}

void Batch::Impl::measure_exactly(Part& part) const {
  const auto first = static_cast<std::size_t>(part.first.value - origin.value);
  const auto last = static_cast<std::size_t>(part.last.value - origin.value);
  if (part.node == kAllLeaves) return measure_interval_exactly(part, first, last);
  measure_area_exactly(part, first, last);
}

void Batch::Impl::measure_area_exactly(Part& part, std::size_t first, std::size_t last) const {
  const auto leaves = tree.leaves_under(part.node);
  std::vector<double> s(states, 0.0);
  double w = 0, total = 0, loss = 0;
  for (const LeafPosition leaf : leaves) {
    for (std::size_t t = first; t <= last; ++t) {
      const double* c = leaf_cell(leaf, t);
      for (std::size_t x = 0; x < states; ++x) s[x] += c[x];
      w += c[states];
    }
  }
  std::vector<double> scale(states);
  for (std::size_t x = 0; x < states; ++x) {
    total += s[x];
    scale[x] = s[x] > 0 ? w / s[x] : 0.0;
  }
  if (leaves.size() > 1 || first < last) {  // a cell by itself loses nothing
    internal::WeightedLogs logs;
    for (const LeafPosition leaf : leaves) {
      for (std::size_t t = first; t <= last; ++t) {
        const double* c = leaf_cell(leaf, t);
        for (std::size_t x = 0; x < states; ++x) {
          if (c[x] > 0) logs.add(c[x], (c[x] / c[states]) * scale[x]);
        }
      }
    }
    loss = logs.total();
  }
  part.loss = std::max(0.0, loss);
  part.gain = (w > 0 ? total * std::log2(w) : 0.0) - part.loss;
}

void Batch::Impl::measure_interval_exactly(Part& part, std::size_t first, std::size_t last) const {
  part.loss = part.gain = 0;
  Part one = part;
  for (std::uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    one.node = tree.leaf_node(LeafPosition(leaf));
    measure_area_exactly(one, first, last);
    part.loss += one.loss;
    part.gain += one.gain;
  }
}

internal::Line Batch::Impl::line_of(std::vector<Part> parts) const {
  internal::Line line;
  for (Part& part : parts) {
    measure_by_table(part);
    line.gain += part.gain;
    line.loss += part.loss;
  }
  line.parts = parts.size();
  return line;
}

Batch::Batch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;

Part Batch::measured(NodeIndex node, SliceIndex first, SliceIndex last) const {
  Part part{node, first, last};
  impl_->measure_by_table(part);
  return part;
}

Spatiotemporal::Options Batch::Impl::path_options(const Options& o, std::size_t slices) {
  Spatiotemporal::Options out;
  out.tree = o.tree;
  out.states = o.states;
  out.window = slices;
  out.p = {0};
  out.first_slice = o.first_slice;
  out.memory_budget_bytes = o.memory_budget_bytes;
  out.tie_bits = o.tie_bits;
  out.tables = Spatiotemporal::Tables::kOnePath;
  return out;
}

std::uint64_t Batch::memory_needed(const Options& o, std::size_t slices) {
  using internal::sat_add;
  using internal::sat_mul;
  if (slices > internal::kMaxWindow) return ~std::uint64_t{0};
  const bool apart = internal::is_unidimensional(o.op);
  const std::uint64_t triangles = apart ? 0 : o.op == Operator::kTemporal ? 2 : sat_mul(3, o.tree.size());
  const std::uint64_t rows = o.op == Operator::kSpatiotemporal ? o.tree.size() : o.tree.leaf_count();
  const std::uint64_t scratch = sat_add(sat_mul(sat_add(o.states, 3), internal::padded_rows(slices)),
                                        sat_mul(2 * o.tree.leaf_count(), internal::padded_rows(o.states)));
  const std::uint64_t doubles = sat_add(sat_add(sat_mul(triangles, triangle_size(slices)), scratch),
                                        sat_mul(sat_mul(rows, slices), sat_add(o.states, 2)));
  const std::uint64_t own = sat_mul(sizeof(double), doubles);
  return apart ? sat_add(own, internal::Unidimensional::memory_needed(o, slices)) : own;
}

std::uint64_t Batch::least_memory(const Options& o, std::size_t slices) {
  const std::uint64_t whole = memory_needed(o, slices);
  if (o.op != Operator::kSpatiotemporal || slices > internal::kMaxWindow) return whole;
  return std::min(whole, Spatiotemporal::memory_needed(Impl::path_options(o, slices)));
}

Result<Batch> Batch::create(Options options, std::span<const Column> columns) {
  const double any_p[] = {0};
  if (auto ok = internal::check_options(options.states, columns.size(), any_p, options.tie_bits); !ok) {
    return tl::unexpected(ok.error());
  }
  const std::uint64_t least = least_memory(options, columns.size());
  if (auto ok = internal::check_budget(least, options.memory_budget_bytes); !ok) {
    return tl::unexpected(ok.error());
  }
  const std::uint64_t whole = memory_needed(options, columns.size());
  const bool one_path = whole > options.memory_budget_bytes;
  for (std::size_t t = 0; t < columns.size(); ++t) {
    const std::int64_t slice = options.first_slice.value + static_cast<std::int64_t>(t);
    if (auto ok = internal::check_column(columns[t], options.tree.leaf_count(), options.states, slice); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  try {
    std::unique_ptr<Spatiotemporal> path;
    if (one_path) {
      auto made = rebuild(Impl::path_options(options, columns.size()), columns);
      if (!made) return tl::unexpected(made.error());
      made->settle();
      path = std::make_unique<Spatiotemporal>(std::move(*made));
    }
    auto impl = std::make_unique<Impl>(options, columns, one_path);
    impl->path = std::move(path);
    if (internal::is_unidimensional(impl->op)) {
      options.tree = impl->tree;
      auto apart = internal::Unidimensional::create(options, columns);
      if (!apart) return tl::unexpected(apart.error());
      impl->apart = std::move(*apart);
    }
    return Batch(std::move(impl));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit, "partition: the system refused " +
                                       std::to_string(one_path ? least : whole) + " bytes for the tables");
  }
}

Result<Partition> Batch::solve(double p, const std::function<bool()>& go_on) {
  if (auto ok = internal::check_p(p); !ok) return tl::unexpected(ok.error());
  internal::Patience patience(go_on);
  Partition out;
  out.p = p;
  try {
    if (!impl_->find_parts(p, patience, out.parts))
      return fail(ErrorCode::kTimeout, "partition: the solution was ended before it was done");
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit, "partition: the system refused the memory of a solution");
  }
  impl_->measure_exactly(out);
  return out;
}

void Batch::evaluate(Partition& partition) const {
  impl_->measure_exactly(partition);
}

Partition Batch::whole() const {
  Partition out;
  out.p = 1;
  out.parts.push_back(impl_->part(impl_->temporal() ? kAllLeaves : impl_->tree.root(), 0, impl_->slices - 1));
  impl_->measure_exactly(out);
  return out;
}

Partition Batch::microscopic() const {
  Partition out;
  const std::size_t length = impl_->op == Operator::kSpatial ? impl_->slices : 1;
  const auto add = [&](NodeIndex node) {
    for (std::size_t t = 0; t < impl_->slices; t += length) {
      out.parts.push_back(impl_->part(node, t, t + length - 1));
    }
  };
  if (impl_->temporal()) {
    add(kAllLeaves);
  } else {
    for (const LeafPosition leaf : tree().leaves_under(tree().root())) add(tree().leaf_node(leaf));
  }
  impl_->measure_exactly(out);
  return out;
}

bool Batch::regroup(TreeShape tree, std::span<const LeafPosition> from) {
  Impl& m = *impl_;
  if (m.op != Operator::kSpatiotemporal || !keeps_tables() || tree.leaf_count() != m.tree.leaf_count() ||
      from.size() != m.tree.leaf_count())
    return false;
  Options options;
  options.tree = tree;
  options.states = m.states;
  if (memory_needed(options, m.slices) > m.budget) return false;
  try {
    return m.regroup(std::move(tree), from);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool Batch::keeps_tables() const {
  return impl_->path == nullptr;
}
const TreeShape& Batch::tree() const {
  return impl_->tree;
}
std::size_t Batch::states() const {
  return impl_->states;
}
std::size_t Batch::slices() const {
  return impl_->slices;
}

}  // namespace margay::partition
